/* Members and entries as octets of the state on disk; see keeping.h. Pure: no file, no clock. */
#include "keeping.h"

#define AGE_NONE 0xffffffffu
#define HAS_ALIAS 8 /* beside the flags: behind its text stands the bond that it is a second name of */
_Static_assert(8 + 8 + 8 + 1 + HF_COPY_MAX * (8 + 4 * 4 + 2 + HF_TEXT_MAX + 8) <= HF_DISK_PAYLOAD, "a span fits a record");

/* ---- writing ---- */

static uint32_t age_s(uint64_t then_ms, uint64_t now_ms)
{
	int64_t ms = (int64_t)(now_ms - then_ms); /* then may lie before the clock's begin */

	return ms < 0 ? 0 : ms / 1000 >= AGE_NONE ? AGE_NONE - 1 : (uint32_t)(ms / 1000);
}

static uint32_t age_or_none(uint64_t then_ms, uint64_t now_ms) { return then_ms ? age_s(then_ms, now_ms) : AGE_NONE; }

static void text(struct hf_writer *w, struct hf_bytes b)
{
	hf_w_u8(w, (uint8_t)b.n);
	hf_w_bytes(w, b);
}

void keeping_write_member(struct hf_writer *w, const struct keeping_time *t, uint16_t id, const struct hf_member_record *r)
{
	hf_w_u64(w, t->wall_s);
	hf_w_u16(w, id);
	hf_w_u32(w, age_s(r->since_ms, t->now_ms));
	hf_w_u32(w, age_or_none(r->drain_ms, t->now_ms));
	hf_w_u32(w, age_or_none(r->removed_ms, t->now_ms));
	hf_w_u32(w, r->file_weight);
	hf_w_u32(w, r->run_weight);
	hf_w_u32(w, r->max_sessions);
	hf_w_u8(w, r->marks);
	hf_w_mem(w, r->at, sizeof r->at);
	text(w, hf_bytes_str(r->name));
	for (unsigned i = 0; i == 0 || hf_member_former(r, i).n; i++)
		text(w, hf_member_former(r, i));
}

void keeping_write_span(struct hf_writer *w, const struct keeping_time *t, const struct hf_range *r, const struct hf_copy *c, const uint32_t *hash)
{
	hf_w_u64(w, t->wall_s);
	hf_w_u64(w, r->from);
	hf_w_u64(w, r->to);
	hf_w_u8(w, (uint8_t)c->n);
	for (unsigned i = 0; i < c->n; i++) {
		const struct hf_record *x = &c->r[i];

		hf_w_u64(w, x->fp << 4 | (x->flags & 7) | (x->alias_of ? HAS_ALIAS : 0));
		hf_w_u32(w, hash[i]);
		hf_w_u32(w, x->expires_s);
		hf_w_u32(w, age_s(x->since_ms, t->now_ms));
		hf_w_u32(w, age_s(x->seen_ms, t->now_ms));
		hf_w_u8(w, (uint8_t)x->why);
		text(w, x->text);
		if (x->alias_of)
			hf_w_u64(w, x->alias_of);
	}
}

/* ---- reading ---- */

struct reader { struct hf_bytes b; bool bad; };

static const uint8_t *take(struct reader *r, size_t n)
{
	static const uint8_t zeros[64];
	const uint8_t *p = r->b.p;

	if (r->bad || n > r->b.n) {
		r->bad = true;
		return zeros;
	}
	r->b = hf_bytes_sub(r->b, n, r->b.n);
	return p;
}

static uint8_t take8(struct reader *r) { return *take(r, 1); }
static uint32_t take32(struct reader *r) { return hf_get32(take(r, 4)); }
static uint64_t take64(struct reader *r) { return hf_get64(take(r, 8)); }

static struct hf_bytes take_text(struct reader *r, size_t max)
{
	size_t n = take8(r);
	const uint8_t *p = take(r, n);

	r->bad |= n > max;
	return r->bad ? HF_NONE : hf_bytes_of(p, n);
}

