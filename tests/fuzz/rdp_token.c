/* Fuzz: routing tokens, user names and the keys of both. The first octet chooses options, the rest is a line's text.
 * Held to: nothing is read outside; a name's canonical form is its own; no key has a control octet; and a key as the tables show it,
 * typed back by an operator, is that key. */
#include <stdlib.h>

#include "keys.h"
#include "option.h"
#include "user.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)

static struct hf_site site = {.hash_key = "0123456789abcde", .n_sign = 1};
static struct rdp_conf conf;
static _Alignas(16) uint8_t memory[4096];
static struct hf_arena arena;
static struct hf_ctx ctx = {.site = &site, .conf = &conf, .arena = &arena};

static void plain(struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		MUST(b.p[i] >= 0x20);
}

static void token(struct hf_bytes line)
{
	struct hf_addr a;
	enum token_kind k = token_read(line, &a);

	MUST((k == TOKEN_ADDRESS) == (a.family == 4) && (k == TOKEN_ADDRESS || a.family == 0));
	for (size_t i = 4; i < sizeof a.ip; i++)
		MUST(a.ip[i] == 0);
	if (k == TOKEN_COLLECTION) {
		struct hf_bytes name = token_collection(line);

		MUST(name.n + 6 <= line.n && name.p >= line.p + 6 && name.p + name.n <= line.p + line.n && (!name.n || name.p[name.n - 1] != ' '));
	}
}

static void user(struct hf_bytes text)
{
	uint8_t buf[USER_MAX], again[USER_MAX];
	struct hf_bytes name = user_canonical(text, buf);
	struct user u;

	MUST(name.n <= sizeof buf && name.n <= text.n && (!name.n || name.p == buf));
	MUST(hf_bytes_eq(user_canonical(name, again), name));
	MUST(hf_bytes_find(name, '\\') == name.n && hf_bytes_find(name, '@') == name.n);
	user_read(text, conf.own_domains, &u);
	MUST((u.name.n > 0) == (u.kind == USER_NAME || u.kind == USER_WEAK) && (!u.name.n || u.name.p == u.buf));
	plain(u.name);
	MUST(u.kind != USER_NAME || hf_bytes_eq(u.name, name));
	MUST(u.kind != USER_WEAK || u.name.n == USER_NINE);
}

/* A key's text, typed back. */
static void typed(const struct hf_key *k)
{
	static _Alignas(16) uint8_t more[4096];
	struct hf_arena a;
	struct hf_ctx at = ctx;
	struct hf_key back;

	if (!k->fp)
		return;
	MUST(k->text.n);
	plain(k->text);
	hf_arena_init(&a, more, sizeof more);
	at.arena = &a;
	MUST(rdp_key_read(&at, k->text, &back) == HF_OK && back.fp == k->fp && hf_bytes_eq(back.text, k->text));
}

static void keys(struct hf_bytes text, bool as_token, const struct hf_addr *source)
{
	struct x224_request r = {.has_cookie = !as_token, .has_token = as_token, .cookie = as_token ? HF_NONE : text, .token = as_token ? text : HF_NONE,
				  .correlation = HF_LIT("0123456789abcdef")};
	struct rdp_keys k;

	hf_arena_init(&arena, memory, sizeof memory);
	rdp_keys_of(&ctx, &r, &(struct hf_event){.source = *source, .local = *source}, 0, &k);
	MUST(!k.by_user || k.main.fp);
	typed(&k.main);
	typed(&k.users);
	typed(&k.unclaimed);
	typed(&k.correlation);
	typed(&k.token);
	MUST(!k.hint.family || k.token.fp);
}

static const struct rdp_chain chains[4] = {
	{3, {RDP_BY_TOKEN, RDP_BY_USER, RDP_BY_SOURCE}, {32, 128}},
	{4, {RDP_BY_TOKEN, RDP_BY_USER, RDP_BY_CORRELATION, RDP_BY_SOURCE}, {24, 64}},
	{3, {RDP_BY_TOKEN, RDP_BY_USER, RDP_BY_SOURCE_PORT}, {32, 128}},
	{2, {RDP_BY_CORRELATION, RDP_BY_DESTINATION}, {32, 128}},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hf_addr v4 = {.family = 4, .port = 40000, .ip = {192, 0, 2, 51}}, v6 = {.family = 6, .port = 40001, .ip = {0x20, 1, 0x0d, 0xb8, [15] = 0x51}};
	const struct hf_addr *source = size && data[0] & 2 ? &v6 : &v4;
	struct hf_bytes text = hf_bytes_of(data + 1, size ? size - 1 : 0);
	struct hf_key key;

	if (!size)
		return 0;
	conf = (struct rdp_conf){.key = chains[data[0] >> 2 & 3], .user_match = data[0] & 1, .own_domains = HF_LIT("contoso, lab")};
	token(text);
	user(text);
	hf_arena_init(&arena, memory, sizeof memory);
	if (rdp_key_read(&ctx, text, &key) == HF_OK)
		MUST(key.fp != 0);
	if (text.n > USER_MAX || memchr(text.p, 0, text.n) || memchr(text.p, '\r', text.n) || memchr(text.p, '\n', text.n))
		return 0; /* no line of a request */
	keys(text, false, source);
	keys(text, true, source);
	return 0;
}
