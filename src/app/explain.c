/* `explain`: what would happen with a key or a message, step by step, in fields and in words. The engine and the front's own steps answer
 * (hf_engine_explain, hf_net_explain); here it is only said. Nothing changes. Control thread. */
#include <stdlib.h>

#include "holdfast/clock.h"
#include "json.h"
#include "list.h"
#include "target.h"
#include "tell.h"

static const char *const lives[] = {"none", "start", "touch", "linger", "open", "close", "end"}; /* enum hf_life */

static void tell_why(struct teller *t, const char *step, const char *words, const struct hf_reason_def *r)
{
	tell_begin(t, step);
	json_str(t->j, HF_F_REASON, r->name);
	hf_w_printf(tell_say(t), "%s%s (%s)", words, r->text, r->name);
	tell_end(t);
}

static void tell_fact(struct teller *t, const struct hf_reason_def *r) { tell_why(t, "fact", "counted: ", r); }

/* ---- a key ---- */

static enum hf_err of_key(struct gateway *g, const struct command *c, struct hf_arena *arena, struct json *j, struct hf_writer *why)
{
	struct key_found f = {0};
	enum hf_err e = key_find(g, c, arena, &f, why);
	struct hf_question q = {.key = f.key, .life = HF_LIFE_START};
	struct teller t = {.j = j, .engine = f.engine};
	struct hf_answer a;
	struct hf_trace trace;

	if (e != HF_OK)
		return e;
	hf_engine_explain(f.engine, &q, &a, &trace, hf_clock_ms());
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
	json_open(j, HF_F_STORIES, '[');
	json_open(j, JSON_ITEM, '{');
	json_str(j, HF_F_POOL, f.pool->name);
	json_open(j, HF_F_STEPS, '[');
	tell_key(&t, &f.key);
	tell_trace(&t, &trace);
	if (a.full)
		tell_fact(&t, &hf_reasons[HF_R_ENTRIES_FULL]);
	json_close(j, ']');
	tell_answer(&t, &a);
	json_close(j, '}');
	json_close(j, ']');
	json_close(j, '}');
	return HF_OK;
}

/* ---- a message ---- */

static const struct hf_reason_def *reason_of(const struct hf_front *f, unsigned r)
{
	static const struct hf_reason_def none = {"unknown", "a reason without a name"};

	if (r >= HF_REASON_FRONT && r - HF_REASON_FRONT < f->n_reasons)
		return &f->reasons[r - HF_REASON_FRONT];
	return r < HF_R_COUNT ? &hf_reasons[r] : &none;
}

static void tell_reason(struct teller *t, const struct hf_act *a)
{
	const struct hf_reason_def *r = reason_of(t->service->front, a->end.reason);

	if (a->kind == HF_ACT_DROP && a->end.count_only)
		tell_fact(t, r);
	else if (a->kind == HF_ACT_CLOSE)
		tell_why(t, "close", "the connection ends: ", r);
	else
		tell_why(t, "drop", "it ends here: ", r);
}

static void say_place(struct hf_writer *w, const struct hf_ask *a)
{
	if (!a->place_octets.n) {
		hf_w_str(w, "another key");
		return;
	}
	hf_w_escaped(w, a->place_kind);
	hf_w_str(w, ":");
	hf_w_escaped(w, hf_bytes_sub(a->place_octets, 0, 128));
}

