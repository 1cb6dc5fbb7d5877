/* A line of the session log; see tell.h. Octets that peers chose are escaped, names of users and calls are there only where the configuration says so. */
#include "tell.h"

#include <stdio.h>
#include <time.h>

#include "flow.h"
#include "path_in.h"
#include "holdfast/fields.h"
#include "holdfast/hash.h"
#include "holdfast/log.h"

#define LEG_MS 10000 /* who comes again within so long after a short session continues it */
#define LOOP 3       /* short ones in a row that are no accident: the log says so once */

/* ---- fields ---- */

static const char *const names[HF_F_COUNT] = {
#define X(e, name) name,
	HF_FIELDS(X)
#undef X
};

static void field(struct hf_writer *w, enum hf_field f)
{
	hf_w_u8(w, w->n ? ',' : '{');
	hf_w_json(w, hf_bytes_str(names[f]));
	hf_w_u8(w, ':');
}

static void put_text(struct hf_writer *w, enum hf_field f, struct hf_bytes v)
{
	field(w, f);
	hf_w_json(w, v);
}

static void put_str(struct hf_writer *w, enum hf_field f, const char *v) { put_text(w, f, hf_bytes_str(v)); }

static void put_uint(struct hf_writer *w, enum hf_field f, uint64_t v)
{
	field(w, f);
	hf_w_dec(w, v);
}

static void put_bool(struct hf_writer *w, enum hf_field f, bool v)
{
	field(w, f);
	hf_w_str(w, v ? "true" : "false");
}

