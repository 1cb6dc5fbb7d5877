/* Fuzz: values that have a reader of their own. The first octet says whose text follows: status codes, a probe's method, whom it is from, words, or Refer-To.
 * Held to: an option is taken or refused in words, never both, and what is taken can stand in a message; a Call-ID out of a Refer-To can stand in a
 * Replaces, is found again in a Refer-To that escapes each of its octets, and is the same each time. */
#include "sip_bench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 256 };
static _Alignas(16) uint8_t memory[1 << 16];

static bool sane(struct hf_bytes t, const char *never)
{
	for (size_t i = 0; i < t.n; i++)
		if (t.p[i] <= ' ' || t.p[i] == 0x7f || strchr(never, t.p[i]))
			return false;
	return t.n > 0;
}

static bool taken(enum hf_err (*read)(struct hf_bytes, void *, struct hf_writer *), struct hf_bytes text, void *field)
{
	char why[1024];
	struct hf_writer w = hf_writer_on(why, sizeof why);
	enum hf_err e = read(text, field, &w);

	MUST(!w.full && (e == HF_OK) == (w.n == 0));
	return e == HF_OK;
}

static struct hf_bytes refer(struct hf_bytes text)
{
	struct hf_arena arena;

	hf_arena_init(&arena, memory, sizeof memory);
	return sip_refer_read(text, MOST, &arena);
}

static void refer_to(struct hf_bytes text)
{
	static uint8_t id[MOST], again[3 * MOST + 64];
	struct hf_writer w = hf_writer_on(again, sizeof again);
	struct hf_bytes got = refer(text);
	size_t n = got.n;

	if (!n)
		return;
	MUST(n <= MOST && sane(got, ",;"));
	memcpy(id, got.p, n);
	hf_w_str(&w, "<sip:a@b?Replaces=");
	for (size_t i = 0; i < n; i++)
		hf_w_printf(&w, "%%%02x", id[i]);
	hf_w_str(&w, "%3bto-tag%3d1>");
	MUST(!w.full);
	got = refer(hf_writer_view(&w));
	MUST(hf_bytes_eq(got, hf_bytes_of(id, n)));
	got = refer(text);
	MUST(hf_bytes_eq(got, hf_bytes_of(id, n)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_bytes text = hf_bytes_of(data + 1, size ? size - 1 : 0), field;
	struct sip_codes codes;
	struct sip_words words;

	if (!size || size > 8192)
		return 0;
	switch (data[0] & 7) {
	case 0:
		if (taken(sip_codes_read, text, &codes))
			for (unsigned i = 0; i < codes.n; i++)
				MUST(codes.range[i].lo >= 200 && codes.range[i].hi < 700 && codes.range[i].lo <= codes.range[i].hi);
		break;
	case 1:
		MUST(!taken(sip_probe_method_read, text, &field) || sane(field, "<>\";,@:"));
		break;
	case 2:
		MUST(!taken(sip_probe_from_read, text, &field) || sane(field, "<>\""));
		break;
	case 3:
		refer_to(text);
		break;
	default:
		if (taken(sip_words_read, text, &words))
			for (unsigned i = 0; i < words.n; i++)
				MUST(sane(words.word[i], ""));
	}
	return 0;
}