static void tell_ask(struct teller *t, const struct hf_note *n)
{
	const struct hf_ask *a = &n->act.ask;
	struct hf_writer *w;

	if (a->key.fp)
		tell_key(t, &a->key);
	if (a->place || a->unplaced) {
		tell_begin(t, "place");
		if (a->place)
			json_hex(t->j, HF_F_FINGERPRINT, a->place, HF_FP_BITS / 4);
		w = tell_say(t);
		if (a->place) {
			hf_w_str(w, "a new session is placed by ");
			say_place(w, a);
			hf_w_printf(w, ", fingerprint %015llx", (unsigned long long)a->place);
		}
		if (!a->place)
			hf_w_str(w, "nothing in the message places a new session: the fallback does");
		tell_end(t);
	}
	if ((a->hint || a->hint_addr.family) && !n->server) {
		tell_begin(t, "hint");
		json_str(t->j, HF_F_VERDICT, hf_verdict_name(HF_VERDICT_MISSING));
		w = tell_say(t);
		hf_w_printf(w, "its %s names ", hf_why_name(a->hint_why));
		if (a->hint)
			hf_w_printf(w, "a server by number %08x", a->hint);
		else
			hf_w_addr(w, &a->hint_addr);
		hf_w_str(w, ", which is no member of the pool: not heard");
		tell_end(t);
	}
	t->place = a->place;
	tell_trace(t, &n->trace);
}

static void tell_memory(struct teller *t, struct hf_key key, enum hf_life life, uint32_t life_s, unsigned flags, uint16_t server)
{
	struct hf_server_view v;
	struct hf_writer *w;

	if (life == HF_LIFE_NONE || !key.fp)
		return;
	tell_begin(t, "memory");
	json_str(t->j, HF_F_LIFE, lives[life]);
	json_uint(t->j, HF_F_LIFE_S, life_s);
	json_hex(t->j, HF_F_FINGERPRINT, key.fp, HF_FP_BITS / 4);
	w = tell_say(t);
	hf_w_str(w, life == HF_LIFE_END ? "forgotten: " : "remembered: ");
	tell_key_text(w, &key);
	if (server)
		hf_w_printf(w, " at %s", tell_name(t, server, &v));
	if (life != HF_LIFE_END)
		hf_w_printf(w, ", for %u s (%s%s%s)", life_s, lives[life], flags & HF_COUNTED ? ", counted" : "", flags & HF_TENTATIVE ? ", until proved" : "");
	tell_end(t);
}

/* The first line of what we would say ourselves, if it is text and no part of the message. */
static void say_words(struct teller *t, struct hf_bytes b)
{
	struct hf_bytes line = hf_bytes_sub(b, 0, hf_bytes_find(b, '\r'));
	uintptr_t at = (uintptr_t)b.p, from = (uintptr_t)t->message.p;
	struct hf_writer *w = &t->w;

	if (!b.p || (at >= from && at < from + t->message.n))
		return;
	for (size_t i = 0; i < line.n; i++)
		if (line.p[i] < 0x20 || line.p[i] > 0x7e)
			line.n = 0;
	if (line.n)
		hf_w_str(w, ", our own words: "), hf_w_escaped(w, hf_bytes_sub(line, 0, 80));
}

static void tell_send(struct teller *t, const struct hf_note *n)
{
	static const char *const to[] = {[HF_TO_SERVER] = "server", [HF_TO_CLIENT] = "client", [HF_TO_SOURCE] = "source", [HF_TO_RETURN] = "return",
		[HF_TO_NEXT_HOP] = "next-hop", [HF_TO_FLOW] = "flow"};
	const struct hf_send *s = &n->act.send;
	struct hf_server_view v;
	struct hf_writer *w;

	tell_begin(t, "send");
	json_str(t->j, HF_F_VERDICT, to[s->to]);
	if (s->to == HF_TO_SERVER)
		list_name(t->engine, HF_F_SERVER, n->server, t->j);
	w = tell_say(t);
	switch (s->to) {
	case HF_TO_SERVER: hf_w_printf(w, "it is sent to %s", n->server ? tell_name(t, n->server, &v) : "a server that has left the pool"); break;
	case HF_TO_RETURN:
		hf_w_str(w, "it goes back to the return address that we signed, ");
		hf_w_addr(w, &s->addr);
		say_words(t, s->base);
		break;
	case HF_TO_NEXT_HOP: hf_w_str(w, "it goes out to "), hf_w_addr(w, &s->addr), hf_w_printf(w, " over %s", hf_transport_name(s->transport)); break;
	case HF_TO_FLOW: hf_w_str(w, "it goes to the connection that it names"); break;
	default: hf_w_str(w, "we answer ourselves"), say_words(t, s->base);
	}
	tell_end(t);
}