/* RFC 3339, UTC: sorts as text. */
static void put_time(struct hf_writer *w, enum hf_field f, uint64_t ago_ms)
{
	uint64_t ms = hf_clock_unix_ms() - ago_ms;
	time_t s = (time_t)(ms / 1000);
	struct tm tm;

	gmtime_r(&s, &tm);
	field(w, f);
	hf_w_printf(w, "\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ms % 1000));
}

static void put_server(struct hf_writer *w, enum hf_field f, const struct pool_rt *pool, uint16_t id)
{
	struct hf_server_view v;

	if (id && pool && hf_engine_server(pool->engine, id, &v)) {
		put_str(w, f, v.name);
		return;
	}
	field(w, f);
	hf_w_str(w, "null");
}

static void put_addr(struct hf_writer *w, const struct hf_addr *a)
{
	uint8_t text[80];
	struct hf_writer t = hf_writer_on(text, sizeof text);

	hf_w_addr(&t, a);
	put_text(w, HF_F_SOURCE, hf_writer_view(&t));
}

/* What both kinds have, in the order in which people read. */
static void head(struct hf_writer *w, const struct tale *t, const struct service_rt *rt, const struct pool_rt *pool, const struct hf_addr *source, uint64_t now_ms)
{
	uint64_t lasted = now_ms > t->begin_ms ? now_ms - t->begin_ms : 0;

	put_time(w, HF_F_BEGIN, lasted);
	put_uint(w, HF_F_DURATION_MS, lasted);
	put_str(w, HF_F_SERVICE, rt->name);
	put_str(w, HF_F_POOL, pool->name);
	if (t->fp) {
		field(w, HF_F_FINGERPRINT);
		hf_w_printf(w, "\"%015llx\"", (unsigned long long)t->fp);
	}
	if (t->n_text)
		put_text(w, HF_F_KEY, hf_bytes_of(t->text, t->n_text));
	put_addr(w, source);
	put_server(w, HF_F_SERVER, pool, t->server);
	put_str(w, HF_F_WHY, hf_why_name((enum hf_why)t->why));
	put_uint(w, HF_F_FAILOVERS, t->failovers);
}

static void finish(struct hf_net *net, struct hf_writer *w)
{
	hf_w_u8(w, '}');
	if (w->full)
		hf_lines_lose(net->lines);
	else
		hf_lines_put(net->lines, hf_writer_view(w));
}

/* ---- flows ---- */

static uint64_t source_of(const struct flow *f) { return hf_sip13(f->w->net->site.hash_key, hf_addr_ip(&f->source)) | 1; }

/* The short session of the same source that this one continues, if it does; and what the next will find. */
static struct leg follow(struct legs *l, struct flow *f, const struct tale *t)
{
	uint64_t source = source_of(f), now = f->w->now_ms;
	struct leg *at = &l->leg[source / 2 % LEGS], before;
	bool is_short = t->reached && !t->proved;

	pthread_mutex_lock(&l->lock);
	before = *at;
	if (before.source != source || before.pool != f->pool || t->begin_ms > before.end_ms + LEG_MS)
		before = (struct leg){0};
	if (is_short)
		*at = (struct leg){source, now, f->pool, before.n + 1, t->server};
	else if (before.n)
		*at = (struct leg){0};
	pthread_mutex_unlock(&l->lock);
	return before;
}

static void put_leg(struct hf_writer *w, struct flow *f, const struct tale *t, const struct leg *before)
{
	put_bool(w, HF_F_PROVED, t->proved);
	if (!before->n)
		return;
	put_server(w, HF_F_FOLLOWS, before->pool, before->server);
	put_uint(w, HF_F_FOLLOWS_MS, t->begin_ms > before->end_ms ? t->begin_ms - before->end_ms : 0);
	put_uint(w, HF_F_LEGS, before->n + 1);
	if (before->n + 1 == LOOP && !t->proved) {
		char source[80];
		struct hf_writer s = hf_writer_on(source, sizeof source - 1);

		hf_w_ip(&s, &f->source, false);
		source[s.n] = 0;
		hf_log_limited(HF_LOG_WARN, HF_R_DONE, "event=short-sessions service=%s source=%s sessions=%u within_ms=%u "
			"note=\"each began as the one before it ended: a client that does not follow a redirect, or servers that end what is brought to them\"",
			f->rt->name, source, before->n + 1, LEG_MS);
	}
}

static void put_facts(struct hf_writer *w, const struct flow *f, const struct tale *t)
{
	field(w, HF_F_FACTS);
	hf_w_u8(w, '[');
	for (unsigned i = 0; i < t->n_facts; i++) {
		const char *name = hf_reason_name(f->rt->front, t->fact[i]);

		hf_w_str(w, i ? "," : "");
		hf_w_json(w, hf_bytes_str(name ? name : "?"));
	}
	hf_w_u8(w, ']');
}

void tell_flow(struct flow *f, const struct tale *t, unsigned reason, struct legs *legs)
{
	uint8_t text[HF_LINE_MAX];
	struct hf_writer w = hf_writer_on(text, sizeof text - 1);
	const char *name = hf_reason_name(f->rt->front, reason);
	struct leg before = follow(legs, f, t);

	head(&w, t, f->rt, f->pool, &f->source, f->w->now_ms);
	if (*t->rule)
		put_str(&w, HF_F_RULE, t->rule);
	if (t->led)
		put_bool(&w, HF_F_LED, true);
	put_uint(&w, HF_F_OCTETS_UP, f->side[HF_CLIENT].octets);
	put_uint(&w, HF_F_OCTETS_DOWN, f->side[HF_SERVER].octets);
	put_leg(&w, f, t, &before);
	put_facts(&w, f, t);
	put_str(&w, HF_F_REASON, name ? name : "?");
	finish(f->w->net, &w);
}

void tell_path(const struct path *p, unsigned reason)
{
	const struct tale t = {.begin_ms = p->begin_ms, .server = p->server, .why = HF_WHY_ENTRY};
	const char *name = hf_reason_name(p->rt->front, reason);
	uint8_t text[HF_LINE_MAX];
	struct hf_writer w = hf_writer_on(text, sizeof text - 1);

	head(&w, &t, p->rt, p->pool, &p->client, p->w->now_ms);
	put_str(&w, HF_F_TRANSPORT, hf_transport_name(HF_UDP));
	put_uint(&w, HF_F_OCTETS_UP, p->up);
	put_uint(&w, HF_F_OCTETS_DOWN, p->down);
	put_str(&w, HF_F_REASON, name ? name : "?");
	finish(p->w->net, &w);
}

/* ---- sessions by key ---- */

void tell_session(struct hf_net *net, const struct tale *t, const char *ended, uint64_t now_ms)
{
	uint8_t text[HF_LINE_MAX];
	struct hf_writer w = hf_writer_on(text, sizeof text - 1);

	head(&w, t, t->rt, t->pool, &t->source, now_ms);
	if (t->answered_ms)
		put_uint(&w, HF_F_ANSWERED_MS, t->answered_ms - t->begin_ms);
	if (t->code)
		put_uint(&w, HF_F_CODE, t->code);
	put_str(&w, HF_F_ENDED, ended);
	finish(net, &w);
}
