/* What a change of the pool would do: a twin of the engine (twin.c) is filled with the entries, changed, and asked. It has no rule of its own; all
 * answers are hf_engine_choose's and all changes the control thread's own calls, made to the twin. See holdfast/engine.h. */
#include <stdlib.h>

#include "inside.h"

#define LIFE_S 172800u     /* of entries in the twin: longer than what is foreseen */
#define LATER_MS 3600000u  /* after the change, when new sessions come: whatever begins slowly has begun */
#define BREATH 4096        /* steps between two go_on */

/* ---- its entries ---- */

struct seer {
	struct hf_engine *twin;
	uint64_t now_ms, steps;
	bool (*go_on)(void *arg);
	void *arg;
	enum hf_err err;
	uint64_t *fp;       /* of the entries, in order; and the server that each goes to before the change */
	uint16_t *server;
	uint64_t n, cap;
	uint16_t turn;      /* who lost an old session last, see end_held */
};

static bool breathe(struct seer *s)
{
	if (s->err == HF_OK && ++s->steps % BREATH == 0 && !s->go_on(s->arg))
		s->err = HF_ECLOSED;
	return s->err == HF_OK;
}

static bool room(struct seer *s)
{
	uint64_t cap = s->cap ? s->cap * 2 : 4096, *fp;
	uint16_t *server;

	if (s->n < s->cap)
		return true;
	fp = realloc(s->fp, cap * sizeof *fp);
	s->fp = fp ? fp : s->fp;
	server = realloc(s->server, cap * sizeof *server);
	s->server = server ? server : s->server;
	if (fp && server)
		s->cap = cap;
	else
		s->err = HF_ENOMEM;
	return s->err == HF_OK;
}

static bool take_over(void *arg, const struct hf_record *r)
{
	struct seer *s = arg;
	struct hf_record x = *r;

	x.expires_s = LIFE_S;
	x.text = HF_NONE;
	if (!room(s) || hf_engine_restore_entry(s->twin, &x, s->now_ms) != HF_OK) /* full, or its server has come after the twin was made: not foreseen */
		return s->err == HF_OK;
	s->fp[s->n++] = r->fp;
	return breathe(s);
}

static uint16_t goes_to(struct seer *s, uint64_t fp)
{
	struct hf_question q = {.key = {.fp = fp}};
	struct hf_answer a;

	hf_engine_choose(s->twin, &q, &a, s->now_ms);
	return a.server;
}

/* ---- the change ---- */

/* A change that was under way is done before. Without memory to fill at once it is part of what is foreseen. */
static void settle(struct hf_engine *t)
{
	if (t->filled)
		return;
	change_names(t);
	t->filled = change_fill(t) == HF_OK;
}

static enum hf_err relist(struct hf_engine *t, const struct hf_change *c, uint64_t now_ms)
{
	struct hf_member_conf *m = calloc(HF_SERVERS_MAX + 1u, sizeof *m);
	uint16_t *ids = calloc(HF_SERVERS_MAX + 1u, sizeof *ids);
	enum hf_err err = m && ids ? HF_OK : HF_ENOMEM;
	unsigned n = 0;

	for (uint16_t id = 1; err == HF_OK && id <= last_id(t); id++) {
		const struct hf_member_record *r = &t->kept[id];

		if (!t->member[id].used || r->removed_ms || (c->kind == HF_CHANGE_REMOVE && hf_bytes_eq(hf_bytes_str(r->name), c->name)))
			continue;
		m[n] = (struct hf_member_conf){.name = hf_bytes_str(r->name), .was = hf_member_former(r, 0), .weight = r->file_weight, .max_sessions = r->max_sessions};
		memcpy(m[n++].at, r->at, sizeof r->at);
	}
	if (c->kind == HF_CHANGE_ADD)
		m[n++] = (struct hf_member_conf){.name = c->name, .weight = c->weight};
	if (err == HF_OK)
		err = hf_engine_apply(t, m, n, ids, now_ms);
	free(ids);
	free(m);
	return err;
}

static enum hf_err change(struct hf_engine *t, const struct hf_change *c, uint64_t now_ms)
{
	uint16_t id = hf_engine_find(t, c->name);
	bool there = id && !t->kept[id].removed_ms;
	enum hf_err err = HF_OK;

	if (c->kind == HF_CHANGE_ADD ? there : !there)
		return there ? HF_EEXIST : HF_ENOENT;
	if (c->kind == HF_CHANGE_DRAIN || c->kind == HF_CHANGE_UNDRAIN)
		hf_engine_mark(t, id, HF_MARK_DRAIN, c->kind == HF_CHANGE_DRAIN, now_ms);
	else if (c->kind == HF_CHANGE_WEIGHT)
		hf_engine_weigh(t, id, c->weight, now_ms);
	else
		err = relist(t, c, now_ms);
	while (err == HF_OK && hf_engine_tick(t, now_ms))
		;
	return err;
}

