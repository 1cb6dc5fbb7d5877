/* `where`: to which server a key would go now, and why. It asks the front for the key and the engine for the answer; nothing changes. */
#include "holdfast/clock.h"
#include "json.h"
#include "holdfast/nearest.h"
#include "list.h"
#include "target.h"

#define ARENA (64u << 10) /* a key is at most a line, and a front may keep a canonical copy or two */

/* The key in the form that this pool's messages give; false: it has none of that kind. `near` gets the kind that was likely meant. */
static bool key_in(struct gateway *g, const struct hf_conf_pool *p, struct hf_bytes text, struct hf_arena *arena, struct key_found *out, struct hf_nearest *near)
{
	struct key_found f = {.pool = p, .engine = hf_net_engine(g->net, p->name)};
	const struct hf_conf_service *service;
	struct hf_ctx ctx;
	enum hf_err e;

	if (!f.engine || !hf_net_ctx(g->net, p->name, arena, &ctx, &service) || !service->front->key_read)
		return false;
	e = service->front->key_read(&ctx, text, &f.key);
	if (e == HF_ENOENT)
		hf_nearest_add(near, f.key.text);
	if (e != HF_OK || f.key.fp == 0)
		return false;
	if (!service->front->key_place || !service->front->key_place(&ctx, text, &f.place))
		f.place = f.key;
	*out = f;
	return true;
}

static enum hf_err none(const struct command *c, struct hf_writer *why)
{
	command_quote(why, c->key);
	hf_w_str(why, " is no key of ");
	hf_w_str(why, c->pool.n ? "pool " : "any pool; a key is written as [KIND:]KEY");
	if (c->pool.n)
		command_quote(why, c->pool);
	return HF_EINVAL;
}

/* The kind in front of a key, with its colon; empty when there is none. */
static struct hf_bytes kind_of(struct hf_bytes key)
{
	size_t colon = hf_bytes_find(key, ':');

	return hf_bytes_sub(key, 0, colon < key.n ? colon + 1 : 0);
}

/* Was the kind typed? A pool that puts another one before the key took what was typed for a part of it. */
static bool is_typed_kind(const struct command *c, const struct key_found *f)
{
	struct hf_bytes kind = kind_of(c->key);

	return kind.n && hf_bytes_eq(kind, kind_of(f->key.text));
}

/* Whoever takes the whole for a key, somebody knows a kind that is almost what was typed: it is not guessed. */
static enum hf_err no_kind(const struct command *c, const struct hf_nearest *near, struct hf_writer *why)
{
	why->n = 0;
	hf_w_str(why, "no kind of key here: ");
	command_quote(why, near->wanted);
	hf_w_str(why, "; nearest: ");
	hf_w_nearest(why, near);
	hf_w_str(why, ". A key that begins so is written behind its kind: ");
	hf_w_printable(why, near->names[0]);
	hf_w_str(why, ":");
	hf_w_printable(why, c->key);
	return HF_EINVAL;
}

/* Who leaves the key out gets no answer about another one, which would have the kind for its octets. */
static enum hf_err kind_alone(const struct command *c, struct hf_writer *why)
{
	command_quote(why, c->key);
	hf_w_str(why, " is a kind, and its key is missing; a key is written as [KIND:]KEY");
	return HF_EINVAL;
}

/* Without --pool the key must be one of a single pool, or of a single pool that knows the kind that was typed. */
enum hf_err key_find(struct gateway *g, const struct command *c, struct hf_arena *arena, struct key_found *out, struct hf_writer *why)
{
	const struct hf_conf *conf = hf_net_conf(g->net);
	const struct hf_conf_pool *only = NULL;
	unsigned n = 0, typed = 0;
	struct key_found best = {0};
	struct hf_nearest near = {.wanted = hf_bytes_sub(c->key, 0, hf_bytes_find(c->key, ':'))};

	if (kind_of(c->key).n == c->key.n)
		return kind_alone(c, why);
	if (c->pool.n && target_pool(g, c->pool, &only, why) != HF_OK)
		return HF_ENOENT;
	for (unsigned i = 0; i < conf->n_pools; i++) {
		struct key_found f;

		if ((only && only != &conf->pools[i]) || !key_in(g, &conf->pools[i], c->key, arena, &f, &near))
			continue;
		if (is_typed_kind(c, &f) && typed++ == 0)
			best = f;
		if (n++ == 0)
			*out = f;
		else if (n == 2)
			hf_w_printf(why, "this can be a key of several pools; say --pool with one of: %s", out->pool->name);
		if (n > 1)
			hf_w_printf(why, ", %s", conf->pools[i].name);
	}
	if (typed == 1) {
		*out = best;
		why->n = 0; /* what was said of several is for who gets none */
	} else if (typed == 0 && near.n) {
		return no_kind(c, &near, why);
	}
	return n == 1 || typed == 1 ? HF_OK : n ? HF_EEXIST : none(c, why);
}

void list_name(struct hf_engine *e, enum hf_field field, uint16_t id, struct json *j)
{
	struct hf_server_view v;

	if (id != HF_NO_SERVER && hf_engine_server(e, id, &v))
		json_str(j, field, v.name);
	else
		json_null(j, field);
}

enum hf_err list_where(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	static uint8_t memory[ARENA]; /* one command at a time */
	struct hf_arena arena;
	struct key_found f = {0};
	struct hf_where w;
	uint64_t since;
	enum hf_err e;

	hf_arena_init(&arena, memory, sizeof memory);
	e = key_find(g, c, &arena, &f, why);
	if (e != HF_OK)
		return e;
	hf_engine_where_by(f.engine, f.key.fp, f.place.fp, &w, hf_clock_ms());
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
	json_str(j, HF_F_POOL, f.pool->name);
	json_text(j, HF_F_KEY, f.key.text.n ? f.key.text : c->key);
	json_hex(j, HF_F_FINGERPRINT, f.key.fp, HF_FP_BITS / 4);
	if (w.slot == UINT32_MAX)
		json_null(j, HF_F_SLOT);
	else
		json_uint(j, HF_F_SLOT, w.slot);
	list_name(f.engine, HF_F_OWNER, w.owner, j);
	list_name(f.engine, HF_F_SERVER, w.server, j);
	json_str(j, HF_F_WHY, hf_why_name(w.why));
	if (w.server == HF_NO_SERVER)
		json_null(j, HF_F_STATE);
	else
		json_str(j, HF_F_STATE, hf_state_name(hf_engine_state(f.engine, w.server, &since)));
	if (w.known)
		json_uint(j, HF_F_EXPIRES_S, w.expires_s);
	else
		json_null(j, HF_F_EXPIRES_S);
	list_name(f.engine, HF_F_RUNNER_UP, w.runner_up, j);
	json_close(j, '}');
	return HF_OK;
}
