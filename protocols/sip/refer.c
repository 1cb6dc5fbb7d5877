/* REFER: the dialog that is to be replaced (RFC 3515 2.4, RFC 5589 7). Its Call-ID stands in the Refer-To URI as an escaped Replaces, and an INVITE of
 * somebody else will name it soon: where it is stays remembered until then. Pure; called by keys.c and front.c. */
#include "inside.h"

/* ---- "?a=b&c=d" of a URI (RFC 3261 19.1.1) ---- */

static int digit(uint8_t c)
{
	c = hf_lower(c);
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The octet at *i, its escape undone, and *i behind it. -1: an escape that is none; what was meant is a guess. */
static int octet(struct hf_bytes b, size_t *i)
{
	int hi, lo;

	if (b.p[*i] != '%')
		return b.p[(*i)++];
	if (*i + 2 >= b.n || (hi = digit(b.p[*i + 1])) < 0 || (lo = digit(b.p[*i + 2])) < 0)
		return -1;
	*i += 3;
	return hi << 4 | lo;
}

static bool is_replaces(struct hf_bytes name)
{
	static const char want[] = "replaces";
	size_t i = 0, n = 0;

	while (i < name.n && n < sizeof want - 1) {
		int c = octet(name, &i);

		if (c < 0 || hf_lower((uint8_t)c) != want[n++])
			return false;
	}
	return i == name.n && n == sizeof want - 1;
}

/* n 0: there is no room, or a bad escape. */
static struct hf_bytes unescape(struct hf_bytes text, struct hf_arena *arena)
{
	uint8_t *to = hf_arena_alloc(arena, text.n + 1);
	size_t i = 0, n = 0;

	while (to && i < text.n) {
		int c = octet(text, &i);

		if (c < 0)
			return HF_NONE;
		to[n++] = (uint8_t)c;
	}
	return hf_bytes_of(to, n);
}

static bool next_header(struct hf_bytes *rest, struct hf_bytes *name, struct hf_bytes *value)
{
	struct hf_bytes one;
	size_t eq;

	if (!rest->n)
		return false;
	*rest = hf_bytes_sub(*rest, 1, rest->n); /* '?' or '&' */
	one = hf_bytes_sub(*rest, 0, hf_bytes_find(*rest, '&'));
	*rest = hf_bytes_sub(*rest, one.n, rest->n);
	eq = hf_bytes_find(one, '=');
	*name = hf_bytes_sub(one, 0, eq);
	*value = hf_bytes_sub(one, eq + 1, one.n);
	return true;
}

/* As the scanner takes a Call-ID: printable, and not what would end or split it. */
static bool is_call_id(struct hf_bytes id, uint32_t most)
{
	for (size_t i = 0; i < id.n; i++)
		if (id.p[i] <= ' ' || id.p[i] == 0x7f || id.p[i] == ',')
			return false;
	return id.n > 0 && id.n <= most;
}

struct hf_bytes sip_named(struct hf_bytes value) { return hf_bytes_trim(hf_bytes_sub(value, 0, hf_bytes_find(value, ';'))); }

struct hf_bytes sip_refer_read(struct hf_bytes refer_to, uint32_t max_call_id, struct hf_arena *arena)
{
	struct hf_bytes uri, params, rest, name, value, found = HF_NONE;
	unsigned n = 0;
	struct sip_uri u;

	if (!sip_addr_split(refer_to, &uri, &params) || !sip_uri_read(uri, &u))
		return HF_NONE;
	for (rest = u.headers; next_header(&rest, &name, &value);)
		if (is_replaces(name)) {
			found = value;
			n++;
		}
	if (n != 1) /* of two none is meant (RFC 3891 3) */
		return HF_NONE;
	found = sip_named(unescape(found, arena));
	return is_call_id(found, max_call_id) ? found : HF_NONE;
}

/* ---- the request ---- */

struct hf_bytes sip_referred(const struct sip_step *s)
{
	const struct sip_msg *m = &s->p->msg;
	struct hf_bytes refer_to = HF_NONE;
	uint32_t at = 0;
	struct sip_line line;

	if (m->method_id != SIP_REFER)
		return HF_NONE;
	while (sip_line_next(m, &at, &line)) {
		struct hf_bytes name = hf_bytes_of(m->raw.p + line.name.at, line.name.n);

		if (!hf_bytes_ieq(name, HF_LIT("Refer-To")) && !hf_bytes_ieq(name, HF_LIT("r")))
			continue;
		if (refer_to.p)
			return HF_NONE; /* RFC 3515 2.4.2: one it is */
		refer_to = sip_unfold(line.text, s->ctx->arena);
	}
	return refer_to.n ? sip_refer_read(refer_to, s->conf->limits.call_id, s->ctx->arena) : HF_NONE;
}

/* An entry that there is lives on for as long as a call may ring; nothing is made, counted or proved by it. */
void sip_refer_learn(struct sip_step *s)
{
	struct hf_bytes call_id = sip_referred(s);
	struct hf_act *a;

	if (!call_id.n)
		return;
	a = hf_act(s->acts, HF_ACT_LEARN);
	a->learn.key = sip_call_key(s, call_id);
	a->learn.life = HF_LIFE_START;
	a->learn.flags = HF_TENTATIVE;
	a->learn.life_s = (uint32_t)(s->conf->early_expiry / 1000);
}
