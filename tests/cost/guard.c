/* The work of the guard for a datagram that goes no further: one of a source that is over its rate, one of a source that a list of sixteen networks
 * keeps out, and the look at one that may pass.
 *   cost_guard ROUNDS
 * Breaks when: something of a message is read, the table is walked, or a lock is taken. */
#include "guard.h"

#include <stdlib.h>

#include "holdfast/hash.h"

#define MUST(x) HF_BUG_ON(!(x))

const struct hf_front *const hf_fronts[] = {NULL};

static struct hf_addr addr(const char *text)
{
	struct hf_addr a = {0};

	MUST(hf_addr_read(hf_bytes_str(text), 0, &a) == HF_OK);
	return a;
}

int main(int argc, char **argv)
{
	static struct hf_net net;
	static struct worker w = {.net = &net};
	static struct hf_conf_listen listen;
	static struct hf_conf_service conf = {.max_rate_source = 10, .listens = &listen};
	static struct hf_front front;
	struct service_rt rt = {.front = &front, .counts = calloc(1, sizeof *rt.counts), .said = said_new()};
	struct snap_pool pool = {0};
	struct hf_listener_info l = {0};
	struct snap_service s = {.conf = &conf, .rt = &rt, .pool = &pool, .infos = &l};
	struct parcel p = {.w = &w, .service = &s, .rt = &rt, .ev = {.kind = HF_EV_BYTES, .listener = &l}};
	const struct hf_addr flood = addr("192.0.2.7:5060"), denied = addr("198.51.100.9:5060"), good = addr("203.0.113.5:5060");
	uint64_t rounds = 0, passed = 0;

	MUST(argc == 2 && rt.said && hf_read_uint(hf_bytes_str(argv[1]), 1000000000, &rounds) == HF_OK);
	for (conf.deny.n = 0; conf.deny.n < 16; conf.deny.n++) {
		conf.deny.net[conf.deny.n].addr = addr("198.51.100.0:1");
		conf.deny.net[conf.deny.n].addr.ip[2] = (uint8_t)(115 - conf.deny.n);
		conf.deny.net[conf.deny.n].bits = 24;
	}
	for (uint64_t i = 0; i < rounds; i++) {
		p.ctx.now_ms = 1000 * i;
		p.ev.source = good;
		passed += guard_takes(&p);
		p.ev.source = denied;
		passed += guard_takes(&p);
		p.ctx.now_ms = 1;
		p.ev.source = flood;
		passed += guard_takes(&p);
	}
	MUST(passed >= rounds && passed <= rounds + 10);
	return 0;
}