/* Whether what is asked for of the key's entry comes to be. */
static bool is_kept(const struct hf_note *n)
{
	return n->act.ask.life == HF_LIFE_END || (n->answer.server && !n->answer.full && !n->answer.over);
}

static void tell_note(struct teller *t, const struct hf_note *n)
{
	const struct hf_act *a = &n->act;

	switch (a->kind) {
	case HF_ACT_ASK:
		tell_ask(t, n);
		tell_memory(t, a->ask.key, is_kept(n) ? a->ask.life : HF_LIFE_NONE, a->ask.life_s, a->ask.flags, n->answer.server);
		break;
	case HF_ACT_SEND: tell_send(t, n); break;
	case HF_ACT_LEARN: tell_memory(t, a->learn.key, a->learn.life, a->learn.life_s, a->learn.flags, n->server); break;
	case HF_ACT_END: tell_memory(t, a->learn.key, HF_LIFE_END, 0, 0, n->server); break;
	case HF_ACT_DROP:
	case HF_ACT_CLOSE: tell_reason(t, a); break;
	case HF_ACT_MORE:
		tell_begin(t, "more");
		json_uint(t->j, HF_F_OCTETS, a->need);
		hf_w_printf(tell_say(t), "it is not whole: at least %zu octets are wanted", a->need);
		tell_end(t);
		break;
	default: /* HOLD */
		tell_begin(t, "hold");
		hf_w_printf(tell_say(t), "a copy is kept, and looked at again in %u ms if nothing has come back", a->hold.ms);
		tell_end(t);
	}
}

/* Does the service do anything with it but end it? */
static bool is_taken(const struct hf_story *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->note[i].act.kind == HF_ACT_ASK || s->note[i].act.kind == HF_ACT_SEND)
			return true;
	return false;
}

static void tell_story(struct gateway *g, const struct hf_story *s, struct hf_bytes message, struct json *j)
{
	struct teller t = {.j = j, .engine = hf_net_engine(g->net, s->service->pool->name), .service = s->service, .message = message};
	const struct hf_answer *a = NULL;
	struct hf_writer *w = tell_say(&t);

	json_open(j, JSON_ITEM, '{');
	json_str(j, HF_F_SERVICE, s->service->name);
	json_str(j, HF_F_PROTOCOL, s->service->front->name);
	json_str(j, HF_F_POOL, s->service->pool->name);
	hf_w_addr(w, &s->from);
	json_text(j, HF_F_FROM, hf_writer_view(w));
	json_str(j, HF_F_TRANSPORT, hf_transport_name(s->transport));
	json_text(j, HF_F_LISTEN, s->listener->uri);
	json_open(j, HF_F_STEPS, '[');
	for (unsigned i = 0; i < s->n; i++) {
		tell_note(&t, &s->note[i]);
		if (s->note[i].act.kind == HF_ACT_ASK)
			a = &s->note[i].answer;
	}
	if (s->cut) {
		tell_begin(&t, "more");
		hf_w_str(tell_say(&t), "there was more before the last step than is kept");
		tell_end(&t);
	}
	json_close(j, ']');
	if (a)
		tell_answer(&t, a);
	json_close(j, '}');
}

/* ---- which services ---- */

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

static bool is_meant(const struct command *c, const struct hf_conf_service *s)
{
	return (!c->service.n || hf_bytes_eq(c->service, hf_bytes_str(s->name))) && (!c->pool.n || hf_bytes_eq(c->pool, hf_bytes_str(s->pool->name)));
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
			tell_story(g, &s, q->message, j);
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