static void name(struct reader *r, char to[HF_NAME_MAX + 1])
{
	struct hf_bytes b = take_text(r, HF_NAME_MAX);

	r->bad |= b.n && memchr(b.p, 0, b.n);
	memset(to, 0, HF_NAME_MAX + 1);
	if (b.n && !r->bad)
		memcpy(to, b.p, b.n);
}

/* Its former names, up to the record's end. */
static void former(struct reader *r, struct hf_member_record *m)
{
	char one[HF_NAME_MAX + 1];
	size_t at = 0;

	while (!r->bad && r->b.n) {
		size_t n;

		name(r, one);
		n = strlen(one);
		r->bad |= at + n > HF_NAME_MAX;
		if (r->bad)
			return;
		memcpy(m->was + at, one, n);
		at += n ? n + 1 : 0;
	}
}

/* Seconds that went by since it was written. */
static uint64_t passed_s(uint64_t written_s, const struct keeping_time *t) { return t->wall_s > written_s ? t->wall_s - written_s : 0; }

/* A member's times are compared with the clock: one from before its begin becomes its begin. */
static uint64_t then_ms(uint32_t age, uint64_t passed, const struct keeping_time *t)
{
	uint64_t s = passed + age;

	return age == AGE_NONE ? 0 : s < t->now_ms / 1000 ? t->now_ms - s * 1000 : 1;
}

bool keeping_read_member(struct hf_bytes b, const struct keeping_time *t, uint16_t *id, struct hf_member_record *m)
{
	struct reader r = {b, false};
	uint64_t passed = passed_s(take64(&r), t);

	memset(m, 0, sizeof *m);
	*id = hf_get16(take(&r, 2));
	m->since_ms = then_ms(take32(&r), passed, t);
	m->drain_ms = then_ms(take32(&r), passed, t);
	m->removed_ms = then_ms(take32(&r), passed, t);
	m->file_weight = take32(&r);
	m->run_weight = take32(&r);
	m->max_sessions = take32(&r);
	m->marks = take8(&r);
	memcpy(m->at, take(&r, sizeof m->at), sizeof m->at);
	name(&r, m->name);
	former(&r, m);
	return !r.bad && !r.b.n && *id && *id <= HF_SERVERS_MAX && m->name[0];
}

static bool read_entry(struct reader *r, uint64_t passed, const struct keeping_time *t, struct hf_record *x, uint32_t *hash)
{
	uint64_t head = take64(r), left;

	*x = (struct hf_record){.fp = head >> 4, .flags = head & (HF_COUNTED | HF_TENTATIVE | HF_BOND)};
	*hash = take32(r);
	left = take32(r);
	x->expires_s = left > passed ? (uint32_t)(left - passed) : 0;
	x->since_ms = t->now_ms - (passed + take32(r)) * 1000; /* before the clock's begin as a rule: differences count */
	x->seen_ms = t->now_ms - (passed + take32(r)) * 1000;
	x->why = (enum hf_why)take8(r);
	x->text = take_text(r, HF_TEXT_MAX);
	x->alias_of = head & HAS_ALIAS ? take64(r) : 0;
	return !r->bad && x->why < HF_WHY_COUNT && !(x->alias_of >> HF_FP_BITS);
}

bool keeping_read_span(struct hf_bytes b, const struct keeping_time *t, struct hf_range *range, struct hf_copy *c, uint32_t *hash)
{
	struct reader r = {b, false};
	uint64_t passed = passed_s(take64(&r), t), before = 0;
	unsigned n;

	range->from = take64(&r);
	range->to = take64(&r);
	n = take8(&r);
	c->n = 0;
	if (r.bad || range->from > range->to || range->to >> HF_FP_BITS || n > HF_COPY_MAX)
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (!read_entry(&r, passed, t, &c->r[c->n], &hash[c->n]))
			return false;
		if (c->r[c->n].fp <= before || c->r[c->n].fp < range->from || c->r[c->n].fp > range->to)
			return false;
		before = c->r[c->n].fp;
		c->n += c->r[c->n].expires_s > 0;
	}
	return !r.b.n;
}
