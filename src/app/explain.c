/* `explain`: what would happen with a key or a message, step by step, in fields and in words. The engine and the front's own steps answer
 * (hf_engine_explain, hf_net_explain); here it is only said. Nothing changes. Control thread. */
#include <stdlib.h>

#include "holdfast/clock.h"
#include "json.h"
#include "list.h"
#include "target.h"

#define TEXT 1024 /* octets of a sentence */

static const char *const states[] = {"up", "down", "draining", "off"}; /* enum hf_state, in a sentence */
static const char *const lives[] = {"none", "start", "touch", "linger", "open", "close", "end"}; /* enum hf_life */

struct teller { /* of one story */
	struct json *j;
	struct hf_engine *engine;
	const struct hf_conf_service *service; /* NULL: of a key */
	struct hf_bytes message;
	uint8_t text[TEXT];
	struct hf_writer w;
};

static struct hf_writer *say(struct teller *t)
{
	t->w = hf_writer_on(t->text, sizeof t->text);
	return &t->w;
}

static const char *name_of(struct teller *t, uint16_t id, struct hf_server_view *v)
{
	return id && hf_engine_server(t->engine, id, v) ? v->name : "nobody";
}

/* A sentence that is too long is cut, not lost. */
static void end_step(struct teller *t)
{
	json_text(t->j, HF_F_TEXT, hf_writer_view(&t->w));
	json_close(t->j, '}');
}

static void begin_step(struct teller *t, const char *step)
{
	json_open(t->j, JSON_ITEM, '{');
	json_str(t->j, HF_F_STEP, step);
}

/* ---- what the engine looked at ---- */

static void say_entry(struct hf_writer *w, const struct hf_step *s, const char *what, const char *name)
{
	static const char *const verdicts[] = {
		[HF_VERDICT_TAKEN] = "it decides", [HF_VERDICT_OFF] = "that server is off", [HF_VERDICT_TRIED] = "that server has failed for this session",
		[HF_VERDICT_LEAVES] = "it gives way, as it is renewed while its server is leaving", [HF_VERDICT_STATE] = "that server is down",
		[HF_VERDICT_BOUND] = "", [HF_VERDICT_CAP] = ""};

	if (s->verdict == HF_VERDICT_MISSING)
		hf_w_printf(w, "there is no %s", what);
	else
		hf_w_printf(w, "%s names %s (%s), for %u s more: %s", what, name, states[s->state], s->expires_s, verdicts[s->verdict]);
}

static void say_room(struct hf_writer *w, const struct hf_step *s, const char *name)
{
	hf_w_printf(w, "%s is %s with %u sessions", name, states[s->state], s->sessions);
	if (s->state == HF_STATE_UP && s->cap != UINT32_MAX)
		hf_w_printf(w, " of %u that it may hold now", s->cap);
	switch (s->verdict) {
	case HF_VERDICT_TAKEN: hf_w_str(w, ": taken"); break;
	case HF_VERDICT_STATE: hf_w_str(w, ": passed over, it takes no new sessions"); break;
	case HF_VERDICT_TRIED: hf_w_str(w, ": passed over, it has failed for this session"); break;
	case HF_VERDICT_BOUND: hf_w_str(w, ": passed over, that is its max-sessions"); break;
	case HF_VERDICT_CAP: hf_w_str(w, ": passed over, it is full by load-factor"); break;
	default: hf_w_str(w, ": passed over"); break;
	}
}

static void say_step(struct teller *t, const struct hf_trace *trace, const struct hf_step *s)
{
	struct hf_server_view v;
	const char *name = name_of(t, s->server, &v);
	struct hf_writer *w = say(t);

	switch (s->kind) {
	case HF_STEP_HINT:
		hf_w_printf(w, "the message names %s (%s): %s", name, states[s->state],
			    s->verdict == HF_VERDICT_TAKEN ? "it decides" : s->verdict == HF_VERDICT_OFF ? "that server is off" : "it has failed for this session");
		break;
	case HF_STEP_REF: say_entry(w, s, "entry of the dialog that the message names", name); break;
	case HF_STEP_ENTRY: say_entry(w, s, s->flags & HF_BOND ? "bond of this key" : "entry of this key", name); break;
	case HF_STEP_BOND: say_entry(w, s, "bond of the placing key", name); break;
	case HF_STEP_OWNER:
		hf_w_printf(w, "slot %u belongs to %s", trace->slot, name);
		if (s->server)
			hf_w_str(w, "; "), say_room(w, s, name);
		break;
	case HF_STEP_RIVAL: hf_w_str(w, "next in the slot's order: "), say_room(w, s, name); break;
	case HF_STEP_LAST: hf_w_printf(w, "nobody had room: %s is taken all the same, better than a refusal", name); break;
	default: hf_w_printf(w, s->server ? "the pool's fallback takes %s" : "the pool's fallback finds nobody", name); break;
	}
}

