/* `sessions`, `move`, `forget`: the entries of a pool, and what an operator does to one. Listing is an errand, as tables are long; the other two are
 * lessons to the engine. A bond that is moved or forgotten counts from the next connection on; what is connected stays. Control thread. */
#include <stdio.h>
#include <stdlib.h>

#include "errand.h"
#include "holdfast/clock.h"
#include "holdfast/log.h"
#include "list.h"
#include "target.h"

#define ARENA (64u << 10) /* as where.c */

struct listing {
	struct errand errand;
	uint32_t limit;
	bool filtered;
	unsigned n;
	struct listed { /* a pool */
		char name[64];
		struct hf_engine *engine;
		bool table;
		uint16_t server; /* id, of a filter */
	} pool[];
};

struct showing {
	struct listing *l;
	const struct listed *p;
	struct json *j;
	uint64_t now_ms, n, matching, counted, connected;
};

/* A call lives as long as it counts; a bond of a table is kept when nobody is connected by it. */
static bool is_live(const struct listed *p, const struct hf_record *r) { return r->flags & HF_COUNTED && !(p->table && r->flags & HF_BOND); }

static const char *state_of(const struct listed *p, const struct hf_record *r)
{
	return r->flows ? "connected" : is_live(p, r) ? "live" : "lingering";
}

/* Second names of a session have its connections too. An entry that does not count and is no bond's second name has connections of its own: those of a
 * session that its bond, which is not named in them, counts. */
static bool is_connected(const struct listed *p, const struct hf_record *r)
{
	return r->flows ? r->flags & HF_COUNTED || r->why != HF_WHY_BOND : is_live(p, r);
}

/* Sessions come and are seen while a long table is listed; and `then` may lie before the clock's begin, see struct hf_record. */
static uint64_t seconds_since(uint64_t then, uint64_t now)
{
	int64_t ms = (int64_t)(now - then);

	return ms < 0 ? 0 : (uint64_t)ms / 1000;
}

static void show(struct showing *s, const struct hf_record *r)
{
	struct json *j = s->j;

	json_open(j, JSON_ITEM, '{');
	if (r->text.n)
		json_text(j, HF_F_KEY, r->text);
	else
		json_null(j, HF_F_KEY);
	json_hex(j, HF_F_FINGERPRINT, r->fp, HF_FP_BITS / 4);
	list_name(s->p->engine, HF_F_SERVER, r->server, j);
	json_str(j, HF_F_STATE, state_of(s->p, r));
	json_bool(j, HF_F_TENTATIVE, r->flags & HF_TENTATIVE);
	json_bool(j, HF_F_COUNTED, r->flags & HF_COUNTED);
	json_uint(j, HF_F_EXPIRES_S, r->expires_s);
	if (s->p->table) {
		json_uint(j, HF_F_FLOWS, r->flows);
		json_uint(j, HF_F_SINCE_S, seconds_since(r->since_ms, s->now_ms));
		json_uint(j, HF_F_SEEN_S, seconds_since(r->seen_ms, s->now_ms));
		json_str(j, HF_F_WHY, hf_why_name(r->why));
	}
	json_close(j, '}');
}

static bool each(void *arg, const struct hf_record *r)
{
	struct showing *s = arg;

	if (s->l->filtered && r->server != s->p->server)
		return true;
	s->matching++;
	s->counted += (r->flags & HF_COUNTED) != 0;
	s->connected += is_connected(s->p, r);
	if (s->n < s->l->limit) {
		s->n++;
		show(s, r);
	}
	return !atomic_load_explicit(&s->l->errand.stop, memory_order_relaxed);
}

/* Of the server that is asked for: who is left there has so long. */
static void countdown(const struct showing *s)
{
	struct hf_server_view v;

	if (!s->l->filtered || !hf_engine_server(s->p->engine, s->p->server, &v))
		return;
	json_str(s->j, HF_F_SERVER, v.name);
	json_str(s->j, HF_F_STATE, hf_state_name(v.state));
	list_seconds(HF_F_DEADLINE_S, v.ends_ms, s->now_ms, v.ends_ms, s->j);
}

static enum hf_err run(struct errand *x, struct json *j, struct hf_writer *why)
{
	struct listing *l = (struct listing *)x;

