/* Branch, Via parameter, cookie, flow token and To tag; see forms.h. Integers are big-endian.
 * A reader decodes, finds the sign keys by their id, checks the tag over all octets before it, and only then believes. */
#include "forms.h"

#include "sign.h"

enum { /* octet 0: version 1 in the upper three bits, and flags */
	VERSION = 32, VERSION_MASK = 0xe0,
	F_OPENING = 16, F_HOLD = 8, F_CONNECTION = 4, F_LOCAL = 2, F_IPV6 = 1,
	COOKIE_SERVER_OPENED = 1,
};
enum { RAW_MAX = 76 };

/* ---- addresses inside the forms ---- */

static void put_ip(struct hf_writer *w, const struct hf_addr *a) { hf_w_bytes(w, hf_addr_ip(a)); }

/* A reader over decoded octets. Going past the end makes it bad and gives zeros. */
struct cursor {
	const uint8_t *p;
	size_t n;
	bool bad;
};

static const uint8_t *take(struct cursor *c, size_t n)
{
	static const uint8_t zero[16];
	const uint8_t *p = c->p;

	if (c->bad || n > c->n) {
		c->bad = true;
		return zero;
	}
	c->p += n;
	c->n -= n;
	return p;
}

static void take_ip(struct cursor *c, bool v6, struct hf_addr *a)
{
	size_t n = v6 ? 16 : 4;

	*a = (struct hf_addr){.family = v6 ? 6 : 4};
	memcpy(a->ip, take(c, n), n);
}

static void put_name(struct hf_writer *w, const struct hf_flow_name *f)
{
	hf_w_u8(w, f->worker);
	hf_w_u8(w, (uint8_t)(f->slot >> 16));
	hf_w_u16(w, (uint16_t)f->slot);
	hf_w_u32(w, f->generation);
}

static struct hf_flow_name take_name(struct cursor *c, uint32_t boot)
{
	const uint8_t *p = take(c, 8);

	return (struct hf_flow_name){p[0], hf_get32(p) & 0xffffff, hf_get32(p + 4), boot};
}

/* ---- branch ---- */

bool sip_branch_magic(struct hf_bytes branch)
{
	return branch.n > sizeof SIP_MAGIC - 1 && hf_bytes_istarts(branch, HF_LIT(SIP_MAGIC));
}

static void branch_end(struct sip_mix *m, uint32_t server, uint8_t out[SIP_BRANCH_LEN])
{
	struct hf_writer w = hf_writer_on(out, SIP_BRANCH_LEN);
	uint8_t h[8];

	hf_put32(h, server);
	sip_mix_add(m, hf_bytes_of(h, 4));
	hf_put64(h, sip_mix_end(m));
	hf_w_str(&w, SIP_MAGIC);
	hf_w_b32(&w, hf_bytes_of(h, 8));
}

void sip_branch(const struct hf_site *site, struct hf_bytes branch, struct hf_bytes sent_by, uint32_t server, uint8_t out[SIP_BRANCH_LEN])
{
	struct sip_mix m;

	sip_mix_init(&m, site->hash_key, 1, 3);
	sip_mix_add(&m, HF_LIT("branch:"));
	sip_mix_lp(&m, branch);
	sip_mix_lp(&m, sent_by);
	branch_end(&m, server, out);
}

void sip_branch_old(const struct hf_site *site, const struct sip_old_via *v, uint32_t server, uint8_t out[SIP_BRANCH_LEN])
{
	const struct hf_bytes part[] = {v->via, v->from_tag, v->call_id, v->cseq, v->uri};
	struct sip_mix m;

	sip_mix_init(&m, site->hash_key, 1, 3);
	sip_mix_add(&m, HF_LIT("branch:"));
	for (unsigned i = 0; i < sizeof part / sizeof *part; i++)
		sip_mix_lp(&m, part[i]);
	branch_end(&m, server, out);
}

uint64_t sip_transaction(const struct hf_site *site, struct hf_bytes branch, struct hf_bytes sent_by, const struct sip_old_via *v)
{
	const struct hf_bytes part[] = {v->via, v->from_tag, v->call_id, v->cseq, v->uri};
	struct sip_mix m;
	uint64_t h;

	sip_mix_init(&m, site->hash_key, 1, 3);
	sip_mix_add(&m, HF_LIT("hold:"));
	sip_mix_lp(&m, branch);
	sip_mix_lp(&m, sent_by);
	for (unsigned i = 0; !branch.n && i < sizeof part / sizeof *part; i++)
		sip_mix_lp(&m, part[i]);
	h = sip_mix_end(&m);
	return h ? h : 1;
}