static void tell_step(struct teller *t, const struct hf_trace *trace, const struct hf_step *s)
{
	begin_step(t, hf_step_name(s->kind));
	json_str(t->j, HF_F_VERDICT, hf_verdict_name(s->verdict));
	list_name(t->engine, HF_F_SERVER, s->server, t->j);
	if (s->server) {
		json_str(t->j, HF_F_STATE, hf_state_name(s->state));
		json_uint(t->j, HF_F_SESSIONS, s->sessions);
		if (s->cap != UINT32_MAX)
			json_uint(t->j, HF_F_CAP, s->cap);
	}
	if (s->fp)
		json_hex(t->j, HF_F_FINGERPRINT, s->fp, HF_FP_BITS / 4);
	if (s->fp && s->server)
		json_uint(t->j, HF_F_EXPIRES_S, s->expires_s);
	if (s->kind == HF_STEP_OWNER)
		json_uint(t->j, HF_F_SLOT, trace->slot);
	say_step(t, trace, s);
	end_step(t);
}

static void tell_trace(struct teller *t, const struct hf_trace *trace)
{
	unsigned told = 0;

	for (unsigned i = 0; i < trace->n; i++) {
		bool last_rival = trace->step[i].kind == HF_STEP_RIVAL && (i + 1 == trace->n || trace->step[i + 1].kind != HF_STEP_RIVAL);

		told += trace->step[i].kind == HF_STEP_RIVAL && trace->step[i].verdict != HF_VERDICT_TAKEN;
		if (last_rival && trace->passed > told) {
			begin_step(t, "more");
			json_uint(t->j, HF_F_PASSED, trace->passed - told);
			hf_w_printf(say(t), "%u more in the slot's order, passed over likewise", trace->passed - told);
			end_step(t);
		}
		tell_step(t, trace, &trace->step[i]);
	}
}

/* ---- a key ---- */

static void say_key(struct hf_writer *w, const struct hf_key *k)
{
	if (k->text.n)
		hf_w_escaped(w, k->text);
	else
		hf_w_str(w, "a key");
	hf_w_printf(w, ", fingerprint %015llx", (unsigned long long)k->fp);
}

static void tell_key(struct teller *t, const struct hf_key *k)
{
	begin_step(t, "key");
	if (k->text.n)
		json_text(t->j, HF_F_KEY, k->text);
	json_hex(t->j, HF_F_FINGERPRINT, k->fp, HF_FP_BITS / 4);
	hf_w_str(say(t), "the key is ");
	say_key(&t->w, k);
	end_step(t);
}

static void tell_answer(struct teller *t, const struct hf_answer *a)
{
	list_name(t->engine, HF_F_SERVER, a->server, t->j);
	json_str(t->j, HF_F_WHY, hf_why_name(a->why));
}

static enum hf_err of_key(struct gateway *g, const struct command *c, struct hf_arena *arena, struct json *j, struct hf_writer *why)
{
	struct key_found f = {0};
	enum hf_err e = key_find(g, c, arena, &f, why);
	struct hf_question q = {.key = f.key};
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
	bool fact = a->kind == HF_ACT_DROP && a->end.count_only;

	begin_step(t, fact ? "fact" : a->kind == HF_ACT_CLOSE ? "close" : "drop");
	json_str(t->j, HF_F_REASON, r->name);
	hf_w_printf(say(t), "%s%s (%s)", fact ? "counted: " : a->kind == HF_ACT_CLOSE ? "the connection ends: " : "it ends here: ", r->text, r->name);
	end_step(t);
}