/* ---- before and after ---- */

static uint16_t *owners(struct hf_engine *t)
{
	uint16_t *owner = malloc(t->n_slots * sizeof *owner);

	for (uint32_t j = 0; owner && j < t->n_slots; j++)
		owner[j] = hf_engine_owner(t, j);
	return owner;
}

static void compare_slots(struct hf_engine *t, const uint16_t *before, uint16_t changed, struct hf_foresight *out)
{
	out->slots = t->n_slots;
	for (uint32_t j = 0; j < t->n_slots; j++) {
		uint16_t after = hf_engine_owner(t, j);

		out->server[before[j]].slots[0]++;
		out->server[after].slots[1]++;
		out->slots_moved += after != before[j];
		out->slots_astray += after != before[j] && before[j] && after && after != changed && before[j] != changed;
	}
}

static void compare_entries(struct seer *s, struct hf_foresight *out)
{
	for (uint64_t i = 0; i < s->n && breathe(s); i++)
		out->moved += goes_to(s, s->fp[i]) != s->server[i];
}

static uint64_t draw(uint64_t i) { return (method_draw(0, (uint32_t)i) ^ method_draw(1, (uint32_t)(i >> 32))) >> 4; }

/* Of sessions without entries the old ones go by turns of their servers; sessions[1] says how many have, until they are counted anew. */
static void end_held(struct seer *s, struct hf_foresight *out)
{
	for (uint16_t n = 0; n < out->last_id; n++) {
		struct hf_foreseen *x;

		s->turn = (uint16_t)(s->turn % out->last_id + 1);
		x = &out->server[s->turn];
		if (x->sessions[1] == x->sessions[0])
			continue;
		x->sessions[1]++;
		hf_engine_hold(s->twin, s->turn, -1);
		return;
	}
}

/* New sessions come and old ones go, until so many have come. */
static void arrive(struct seer *s, struct hf_foresight *out)
{
	uint64_t later = s->now_ms + LATER_MS;

	while (hf_engine_tick(s->twin, later))
		;
	for (uint64_t i = 0; i < out->arrivals && breathe(s); i++) {
		struct hf_question q = {.key = {.fp = draw(i) | 1}, .life = HF_LIFE_START, .life_s = LIFE_S, .flags = HF_COUNTED};
		struct hf_lesson old = {.life = HF_LIFE_END};
		struct hf_answer a;

		hf_engine_choose(s->twin, &q, &a, later);
		out->spilled += a.why == HF_WHY_SPILL;
		if (s->twin->conf.mode == HF_MODE_NONE && a.server) {
			hf_engine_hold(s->twin, a.server, 1);
			end_held(s, out);
		}
		if (i >= s->n)
			continue;
		old.key.fp = s->fp[i];
		(void)hf_engine_learn(s->twin, &old, later);
	}
}

static void count_sessions(struct hf_engine *t, unsigned when, struct hf_foresight *out)
{
	out->last_id = last_id(t);
	for (uint16_t id = 1; id <= out->last_id; id++)
		out->server[id].sessions[when] = LOAD_COUNTED(load_word(t, id));
}

static uint64_t exceptions(struct hf_engine *t)
{
	struct hf_engine_counts c;

	hf_engine_counts(t, &c);
	return c.exceptions;
}

static enum hf_err see(struct seer *s, const struct hf_change *c, struct hf_foresight *out)
{
	uint16_t *before = owners(s->twin);

	if (!before)
		return HF_ENOMEM;
	out->entries = s->n;
	for (uint64_t i = 0; i < s->n && breathe(s); i++)
		s->server[i] = goes_to(s, s->fp[i]);
	count_sessions(s->twin, 0, out);
	out->exceptions[0] = exceptions(s->twin);
	if (s->err == HF_OK)
		s->err = change(s->twin, c, s->now_ms);
	if (s->err == HF_OK) {
		compare_slots(s->twin, before, hf_engine_find(s->twin, c->name), out);
		out->exceptions[1] = exceptions(s->twin);
		compare_entries(s, out);
		arrive(s, out);
		count_sessions(s->twin, 1, out);
	}
	free(before);
	return s->err;
}

enum hf_err hf_engine_foresee(struct hf_engine *twin, struct hf_engine *e, const struct hf_change *c, uint64_t arrivals, bool (*go_on)(void *arg), void *arg,
			      struct hf_foresight *out, uint64_t now_ms)
{
	struct seer s = {.twin = twin, .now_ms = now_ms, .go_on = go_on, .arg = arg};

	*out = (struct hf_foresight){.server = out->server, .arrivals = arrivals};
	settle(twin);
	hf_engine_each(e, take_over, &s, now_ms);
	if (s.err == HF_OK)
		s.err = see(&s, c, out);
	free(s.fp);
	free(s.server);
	return s.err;
}
