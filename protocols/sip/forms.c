/* Branch, Via parameter, cookie, flow token and To tag; see forms.h. Integers are big-endian.
 * A reader decodes, finds the sign keys by their id, checks the tag over all octets before it, and only then believes. */
#include "forms.h"

#include "holdfast/hash.h"

enum { /* octet 0: version 1 in the upper three bits, and flags */
	VERSION = 32, VERSION_MASK = 0xe0,
	F_OPENING = 16, F_HOLD = 8, F_CONNECTION = 4, F_LOCAL = 2, F_IPV6 = 1,
	COOKIE_SERVER_OPENED = 1,
};
enum { TAG = 8, RAW_MAX = 76 };

/* ---- hashing ---- */

/* Pieces to be hashed as one run of octets. They are short as a rule, and a run that lies in one place is hashed twice as fast
 * as in pieces; what is longer than the place goes through the hash in pieces. */
struct mix {
	uint8_t buf[384];
	size_t n;
	bool spilt;
	const uint8_t *key;
	int c, d;
	struct hf_sip s;
};

static void mix_init(struct mix *m, const uint8_t key[16], int c, int d)
{
	m->n = 0;
	m->spilt = false;
	m->key = key;
	m->c = c;
	m->d = d;
}

static void mix_add(struct mix *m, struct hf_bytes b)
{
	if (!m->spilt && b.n <= sizeof m->buf - m->n) {
		if (b.n)
			memcpy(m->buf + m->n, b.p, b.n);
		m->n += b.n;
		return;
	}
	if (!m->spilt) {
		m->spilt = true;
		hf_sip_init(&m->s, m->key, m->c, m->d);
		hf_sip_add(&m->s, hf_bytes_of(m->buf, m->n));
	}
	hf_sip_add(&m->s, b);
}

static void mix_lp(struct mix *m, struct hf_bytes b)
{
	uint8_t n[2];

	hf_put16(n, (uint16_t)b.n);
	mix_add(m, hf_bytes_of(n, 2));
	mix_add(m, b);
}

static uint64_t mix_end(struct mix *m)
{
	struct hf_bytes whole = {m->buf, m->n};

	if (m->spilt)
		return hf_sip_end(&m->s);
	return m->c == 1 ? hf_sip13(m->key, whole) : hf_sip24(m->key, whole);
}

/* ---- keys and tags ---- */

static uint8_t key_id(const uint8_t key[16]) { return (uint8_t)(hf_sip24(key, HF_LIT("id")) >> 56); }

/* What a tag covers: a label, the raw octets, and up to three fields. */
struct cover {
	struct hf_bytes label, raw, plain; /* plain: added without a length */
	struct hf_bytes lp[3];
	unsigned n_lp;
};

static uint64_t tag_of(const uint8_t key[16], const struct cover *c)
{
	struct mix m;

	mix_init(&m, key, 2, 4);
	mix_add(&m, c->label);
	mix_add(&m, c->raw);
	mix_add(&m, c->plain);
	for (unsigned i = 0; i < c->n_lp; i++)
		mix_lp(&m, c->lp[i]);
	return mix_end(&m);
}

/* Does `tag` hold under a key whose id is `id`? The time does not tell how far it fits. */
static bool tag_holds(const struct hf_site *site, uint8_t id, const uint8_t tag[TAG], const struct cover *c)
{
	for (unsigned i = 0; i < site->n_sign; i++) {
		uint8_t want[TAG];

		if (key_id(site->sign[i]) != id)
			continue;
		hf_put64(want, tag_of(site->sign[i], c));
		if (hf_bytes_same_secret(hf_bytes_of(want, TAG), hf_bytes_of(tag, TAG)))
			return true;
	}
	return false;
}

/* Signs what stands in w with the first key, and appends the text. */
static void seal(const struct hf_site *site, struct hf_writer *raw, struct cover *c, struct hf_writer *out)
{
	c->raw = hf_writer_view(raw);
	hf_w_u64(raw, tag_of(site->sign[0], c));
	HF_BUG_ON(raw->full);
	hf_w_b32(out, hf_writer_view(raw));
}

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

