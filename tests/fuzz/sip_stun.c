/* Fuzz: STUN on the SIP port, through the whole step. The first octet chooses the listener and whether the rest has a head of its own or gets one
 * of a binding request; the rest is what came.
 * Held to: over UDP a binding request, and nothing else, is answered, with what RFC 5389 says and no more: its own transaction, and one attribute
 * that gives back the address it came from; over a connection nothing is. */
#include "sip_bench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LISTENER = 3, DRESSED = 4 };
enum { HEAD = 20 };
static const uint8_t cookie[4] = {0x21, 0x12, 0xa4, 0x42};
static struct bench b;

/* RFC 5389 6, octet by octet. */
static bool is_request(struct hf_bytes in)
{
	return in.n >= HEAD && in.p[0] == 0 && in.p[1] == 1 && in.p[2] == (in.n - HEAD) >> 8 && in.p[3] == ((in.n - HEAD) & 0xff) && memcmp(in.p + 4, cookie, 4) == 0;
}

/* RFC 5389 15.2: the port under the cookie's first half, the address under the cookie and the transaction's id. */
static void answer(const struct hf_event *ev, struct hf_bytes out)
{
	size_t n = ev->source.family == 6 ? 16 : 4;

	MUST(out.n == HEAD + 8 + n && out.p[0] == 1 && out.p[1] == 1 && out.p[2] == 0 && out.p[3] == 8 + n);
	MUST(memcmp(out.p + 4, ev->bytes.p + 4, 16) == 0);
	MUST(out.p[20] == 0 && out.p[21] == 0x20 && out.p[22] == 0 && out.p[23] == 4 + n && out.p[24] == 0 && out.p[25] == (n == 16 ? 2 : 1));
	MUST((out.p[26] ^ cookie[0]) == ev->source.port >> 8 && (out.p[27] ^ cookie[1]) == (ev->source.port & 0xff));
	for (size_t i = 0; i < n; i++)
		MUST((out.p[28 + i] ^ out.p[4 + i]) == ev->source.ip[i]);
}

/* The head's type, length and cookie made those of a request; the transaction's id stays. */
static struct hf_bytes dress(struct hf_bytes raw, uint8_t *text)
{
	hf_copy(text, raw.p, raw.n);
	if (raw.n >= HEAD) {
		hf_put16(text, 1);
		hf_put16(text + 2, (uint16_t)(raw.n - HEAD));
		memcpy(text + 4, cookie, 4);
	}
	return hf_bytes_of(text, raw.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t text[4096];
	unsigned at = size ? data[0] & LISTENER : 0;
	struct hf_event ev;
	struct bench_end e;
	bool stun;

	if (size < 2 || size > sizeof text)
		return 0;
	bench_init(&b, true);
	ev = bench_event(&b, at, at == BENCH_UDP6 ? "[2001:db8::51]:4097" : "192.0.2.51:65535");
	ev.bytes = hf_bytes_of(data + 1, size - 1);
	if (data[0] & DRESSED)
		ev.bytes = dress(ev.bytes, text);
	stun = is_request(ev.bytes) && at != BENCH_TCP;
	e = bench_run(&b, &ev);
	MUST(!e.n_sent || stun == (e.sent.p[0] == 1));
	MUST((e.n_dropped && e.reason == SIP_R_STUN) == stun);
	if (!stun)
		return 0;
	MUST(e.n_sent == 1 && !e.n_asked && e.send.to == HF_TO_SOURCE && !e.closed);
	answer(&ev, e.sent);
	return 0;
}
