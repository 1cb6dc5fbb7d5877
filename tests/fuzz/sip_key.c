/* Fuzz: `key =`, what an operator types for `where`, and the keys of a message. The first octet chooses options, then come a line of the option, a line that
 * is typed, and a message.
 * Held to: the option is taken or refused in words, never both; a key that was read has a fingerprint, and its text is at most a line of a table; the same
 * message is placed alike each time, by one key of the chain or by none; a pair of addresses gives one key, whoever of them speaks; and no
 * grant is longer than the longest number in the answer. */
#include "sip_bench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TENANT = 1, SIX = 2, SHORT = 4 };
static struct bench b;
static _Alignas(16) uint8_t more[1 << 16];

static struct hf_bytes line(struct hf_bytes *rest)
{
	size_t n = hf_bytes_find(*rest, '\n');
	struct hf_bytes l = hf_bytes_sub(*rest, 0, n);

	*rest = hf_bytes_sub(*rest, n + 1, rest->n);
	return l;
}

static bool option(struct hf_bytes text)
{
	char why[1024];
	struct hf_writer w = hf_writer_on(why, sizeof why);
	enum hf_err e = sip_keys_read(text, &b.conf.key, &w);

	MUST(!w.full && (e == HF_OK) == (w.n == 0));
	MUST(e != HF_OK || (b.conf.key.n > 0 && b.conf.key.n <= SIP_KEYS_MAX));
	return e == HF_OK;
}

static void typed(struct hf_bytes text)
{
	struct hf_key key = {0}, place;

	hf_arena_init(&b.arena, more, sizeof more);
	if (hf_sip_front.key_read(&b.ctx, text, &key) == HF_OK)
		MUST(key.fp && key.fp >> HF_FP_BITS == 0 && key.text.n > 0 && key.text.n <= 128);
	if (key.fp && hf_sip_front.key_place(&b.ctx, text, &place))
		MUST(!place.fp || (place.fp != key.fp && place.text.n > 0 && place.text.n <= 128));
}

static struct hf_ask place(struct sip_parcel *p, const struct hf_event *ev)
{
	struct sip_step s = {.ctx = &b.ctx, .ev = ev, .conf = &b.conf, .p = p};
	struct hf_ask q = {0};

	hf_arena_init(&b.arena, more, sizeof more);
	sip_place(&s, &q);
	MUST(!q.unplaced || (!q.place && !q.place_else && !q.renews));
	MUST(!q.place_else || q.place);
	MUST(!q.renews || (q.place && p->msg.method_id == SIP_REGISTER));
	return q;
}

static void message(struct hf_bytes text, const char *source)
{
	static struct sip_parcel p;
	struct hf_event ev = bench_event(&b, BENCH_UDP, source), back;
	struct hf_ask one, two;
	struct hf_arena arena;

	hf_arena_init(&arena, b.memory, sizeof b.memory);
	memset(&p, 0, sizeof p);
	if (sip_scan(text, false, &b.conf.limits, &arena, &p.msg) != SIP_GOOD)
		return;
	if (p.msg.response) {
		(void)sip_registered_s(&p.msg);
		return;
	}
	one = place(&p, &ev);
	two = place(&p, &ev);
	MUST(one.place == two.place && one.place_else == two.place_else && one.unplaced == two.unplaced && one.renews == two.renews);
	MUST(option(HF_LIT("source-destination")));
	back = ev;
	back.source = ev.local;
	back.local = ev.source;
	MUST(place(&p, &ev).place == place(&p, &back).place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_bytes rest = hf_bytes_of(data + 1, size ? size - 1 : 0), chain, key;

	if (!size || size > 8192)
		return 0;
	bench_init(&b, false);
	b.conf.tenant = data[0] & TENANT ? SIP_TENANT_DOMAIN : SIP_TENANT_SERVICE;
	b.conf.key_length = data[0] & SHORT ? 3 : 80;
	chain = line(&rest);
	key = line(&rest);
	if (!option(chain))
		return 0;
	typed(key);
	message(rest, data[0] & SIX ? "[2001:db8::51]:5060" : "192.0.2.51:5060");
	return 0;
}