/* An act that net would do. */
static void tell_ask(struct teller *t, const struct hf_note *n)
{
	const struct hf_ask *a = &n->act.ask;
	struct hf_writer *w;

	if (a->key.fp)
		tell_key(t, &a->key);
	if (a->place || a->unplaced) {
		begin_step(t, "place");
		if (a->place)
			json_hex(t->j, HF_F_FINGERPRINT, a->place, HF_FP_BITS / 4);
		w = say(t);
		if (a->place)
			hf_w_printf(w, "a new session is placed by another key, fingerprint %015llx", (unsigned long long)a->place);
		else
			hf_w_str(w, "nothing in the message places a new session: the fallback does");
		end_step(t);
	}
	if ((a->hint || a->hint_addr.family) && !n->server) {
		begin_step(t, "hint");
		json_str(t->j, HF_F_VERDICT, hf_verdict_name(HF_VERDICT_MISSING));
		w = say(t);
		hf_w_printf(w, "its %s names ", hf_why_name(a->hint_why));
		if (a->hint)
			hf_w_printf(w, "a server by number %08x", a->hint);
		else
			hf_w_addr(w, &a->hint_addr);
		hf_w_str(w, ", which is no member of the pool: not heard");
		end_step(t);
	}
	tell_trace(t, &n->trace);
}

static void tell_memory(struct teller *t, struct hf_key key, enum hf_life life, uint32_t life_s, unsigned flags, uint16_t server)
{
	struct hf_server_view v;
	struct hf_writer *w;

	if (life == HF_LIFE_NONE || !key.fp)
		return;
	begin_step(t, "memory");
	json_str(t->j, HF_F_LIFE, lives[life]);
	json_uint(t->j, HF_F_LIFE_S, life_s);
	json_hex(t->j, HF_F_FINGERPRINT, key.fp, HF_FP_BITS / 4);
	w = say(t);
	hf_w_str(w, life == HF_LIFE_END ? "forgotten: " : "remembered: ");
	say_key(w, &key);
	if (server)
		hf_w_printf(w, " at %s", name_of(t, server, &v));
	if (life != HF_LIFE_END)
		hf_w_printf(w, ", for %u s (%s%s%s)", life_s, lives[life], flags & HF_COUNTED ? ", counted" : "", flags & HF_TENTATIVE ? ", until proved" : "");
	end_step(t);
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

	begin_step(t, "send");
	json_str(t->j, HF_F_VERDICT, to[s->to]);
	if (s->to == HF_TO_SERVER)
		list_name(t->engine, HF_F_SERVER, n->server, t->j);
	w = say(t);
	switch (s->to) {
	case HF_TO_SERVER: hf_w_printf(w, "it is sent to %s", n->server ? name_of(t, n->server, &v) : "a server that has left the pool"); break;
	case HF_TO_RETURN:
		hf_w_str(w, "it goes back to the return address that we signed, ");
		hf_w_addr(w, &s->addr);
		say_words(t, s->base);
		break;
	case HF_TO_NEXT_HOP: hf_w_str(w, "it goes out to "), hf_w_addr(w, &s->addr), hf_w_printf(w, " over %s", hf_transport_name(s->transport)); break;
	case HF_TO_FLOW: hf_w_str(w, "it goes to the connection that it names"); break;
	default: hf_w_str(w, "we answer ourselves"), say_words(t, s->base);
	}
	end_step(t);
}

static void tell_note(struct teller *t, const struct hf_note *n)
{
	const struct hf_act *a = &n->act;

	switch (a->kind) {
	case HF_ACT_ASK:
		tell_ask(t, n);
		tell_memory(t, a->ask.key, n->answer.server || a->ask.life == HF_LIFE_END ? a->ask.life : HF_LIFE_NONE, a->ask.life_s, a->ask.flags, n->answer.server);
		break;
	case HF_ACT_SEND: tell_send(t, n); break;
	case HF_ACT_LEARN: tell_memory(t, a->learn.key, a->learn.life, a->learn.life_s, a->learn.flags, n->server); break;
	case HF_ACT_END: tell_memory(t, a->learn.key, HF_LIFE_END, 0, 0, n->server); break;
	case HF_ACT_DROP:
	case HF_ACT_CLOSE: tell_reason(t, a); break;
	case HF_ACT_MORE:
		begin_step(t, "more");
		json_uint(t->j, HF_F_OCTETS, a->need);
		hf_w_printf(say(t), "it is not whole: at least %zu octets are wanted", a->need);
		end_step(t);
		break;
	default: /* HOLD */
		begin_step(t, "hold");
		hf_w_printf(say(t), "it is kept for %u ms", a->hold.ms);
		end_step(t);
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
	struct hf_writer *w = say(&t);

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
		hf_w_str(why, "--from wants an address such as 192.0.2.7 or 192.0.2.7:5060; got ");
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
		hf_w_str(why, "no service of that name, or none with that pool; holdfastctl status lists them");
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
