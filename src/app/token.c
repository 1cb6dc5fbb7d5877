/* `token`: a signed token of a user, a server or both, as clients take it. The front writes it; nothing changes. Its text is nobody's secret,
 * but who has it is taken for that user, so that no log repeats it. */
#include "holdfast/clock.h"
#include "holdfast/hash.h"
#include "json.h"
#include "list.h"
#include "target.h"

#define ARENA 1024u /* fronts write into the answer */
#define TOKEN_MAX 512u

struct issuer { /* whose pool it is */
	const struct hf_conf_pool *pool;
	const struct hf_conf_service *service;
	struct hf_ctx ctx;
};

static bool issues(struct gateway *g, const struct hf_conf_pool *p, struct hf_arena *arena, struct issuer *out)
{
	struct issuer i = {.pool = p};

	if (!hf_net_ctx(g->net, p->name, arena, &i.ctx, &i.service) || !i.service->front->token_write ||
		strcmp(i.service->pool->name, p->name) != 0) /* a token is read before another pool is chosen */
		return false;
	*out = i;
	return true;
}

/* Without --pool and --server it must be the only pool whose protocol has tokens. */
static enum hf_err find(struct gateway *g, const struct hf_conf_pool *only, struct hf_arena *arena, struct issuer *out, struct hf_writer *why)
{
	const struct hf_conf *conf = hf_net_conf(g->net);
	unsigned n = 0;

	for (unsigned i = 0; i < conf->n_pools; i++) {
		struct issuer found;

		if ((only && only != &conf->pools[i]) || !issues(g, &conf->pools[i], arena, &found))
			continue;
		if (n++ == 0)
			*out = found;
		else
			hf_w_printf(why, n == 2 ? "several pools have tokens; say --pool with one of: %s, %s" : ", %s%.0s", n == 2 ? out->pool->name : found.pool->name, found.pool->name);
	}
	if (n == 0)
		hf_w_str(why, only ? "no service whose pool it is has a protocol with tokens" : "no pool has a protocol with tokens");
	return n == 1 ? HF_OK : n ? HF_EEXIST : HF_ENOENT;
}

static enum hf_err refuse(enum hf_err e, const struct command *c, struct hf_writer *why)
{
	if (e == HF_OK)
		return HF_OK;
	command_quote(why, c->user);
	hf_w_str(why, e == HF_EINVAL ? " names no user once its domain is taken off" : " is too long for a token");
	return e;
}

static void tell(const struct issuer *i, const struct command *c, const char *server, struct hf_bytes text, struct json *j)
{
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
	json_str(j, HF_F_POOL, i->pool->name);
	if (c->user.n)
		json_text(j, HF_F_USER, c->user);
	else
		json_null(j, HF_F_USER);
	if (server)
		json_str(j, HF_F_SERVER, server);
	else
		json_null(j, HF_F_SERVER);
	json_uint(j, HF_F_EXPIRES_S, c->ttl_s);
	json_text(j, HF_F_TOKEN, text);
	json_close(j, '}');
}

enum hf_err token(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	uint8_t memory[ARENA], text[TOKEN_MAX];
	struct hf_writer w = hf_writer_on(text, sizeof text);
	const struct hf_conf_pool *pool = NULL;
	struct hf_token t = {.user = c->user, .until_s = hf_clock_unix_ms() / 1000 + c->ttl_s};
	struct target at = {0};
	struct hf_arena arena;
	struct issuer i;
	enum hf_err e = HF_OK;

	if (c->server.n)
		e = target_find(g, c, &at, why);
	else if (c->pool.n)
		e = target_pool(g, c->pool, &pool, why);
	if (e != HF_OK)
		return e;
	hf_arena_init(&arena, memory, sizeof memory);
	e = find(g, c->server.n ? at.pool : pool, &arena, &i, why);
	if (e != HF_OK)
		return e;
	if (c->server.n)
		t.server = hf_server_hash(i.ctx.site->hash_key, hf_bytes_str(i.pool->name), hf_bytes_str(at.view.name));
	e = refuse(i.service->front->token_write(&i.ctx, &t, &w), c, why);
	if (e == HF_OK)
		tell(&i, c, c->server.n ? at.view.name : NULL, hf_writer_view(&w), j);
	return e;
}