/* ---- Via parameter ---- */

void sip_hf_write(const struct hf_site *site, const struct sip_hf *h, struct hf_bytes branch, struct hf_writer *out)
{
	uint8_t buf[RAW_MAX];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct sip_cover c = {.label = HF_LIT("via:"), .plain = branch};

	hf_w_u8(&w, (uint8_t)(VERSION | (h->opening ? F_OPENING : 0) | (h->has_hold ? F_HOLD : 0) | (h->has_connection ? F_CONNECTION : 0) |
			      (h->local.family ? F_LOCAL : 0) | (h->source.family == 6 ? F_IPV6 : 0)));
	hf_w_u8(&w, sip_key_id(site->sign[0]));
	hf_w_u32(&w, h->boot);
	hf_w_u32(&w, h->listener);
	hf_w_u32(&w, h->server);
	hf_w_u32(&w, h->loop);
	put_ip(&w, &h->source);
	hf_w_u16(&w, h->source.port);
	if (h->local.family)
		put_ip(&w, &h->local);
	if (h->has_hold)
		put_name(&w, &h->hold);
	if (h->has_connection)
		put_name(&w, &h->connection);
	sip_seal(site, &w, &c, out);
}

bool sip_hf_read(const struct hf_site *site, struct hf_bytes text, struct hf_bytes branch, struct sip_hf *h)
{
	uint8_t buf[RAW_MAX];
	size_t n = hf_b32_read(text, buf, sizeof buf);
	struct cursor c = {buf, n, n < SIP_TAG + 2};
	struct sip_cover cover = {.label = HF_LIT("via:"), .plain = branch};
	const uint8_t *head = take(&c, 2);
	uint8_t flags = head[0];

	*h = (struct sip_hf){.opening = flags & F_OPENING, .has_hold = flags & F_HOLD, .has_connection = flags & F_CONNECTION};
	h->boot = hf_get32(take(&c, 4));
	h->listener = hf_get32(take(&c, 4));
	h->server = hf_get32(take(&c, 4));
	h->loop = hf_get32(take(&c, 4));
	take_ip(&c, flags & F_IPV6, &h->source);
	h->source.port = hf_get16(take(&c, 2));
	if (flags & F_LOCAL)
		take_ip(&c, flags & F_IPV6, &h->local);
	if (h->has_hold)
		h->hold = take_name(&c, h->boot);
	if (h->has_connection)
		h->connection = take_name(&c, h->boot);
	if (c.bad || c.n != SIP_TAG || (flags & VERSION_MASK) != VERSION)
		return false;
	cover.raw = hf_bytes_of(buf, n - SIP_TAG);
	return sip_tag_holds(site, head[1], c.p, &cover);
}

/* ---- cookie ---- */

enum { COOKIE_RAW = 14, PREFIX = 4 };

void sip_cookie_write(const struct hf_site *site, const struct sip_cookie *k, struct hf_bytes call_id, struct hf_bytes opener_tag, struct hf_writer *out)
{
	uint8_t buf[COOKIE_RAW];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct sip_cover c = {.label = HF_LIT("cookie:"), .lp = {call_id, opener_tag}, .n_lp = 2};

	hf_w_u8(&w, (uint8_t)(VERSION | (k->server_opened ? COOKIE_SERVER_OPENED : 0)));
	hf_w_u8(&w, sip_key_id(site->sign[0]));
	hf_w_u32(&w, k->server);
	hf_w_str(out, "hfd-");
	sip_seal(site, &w, &c, out);
}

bool sip_cookie_form(struct hf_bytes user) { return user.n == SIP_COOKIE_LEN && hf_bytes_istarts(user, HF_LIT("hfd-")); }

bool sip_cookie_read(const struct hf_site *site, struct hf_bytes user, struct hf_bytes call_id, struct hf_bytes opener_tag, struct sip_cookie *k)
{
	uint8_t buf[COOKIE_RAW] = {0};
	struct sip_cover c = {.label = HF_LIT("cookie:"), .raw = hf_bytes_of(buf, COOKIE_RAW - SIP_TAG), .lp = {call_id, opener_tag}, .n_lp = 2};

	if (!sip_cookie_form(user) || hf_b32_read(hf_bytes_sub(user, PREFIX, user.n), buf, sizeof buf) != sizeof buf)
		return false;
	if ((buf[0] & ~COOKIE_SERVER_OPENED) != VERSION || !sip_tag_holds(site, buf[1], buf + COOKIE_RAW - SIP_TAG, &c))
		return false;
	k->server_opened = buf[0] & COOKIE_SERVER_OPENED;
	k->server = hf_get32(buf + 2);
	return true;
}