static void branch_end(struct mix *m, uint32_t server, uint8_t out[SIP_BRANCH_LEN])
{
	struct hf_writer w = hf_writer_on(out, SIP_BRANCH_LEN);
	uint8_t h[8];

	hf_put32(h, server);
	mix_add(m, hf_bytes_of(h, 4));
	hf_put64(h, mix_end(m));
	hf_w_str(&w, SIP_MAGIC);
	hf_w_b32(&w, hf_bytes_of(h, 8));
}

void sip_branch(const struct hf_site *site, struct hf_bytes branch, struct hf_bytes sent_by, uint32_t server, uint8_t out[SIP_BRANCH_LEN])
{
	struct mix m;

	mix_init(&m, site->hash_key, 1, 3);
	mix_add(&m, HF_LIT("branch:"));
	mix_lp(&m, branch);
	mix_lp(&m, sent_by);
	branch_end(&m, server, out);
}

void sip_branch_old(const struct hf_site *site, const struct sip_old_via *v, uint32_t server, uint8_t out[SIP_BRANCH_LEN])
{
	const struct hf_bytes part[] = {v->via, v->from_tag, v->call_id, v->cseq, v->uri};
	struct mix m;

	mix_init(&m, site->hash_key, 1, 3);
	mix_add(&m, HF_LIT("branch:"));
	for (unsigned i = 0; i < sizeof part / sizeof *part; i++)
		mix_lp(&m, part[i]);
	branch_end(&m, server, out);
}

/* ---- Via parameter ---- */

void sip_hf_write(const struct hf_site *site, const struct sip_hf *h, struct hf_bytes branch, struct hf_writer *out)
{
	uint8_t buf[RAW_MAX];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct cover c = {.label = HF_LIT("via:"), .plain = branch};

	hf_w_u8(&w, (uint8_t)(VERSION | (h->opening ? F_OPENING : 0) | (h->has_hold ? F_HOLD : 0) | (h->has_connection ? F_CONNECTION : 0) |
			      (h->local.family ? F_LOCAL : 0) | (h->source.family == 6 ? F_IPV6 : 0)));
	hf_w_u8(&w, key_id(site->sign[0]));
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
	seal(site, &w, &c, out);
}

bool sip_hf_read(const struct hf_site *site, struct hf_bytes text, struct hf_bytes branch, struct sip_hf *h)
{
	uint8_t buf[RAW_MAX];
	size_t n = hf_b32_read(text, buf, sizeof buf);
	struct cursor c = {buf, n, n < TAG + 2};
	struct cover cover = {.label = HF_LIT("via:"), .plain = branch};
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
	if (c.bad || c.n != TAG || (flags & VERSION_MASK) != VERSION)
		return false;
	cover.raw = hf_bytes_of(buf, n - TAG);
	return tag_holds(site, head[1], c.p, &cover);
}

/* ---- cookie ---- */

enum { COOKIE_RAW = 14, PREFIX = 4 };

void sip_cookie_write(const struct hf_site *site, const struct sip_cookie *k, struct hf_bytes call_id, struct hf_bytes opener_tag, struct hf_writer *out)
{
	uint8_t buf[COOKIE_RAW];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct cover c = {.label = HF_LIT("cookie:"), .lp = {call_id, opener_tag}, .n_lp = 2};

	hf_w_u8(&w, (uint8_t)(VERSION | (k->server_opened ? COOKIE_SERVER_OPENED : 0)));
	hf_w_u8(&w, key_id(site->sign[0]));
	hf_w_u32(&w, k->server);
	hf_w_str(out, "hfd-");
	seal(site, &w, &c, out);
}

bool sip_cookie_form(struct hf_bytes user) { return user.n == SIP_COOKIE_LEN && hf_bytes_istarts(user, HF_LIT("hfd-")); }

