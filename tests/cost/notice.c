/* What it costs that a transaction is watched: counted by name, code, server and why, and noted in the ring, for two messages that come and two that go.
 *   work_notice ROUNDS
 * Breaks when: a counter is written with a locked instruction or found by a search, or a session's number is made for every copy of a message. */
#include <stdlib.h>

#include "../../src/net/notice.h"

static struct hf_net net = {.n_workers = 1};
static struct worker w;
static struct snap_member member = {.id = 1, .hash = 0x1234, .addr = {.family = 4, .port = 5060}};
static uint16_t by_id[HF_SERVERS_MAX + 1];
static struct snap_cell by_hash[16], by_addr[16];
static struct pool_rt pool_rt;
static struct snap_pool pool = {.rt = &pool_rt, .members = &member, .n_members = 1, .by_id = by_id, .by_hash = by_hash, .by_addr = by_addr, .mask = 15};
static struct counts counts;
static struct service_rt rt = {.id = 1, .counts = &counts};
static struct snap_service service = {.rt = &rt, .pool = &pool};

static struct parcel parcel(uint16_t code)
{
	return (struct parcel){.w = &w, .service = &service, .rt = &rt, .pool = &pool_rt, .at = &pool, .ctx.seen = {.octets = HF_LIT("m"), .session = HF_LIT("blast-1234@192.0.2.51"), .name = 1, .code = code},
		.ev = {.kind = HF_EV_BYTES, .member = code ? member.hash : 0, .source = {.family = 4, .port = 5070}}, .chosen = {.server = 0x1234, .why = HF_WHY_HOME}};
}

int main(int argc, char **argv)
{
	uint64_t rounds = 0;
	const struct hf_send up = {.to = HF_TO_SERVER, .server = 0x1234, .name = 1}, down = {.to = HF_TO_RETURN, .name = 1, .code = 200};

	if (argc != 2 || hf_read_uint(hf_bytes_str(argv[1]), 1u << 20, &rounds) != HF_OK)
		return 2;
	w.net = &net;
	net.workers = &w;
	pool_rt.tallies = calloc(HF_SERVERS_MAX + 1, sizeof *pool_rt.tallies);
	w.ring = ring_new(1 << 19);
	if (!pool_rt.tallies || !w.ring)
		return 1;
	snap_index(&pool);
	for (uint64_t i = 0; i < rounds; i++) {
		struct parcel request = parcel(0), answer = parcel(200);

		notice_came(&request);
		notice_placed(&request, &member);
		notice_sent(&request, &up, HF_UDP, &member.addr, 5060, &member.addr);
		notice_came(&answer);
		notice_sent(&answer, &down, HF_UDP, &member.addr, 5060, &answer.ev.source);
	}
	return counts.asked[0] == rounds && counts.answered[0][2] == rounds ? 0 : 1;
}
