/* Fuzz: tokens that we signed. The octets are a line behind the token's head; and they draw what is to be written, and a change of it.
 * Held to: octets that nobody signed never hold; what signed_write writes always does, until its second and not after, with its user and server,
 * under either key; with any octet changed, cut or added, or in another pool, it does not. */
#include <stdlib.h>

#include "signed.h"
#include "user.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)
#define LINE "loadbalanceinfo:s:"

static struct hf_site site = {.sign = {"sign-key-fuzz-1", "sign-key-fuzz-2"}, .n_sign = 2}, turned = {.sign = {"sign-key-fuzz-2", "sign-key-fuzz-1"}, .n_sign = 2};
static struct hf_ctx ctx = {.site = &site, .pool = HF_LIT("desktops")};

static enum signed_kind read_at(const struct hf_site *keys, uint64_t s, struct hf_bytes line, struct signed_token *t)
{
	struct hf_ctx at = ctx;

	at.site = keys;
	at.unix_ms = s * 1000;
	return signed_read(&at, line, t);
}

static void arbitrary(struct hf_bytes rest)
{
	uint8_t text[600];
	struct hf_writer w = hf_writer_on(text, sizeof text);
	struct signed_token t;

	hf_w_str(&w, SIGNED_HEAD);
	hf_w_bytes(&w, rest);
	if (!w.full)
		MUST(read_at(&site, 0, hf_writer_view(&w), &t) == SIGNED_FORGED);
}

static void holds(const struct hf_token *want, struct hf_bytes line)
{
	uint8_t name[USER_MAX];
	struct hf_bytes user = want->user.n ? user_canonical(want->user, name) : HF_NONE;
	struct signed_token t;

	MUST(line.n + 2 <= SIGNED_MAX);
	MUST(read_at(&turned, want->until_s, line, &t) == SIGNED_EXPIRED);
	if (want->until_s)
		MUST(read_at(&turned, want->until_s - 1, line, &t) == SIGNED_HOLDS && read_at(&site, want->until_s - 1, line, &t) == SIGNED_HOLDS);
	MUST(t.server == want->server && hf_bytes_eq(t.user, user));
}

/* how: which octet, by what. */
static void changed(struct hf_bytes line, const uint8_t how[3])
{
	size_t head = sizeof SIGNED_HEAD - 1, at = head + how[1] % (line.n - head);
	uint8_t text[SIGNED_MAX + 1];
	struct hf_bytes now = {text, line.n};
	struct hf_ctx other = ctx;
	struct signed_token t;

	hf_copy(text, line.p, line.n);
	other.pool = HF_LIT("desktop");
	MUST(signed_read(&other, line, &t) == SIGNED_FORGED);
	if (how[0] % 3 == 0)
		now.n = at;
	else if (how[0] % 3 == 1)
		text[now.n++] = how[2];
	else
		text[at] ^= how[2];
	if (now.n > line.n ? how[2] == ' ' : now.n == line.n && how[2] == 0) /* blanks at the end are a client's */
		MUST(read_at(&site, 0, now, &t) == read_at(&site, 0, line, &t));
	else
		MUST(read_at(&site, 0, now, &t) == SIGNED_FORGED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t text[512];
	struct hf_writer w = hf_writer_on(text, sizeof text);
	struct hf_token t;
	struct hf_bytes line;

	arbitrary(hf_bytes_of(data, size));
	if (size < 12)
		return 0;
	t = (struct hf_token){.server = hf_get32(data), .until_s = hf_get32(data + 4), .user = hf_bytes_of(data + 11, size - 11)};
	if (data[8] & 128)
		t.user = HF_NONE;
	if (signed_write(&ctx, &t, &w) != HF_OK)
		return 0;
	line = hf_writer_view(&w);
	MUST(hf_bytes_starts(line, HF_LIT(LINE SIGNED_HEAD)));
	line = hf_bytes_sub(line, sizeof LINE - 1, line.n);
	holds(&t, line);
	changed(line, data + 8);
	return 0;
}