bool sip_cookie_read(const struct hf_site *site, struct hf_bytes user, struct hf_bytes call_id, struct hf_bytes opener_tag, struct sip_cookie *k)
{
	uint8_t buf[COOKIE_RAW] = {0};
	struct cover c = {.label = HF_LIT("cookie:"), .raw = hf_bytes_of(buf, COOKIE_RAW - TAG), .lp = {call_id, opener_tag}, .n_lp = 2};

	if (!sip_cookie_form(user) || hf_b32_read(hf_bytes_sub(user, PREFIX, user.n), buf, sizeof buf) != sizeof buf)
		return false;
	if ((buf[0] & ~COOKIE_SERVER_OPENED) != VERSION || !tag_holds(site, buf[1], buf + COOKIE_RAW - TAG, &c))
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
	struct cover c = {.label = HF_LIT("flow:")};

	hf_w_u8(&w, (uint8_t)(VERSION | (f->stream ? F_CONNECTION : 0) | (f->local.family ? F_LOCAL : 0) | (f->remote.family == 6 ? F_IPV6 : 0)));
	hf_w_u8(&w, key_id(site->sign[0]));
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
	seal(site, &w, &c, out);
}

bool sip_flow_form(struct hf_bytes user) { return user.n > PREFIX && user.n <= SIP_FLOW_TEXT_MAX && hf_bytes_istarts(user, HF_LIT("hff-")); }

bool sip_flow_read(const struct hf_site *site, struct hf_bytes user, struct sip_flow *f)
{
	uint8_t buf[RAW_MAX];
	size_t n = sip_flow_form(user) ? hf_b32_read(hf_bytes_sub(user, PREFIX, user.n), buf, sizeof buf) : 0;
	struct cursor c = {buf, n, n < TAG + 2};
	struct cover cover = {.label = HF_LIT("flow:")};
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
	if (c.bad || c.n != TAG || (flags & ~(F_CONNECTION | F_LOCAL | F_IPV6)) != VERSION)
		return false;
	cover.raw = hf_bytes_of(buf, n - TAG);
	return tag_holds(site, head[1], c.p, &cover);
}

/* ---- To tag of our own answers ---- */

void sip_to_tag_write(const struct hf_site *site, struct hf_bytes call_id, struct hf_bytes from_tag, struct hf_bytes cseq, struct hf_writer *out)
{
	uint8_t buf[1 + TAG];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);
	struct cover c = {.label = HF_LIT("to:"), .lp = {call_id, from_tag, cseq}, .n_lp = 3};

	hf_w_u8(&w, key_id(site->sign[0]));
	hf_w_str(out, "hft-");
	seal(site, &w, &c, out);
}

bool sip_to_tag_read(const struct hf_site *site, struct hf_bytes tag, struct hf_bytes call_id, struct hf_bytes from_tag, struct hf_bytes cseq)
{
	uint8_t buf[1 + TAG] = {0};
	struct cover c = {.label = HF_LIT("to:"), .raw = hf_bytes_of(buf, 1), .lp = {call_id, from_tag, cseq}, .n_lp = 3};

	return tag.n == SIP_TO_TAG_LEN && hf_bytes_istarts(tag, HF_LIT("hft-")) &&
	       hf_b32_read(hf_bytes_sub(tag, PREFIX, tag.n), buf, sizeof buf) == sizeof buf && tag_holds(site, buf[0], buf + 1, &c);
}

uint32_t sip_loop_hash(const struct hf_site *site, const struct sip_loop *l)
{
	const struct hf_bytes part[] = {l->uri, l->routes, l->call_id, l->from_tag, l->to_tag, l->cseq};
	struct mix m;

	mix_init(&m, site->hash_key, 1, 3);
	mix_add(&m, HF_LIT("loop:"));
	for (unsigned i = 0; i < sizeof part / sizeof *part; i++)
		mix_lp(&m, part[i]);
	return (uint32_t)(mix_end(&m) >> 32);
}
