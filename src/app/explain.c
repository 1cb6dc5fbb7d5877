/* `explain`: what would happen with a key or a message, step by step, in fields and in words. The engine and the front's own steps answer
 * (hf_engine_explain, hf_net_explain); here, in story.c and in tell.c it is only said. Nothing changes. Control thread. */
#include <stdlib.h>

#include "holdfast/clock.h"
#include "json.h"
#include "list.h"
#include "story.h"
#include "target.h"

/* ---- a key ---- */

/* What places a new session of the key, where that is not the key itself. */
static void tell_place(struct teller *t, const struct key_found *f)
{
	struct hf_writer *w;

	if (f->place.fp == f->key.fp)
		return;
	tell_begin(t, "place");
	if (f->place.fp)
		json_hex(t->j, HF_F_FINGERPRINT, f->place.fp, HF_FP_BITS / 4);
	w = tell_say(t);
	hf_w_str(w, f->place.fp ? "a new session is placed by " : "nothing in the key places a new session, as the service's key says: the fallback does");
	hf_w_printable(w, f->place.text);
	if (f->place.fp)
		hf_w_printf(w, ", fingerprint %015llx", (unsigned long long)f->place.fp);
	tell_end(t);
	t->place = f->place.fp;
}

static enum hf_err of_key(struct gateway *g, const struct command *c, struct hf_arena *arena, struct json *j, struct hf_writer *why)
{
	struct key_found f = {0};
	enum hf_err e = key_find(g, c, arena, &f, why);
	struct hf_question q = {.life = HF_LIFE_START};
	struct teller t = {.j = j, .engine = f.engine};
	struct hf_answer a;
	struct hf_trace trace;

	if (e != HF_OK)
		return e;
	q.key = f.key;
	q.place = f.place.fp;
	q.unplaced = !f.place.fp;
	hf_engine_explain(f.engine, &q, &a, &trace, hf_clock_ms());
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
	json_open(j, HF_F_STORIES, '[');
	json_open(j, JSON_ITEM, '{');
	json_str(j, HF_F_POOL, f.pool->name);
	json_open(j, HF_F_STEPS, '[');
	tell_key(&t, &f.key);
	tell_place(&t, &f);
	tell_trace(&t, &trace);
	if (a.full)
		story_fact(&t, &hf_reasons[HF_R_ENTRIES_FULL]);
	json_close(j, ']');
	tell_answer(&t, &a);
	json_close(j, '}');
	json_close(j, ']');
	json_close(j, '}');
	return HF_OK;
}

/* ---- a message, and which services ---- */

struct asked { /* what the words of a message's question mean */
	struct hf_bytes message;
	struct hf_addr from;
	enum hf_transport via;
};

static enum hf_err read_asked(const struct command *c, uint8_t *octets, struct asked *out, struct hf_writer *why)
{
	size_t n = c->message.n / 2;

	*out = (struct asked){.message = hf_bytes_of(octets, n), .via = HF_TRANSPORTS};
	if (n > COMMAND_MESSAGE_MAX || hf_read_hex(c->message, octets, n) != HF_OK) {
		hf_w_printf(why, "a message is written as hex digits, two an octet, at most %u octets", COMMAND_MESSAGE_MAX);
		return HF_EINVAL;
	}
	if (c->from.n && (hf_addr_read(c->from, 40000, &out->from) != HF_OK)) {
		hf_w_str(why, "--from wants an address such as 192.0.2.7 or 192.0.2.7:9; got ");
		command_quote(why, c->from);
		return HF_EINVAL;
	}
	if (c->via.n && !hf_transport_read(c->via, &out->via)) {
		hf_w_str(why, "--via wants udp, tcp, tls, ws or wss; got ");
		command_quote(why, c->via);
		return HF_EINVAL;
	}
	return HF_OK;
}

/* Does the service do anything with it but end it? */
static bool is_taken(const struct hf_story *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->note[i].act.kind == HF_ACT_ASK || s->note[i].act.kind == HF_ACT_SEND)
			return true;
	return false;
}

static bool has_pool(const struct hf_conf_service *s, struct hf_bytes name)
{
	for (unsigned i = 0; i < s->n_choices; i++)
		if (hf_bytes_eq(name, hf_bytes_str(s->choices[i].pool->name)))
			return true;
	return false;
}

static bool is_meant(const struct command *c, const struct hf_conf_service *s)
{
	return (!c->service.n || hf_bytes_eq(c->service, hf_bytes_str(s->name))) && (!c->pool.n || has_pool(s, c->pool));
}

/* All services that are meant, or only those that would take it, when there are any. Without j they are only counted. */
static unsigned tell_stories(struct gateway *g, const struct command *c, const struct asked *q, struct hf_arena *arena, bool only_taken, struct json *j)
{
	static struct hf_story s; /* one command at a time */
	unsigned n = 0;

	for (unsigned i = 0; i < hf_net_conf(g->net)->n_services; i++) {
		hf_arena_reset(arena);
		if (!is_meant(c, &hf_net_conf(g->net)->services[i]) || !hf_net_explain(g->net, i, q->message, &q->from, q->via, arena, &s))
			continue;
		if (only_taken && !is_taken(&s))
			continue;
		n++;
		if (j)
			story_tell(g, &s, q->message, j);
	}
	return n;
}

static enum hf_err of_message(struct gateway *g, const struct command *c, struct hf_arena *arena, uint8_t *octets, struct json *j, struct hf_writer *why)
{
	struct asked q;
	enum hf_err e = read_asked(c, octets, &q, why);
	bool any;

	if (e != HF_OK)
		return e;
	if (!tell_stories(g, c, &q, arena, false, NULL)) {
		hf_w_str(why, "no service of that name, pool and transport; holdfastctl status lists them");
		return HF_ENOENT;
	}
	any = tell_stories(g, c, &q, arena, true, NULL) != 0;
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
	json_open(j, HF_F_STORIES, '[');
	tell_stories(g, c, &q, arena, any, j);
	json_close(j, ']');
	json_close(j, '}');
	return HF_OK;
}

enum hf_err explain(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	uint8_t *memory = malloc(HF_EXPLAIN_ARENA + COMMAND_MESSAGE_MAX);
	struct hf_arena arena;
	enum hf_err e;

	if (!memory)
		return HF_ENOMEM;
	hf_arena_init(&arena, memory, HF_EXPLAIN_ARENA);
	e = c->message.n ? of_message(g, c, &arena, memory + HF_EXPLAIN_ARENA, j, why) : of_key(g, c, &arena, j, why);
	free(memory);
	return e;
}