	(void)why;
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
	json_open(j, HF_F_POOLS, '[');
	for (unsigned i = 0; i < l->n; i++) {
		struct showing s = {.l = l, .p = &l->pool[i], .j = j, .now_ms = hf_clock_ms()};

		json_open(j, JSON_ITEM, '{');
		json_str(j, HF_F_NAME, l->pool[i].name);
		json_open(j, HF_F_SESSIONS, '[');
		hf_engine_each(l->pool[i].engine, each, &s, s.now_ms);
		json_close(j, ']');
		json_uint(j, HF_F_MATCHING, s.matching);
		json_uint(j, HF_F_COUNTED, s.counted);
		json_uint(j, HF_F_CONNECTED, s.connected);
		countdown(&s);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
	return HF_OK;
}

static void end(struct errand *x) { free(x); }

static void add_pool(struct gateway *g, struct listing *l, const struct hf_conf_pool *p, uint16_t server)
{
	struct listed *x = &l->pool[l->n];

	x->engine = hf_net_engine(g->net, p->name);
	if (!x->engine)
		return;
	snprintf(x->name, sizeof x->name, "%s", p->name);
	x->table = p->affinity == HF_MODE_TABLE;
	x->server = server;
	l->n++;
}

enum hf_err sessions(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	const struct hf_conf *conf = hf_net_conf(g->net);
	const struct hf_conf_pool *only = NULL;
	struct target t = {0};
	enum hf_err e = c->server.n ? target_find(g, c, &t, why) : c->pool.n ? target_pool(g, c->pool, &only, why) : HF_OK;
	struct listing *l;

	(void)j;
	if (e != HF_OK)
		return e;
	l = calloc(1, sizeof *l + conf->n_pools * sizeof l->pool[0]);
	if (!l)
		return HF_ENOMEM;
	l->errand.run = run;
	l->errand.free = end;
	l->limit = c->limit;
	l->filtered = t.id != 0;
	only = t.pool ? t.pool : only;
	for (unsigned i = 0; i < conf->n_pools; i++)
		if (!only || only == &conf->pools[i])
			add_pool(g, l, &conf->pools[i], t.id);
	g->errand = &l->errand;
	return HF_OK;
}

/* ---- one session ---- */

static enum hf_err absent(const struct key_found *f, const struct command *c, struct hf_writer *why)
{
	hf_w_printf(why, "pool %s remembers no session of ", f->pool->name);
	command_quote(why, c->key);
	return HF_ENOENT;
}

static void done(const char *event, const struct key_found *f, const struct hf_where *was, uint16_t server, struct json *j)
{
	struct hf_server_view v;
	bool named = hf_engine_server(f->engine, server ? server : was->server, &v); /* of what is forgotten, the one that it was at */

	hf_log(HF_LOG_INFO, "event=%s pool=%s fingerprint=%015llx server=%s flows=%u", event, f->pool->name, (unsigned long long)f->key.fp, named ? v.name : "-",
	       was->flows);
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
	json_str(j, HF_F_POOL, f->pool->name);
	json_text(j, HF_F_KEY, f->key.text);
	list_name(f->engine, HF_F_FROM, was->server, j);
	list_name(f->engine, HF_F_SERVER, server, j);
	json_uint(j, HF_F_FLOWS, was->flows);
	json_close(j, '}');
}

static enum hf_err move_to(struct gateway *g, const struct key_found *f, const struct command *c, struct json *j, struct hf_writer *why)
{
	const struct command there = {.pool = hf_bytes_str(f->pool->name), .server = c->server};
	struct hf_lesson l = {.key = f->key, .life = HF_LIFE_NONE, .why = HF_WHY_BOND, .move = true};
	uint64_t now = hf_clock_ms();
	struct target t;
	struct hf_where was;
	enum hf_err e = target_find(g, &there, &t, why);

	if (e != HF_OK)
		return e;
	if (t.view.state == HF_STATE_OFF) {
		hf_w_printf(why, "server %s is off: nothing can be moved there", t.view.name);
		return HF_EINVAL;
	}
	l.server = t.id;
	hf_engine_where(f->engine, f->key.fp, &was, now);
	e = hf_engine_learn(f->engine, &l, now);
	if (e == HF_ENOENT)
		return absent(f, c, why);
	if (e == HF_OK)
		done("move", f, &was, t.id, j);
	return e;
}

static enum hf_err drop(const struct key_found *f, const struct command *c, struct json *j, struct hf_writer *why)
{
	struct hf_lesson l = {.key = f->key, .life = HF_LIFE_END};
	uint64_t now = hf_clock_ms();
	struct hf_where was;
	enum hf_err e;

	hf_engine_where(f->engine, f->key.fp, &was, now);
	e = hf_engine_learn(f->engine, &l, now);
	if (e == HF_ENOENT)
		return absent(f, c, why);
	if (e == HF_OK)
		done("forget", f, &was, HF_NO_SERVER, j);
	return e;
}

enum hf_err session_change(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	static uint8_t memory[ARENA]; /* one command at a time */
	struct hf_arena arena;
	struct key_found f = {0};
	enum hf_err e;

	hf_arena_init(&arena, memory, sizeof memory);
	e = key_find(g, c, &arena, &f, why);
	if (e != HF_OK)
		return e;
	return c->kind == COMMAND_MOVE ? move_to(g, &f, c, j, why) : drop(&f, c, j, why);
}
