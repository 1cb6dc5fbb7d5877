/* Fuzz: messages over a connection. The first octet chooses who speaks and the limits, the next two seed the cuts, the rest are octets.
 * Held to: whole, octet by octet and in any pieces the same messages go out and the connection comes to the same end; a message that is
 * whole takes octets; nothing is read behind what has come. */
#include "holdfast/hash.h"

#include "sip_bench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OCTETS_MAX = 6000 /* octet by octet the cost is the square of it */ };
enum how { HOW_WHOLE, HOW_OCTETS, HOW_PIECES };

static struct bench b;

/* What happened, in order, and how it ended. */
struct tale { uint64_t sum; unsigned n; bool closed, crlf; size_t left; };

static void note(struct tale *t, const struct bench_end *e)
{
	const uint32_t fact[] = {e->n_sent ? (uint32_t)e->send.to + 1 : 0, e->send.server, e->send.listener, e->send.addr.port, e->send.transport, e->send.flow.slot,
				 e->n_dropped, e->reason, e->closed, e->n_asked, (uint32_t)e->learnt.kind, e->learnt.learn.server, (uint32_t)e->took};
	struct hf_sip s;

	hf_sip_init(&s, b.site.hash_key, 1, 3);
	hf_sip_add(&s, hf_bytes_of(&t->sum, sizeof t->sum));
	hf_sip_add(&s, hf_bytes_of(fact, sizeof fact));
	hf_sip_add(&s, hf_addr_ip(&e->send.addr));
	hf_sip_add(&s, e->sent);
	t->sum = hf_sip_end(&s);
	t->n++;
}

static size_t piece(enum how how, uint32_t *dice, size_t left)
{
	size_t n;

	*dice = *dice * 1664525 + 1013904223;
	n = how == HOW_WHOLE ? left : how == HOW_OCTETS ? 1 : 1 + (*dice >> 8) % ((*dice >> 4) & 1 ? 9 : left);
	return n < left ? n : left;
}

/* One step over octets in memory of their own length. Returns how many were taken; 0: it waits or is over. */
static size_t step(struct hf_event *ev, struct hf_bytes in, size_t *need, struct tale *t)
{
	uint8_t *p = malloc(in.n);
	struct bench_end e;

	MUST(p);
	memcpy(p, in.p, in.n);
	ev->bytes = hf_bytes_of(p, in.n);
	e = bench_run(&b, ev);
	*need = e.need;
	t->closed = e.closed;
	if (!e.need)
		note(t, &e);
	MUST(!hf_bytes_eq(e.sent, HF_LIT("\r\n")) || t->crlf); /* a ping is two in a row (RFC 5626 4.4.1) */
	if (e.took)
		t->crlf = e.took == 2 && !t->crlf;
	free(p);
	return e.closed ? 0 : e.took;
}

static struct tale play(struct hf_event ev, struct hf_bytes all, enum how how, uint32_t dice)
{
	struct tale t = {0};
	size_t at = 0, have = 0, need = 0, took;

	memset(b.flow, 0, sizeof b.flow);
	while (have < all.n && !t.closed) {
		have += piece(how, &dice, all.n - have);
		while (!t.closed && at < have && have - at >= need && (took = step(&ev, hf_bytes_sub(all, at, have - at), &need, &t)))
			at += took;
	}
	for (ev.eof = true; !t.closed && at < all.n; at += took) {
		took = step(&ev, hf_bytes_sub(all, at, all.n), &need, &t);
		MUST(took || t.closed);
	}
	t.left = all.n - at;
	return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_bytes all = hf_bytes_of(data + 3, size > 3 ? size - 3 : 0);
	struct hf_event ev;
	struct tale t[3];

	if (size < 4 || all.n > OCTETS_MAX)
		return 0;
	bench_init(&b, data[0] & 1);
	ev = bench_event(&b, BENCH_TCP, data[0] & 2 ? "192.0.2.101:5060" : "192.0.2.51:40001");
	if (data[0] & 2) {
		ev.member = BENCH_PBX1;
		ev.from_servers = true;
	}
	for (unsigned how = 0; how < 3; how++)
		t[how] = play(ev, all, (enum how)how, (uint32_t)data[1] << 8 | data[2]);
	for (unsigned how = 1; how < 3; how++)
		MUST(t[how].sum == t[0].sum && t[how].n == t[0].n && t[how].closed == t[0].closed && t[how].left == t[0].left);
	return 0;
}