/* ---- flow token ---- */

void sip_flow_write(const struct hf_site *site, const struct sip_flow *f, struct hf_writer *out)
{
	uint8_t buf[RAW_MAX];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct sip_cover c = {.label = HF_LIT("flow:")};

	hf_w_u8(&w, (uint8_t)(VERSION | (f->stream ? F_CONNECTION : 0) | (f->local.family ? F_LOCAL : 0) | (f->remote.family == 6 ? F_IPV6 : 0)));
	hf_w_u8(&w, sip_key_id(site->sign[0]));
	hf_w_u32(&w, f->listener);
	put_ip(&w, &f->remote);
	hf_w_u16(&w, f->remote.port);
	if (f->local.family)
		put_ip(&w, &f->local);
	if (f->stream) {
		hf_w_u32(&w, f->connection.boot);
		put_name(&w, &f->connection);
	}
	hf_w_str(out, "hff-");
	sip_seal(site, &w, &c, out);
}

bool sip_flow_form(struct hf_bytes user) { return user.n > PREFIX && user.n <= SIP_FLOW_TEXT_MAX && hf_bytes_istarts(user, HF_LIT("hff-")); }

bool sip_flow_read(const struct hf_site *site, struct hf_bytes user, struct sip_flow *f)
{
	uint8_t buf[RAW_MAX];
	size_t n = sip_flow_form(user) ? hf_b32_read(hf_bytes_sub(user, PREFIX, user.n), buf, sizeof buf) : 0;
	struct cursor c = {buf, n, n < SIP_TAG + 2};
	struct sip_cover cover = {.label = HF_LIT("flow:")};
	const uint8_t *head = take(&c, 2);
	uint8_t flags = head[0];

	*f = (struct sip_flow){.stream = flags & F_CONNECTION};
	f->listener = hf_get32(take(&c, 4));
	take_ip(&c, flags & F_IPV6, &f->remote);
	f->remote.port = hf_get16(take(&c, 2));
	if (flags & F_LOCAL)
		take_ip(&c, flags & F_IPV6, &f->local);
	if (f->stream) {
		uint32_t boot = hf_get32(take(&c, 4));

		f->connection = take_name(&c, boot);
	}
	if (c.bad || c.n != SIP_TAG || (flags & ~(F_CONNECTION | F_LOCAL | F_IPV6)) != VERSION)
		return false;
	cover.raw = hf_bytes_of(buf, n - SIP_TAG);
	return sip_tag_holds(site, head[1], c.p, &cover);
}

/* ---- To tag of our own answers ---- */

void sip_to_tag_write(const struct hf_site *site, struct hf_bytes call_id, struct hf_bytes from_tag, struct hf_bytes cseq, struct hf_writer *out)
{
	uint8_t buf[1 + SIP_TAG];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct sip_cover c = {.label = HF_LIT("to:"), .lp = {call_id, from_tag, cseq}, .n_lp = 3};

	hf_w_u8(&w, sip_key_id(site->sign[0]));
	hf_w_str(out, "hft-");
	sip_seal(site, &w, &c, out);
}

bool sip_to_tag_read(const struct hf_site *site, struct hf_bytes tag, struct hf_bytes call_id, struct hf_bytes from_tag, struct hf_bytes cseq)
{
	uint8_t buf[1 + SIP_TAG] = {0};
	struct sip_cover c = {.label = HF_LIT("to:"), .raw = hf_bytes_of(buf, 1), .lp = {call_id, from_tag, cseq}, .n_lp = 3};

	return tag.n == SIP_TO_TAG_LEN && hf_bytes_istarts(tag, HF_LIT("hft-")) &&
	       hf_b32_read(hf_bytes_sub(tag, PREFIX, tag.n), buf, sizeof buf) == sizeof buf && sip_tag_holds(site, buf[0], buf + 1, &c);
}

uint32_t sip_loop_hash(const struct hf_site *site, const struct sip_loop *l)
{
	const struct hf_bytes part[] = {l->uri, l->routes, l->call_id, l->from_tag, l->to_tag, l->cseq};
	struct sip_mix m;

	sip_mix_init(&m, site->hash_key, 1, 3);
	sip_mix_add(&m, HF_LIT("loop:"));
	for (unsigned i = 0; i < sizeof part / sizeof *part; i++)
		sip_mix_lp(&m, part[i]);
	return (uint32_t)(sip_mix_end(&m) >> 32);
}
