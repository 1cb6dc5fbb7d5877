/* The story of a message: each act that its front came to, as a step in fields and in words; what the engine looked at for it is tell.c's. It
 * decides nothing and does nothing. explain.c calls it, on the control thread. */
#include "story.h"

#include "json.h"
#include "list.h"

static const char *const lives[] = {"none", "start", "touch", "linger", "open", "close", "end"}; /* enum hf_life */

static void say_why(struct teller *t, const char *step, const char *words, const struct hf_reason_def *r)
{
	tell_begin(t, step);
	json_str(t->j, HF_F_REASON, r->name);
	hf_w_printf(tell_say(t), "%s%s (%s)", words, r->text, r->name);
	tell_end(t);
}

void story_fact(struct teller *t, const struct hf_reason_def *r) { say_why(t, "fact", "counted: ", r); }

static const struct hf_reason_def *reason_of(const struct hf_front *f, unsigned r)
{
	static const struct hf_reason_def none = {"unknown", "a reason without a name"};

	if (r >= HF_REASON_FRONT && r - HF_REASON_FRONT < f->n_reasons)
		return &f->reasons[r - HF_REASON_FRONT];
	return r < HF_R_COUNT ? &hf_reasons[r] : &none;
}

static void say_reason(struct teller *t, const struct hf_act *a)
{
	const struct hf_reason_def *r = reason_of(t->service->front, a->end.reason);

	if (a->kind == HF_ACT_DROP && a->end.count_only)
		story_fact(t, r);
	else if (a->kind == HF_ACT_CLOSE)
		say_why(t, "close", "the connection ends: ", r);
	else
		say_why(t, "drop", "it ends here: ", r);
}

static void say_place(struct hf_writer *w, const struct hf_ask *a)
{
	if (!a->place_octets.n) {
		hf_w_str(w, "another key");
		return;
	}
	hf_w_printable(w, a->place_kind);
	hf_w_str(w, ":");
	hf_w_printable(w, hf_bytes_sub(a->place_octets, 0, 128));
}

/* A datagram that would open a flow; if there is no server for it, the next step says why. */
static void say_beside(struct teller *t, const struct hf_note *n)
{
	struct hf_server_view v;

	if (!n->answer.server)
		return;
	tell_begin(t, "session");
	list_name(t->engine, HF_F_SERVER, n->answer.server, t->j);
	hf_w_printf(tell_say(t), "it belongs to a live session at %s, and goes there with all that follows", tell_name(t, n->answer.server, &v));
	tell_end(t);
}

static void say_ask(struct teller *t, const struct hf_note *n)
{
	const struct hf_ask *a = &n->act.ask;
	struct hf_server_view v;
	struct hf_writer *w;

	if (hf_ask_is_beside(a)) {
		say_beside(t, n);
		return;
	}
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
		hf_w_str(w, ", which is no member of the pool");
		if (n->near)
			hf_w_printf(w, " (%s has that address with port %u)", tell_name(t, n->near, &v), n->near_port);
		hf_w_str(w, ": not heard");
		tell_end(t);
	}
	t->place = a->place;
	tell_trace(t, &n->trace);
}

static void say_memory(struct teller *t, struct hf_key key, enum hf_life life, uint32_t life_s, unsigned flags, uint16_t server)
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
		hf_w_str(w, ", our own words: "), hf_w_printable(w, hf_bytes_sub(line, 0, 80));
}

static void say_send(struct teller *t, const struct hf_note *n)
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

static void say_note(struct teller *t, const struct hf_note *n)
{
	const struct hf_act *a = &n->act;

	switch (a->kind) {
	case HF_ACT_ASK:
		say_ask(t, n);
		say_memory(t, a->ask.key, is_kept(n) ? a->ask.life : HF_LIFE_NONE, a->ask.life_s, a->ask.flags, n->answer.server);
		break;
	case HF_ACT_SEND: say_send(t, n); break;
	case HF_ACT_SEEK:
		tell_begin(t, "seek");
		hf_w_str(tell_say(t), "its next hop is a name, which a name server would be asked for: ");
		hf_w_printable(&t->w, hf_bytes_sub(a->seek.host, 0, 128));
		tell_end(t);
		break;
	case HF_ACT_LEARN: say_memory(t, a->learn.key, a->learn.life, a->learn.life_s, a->learn.flags, n->server); break;
	case HF_ACT_END: say_memory(t, a->learn.key, HF_LIFE_END, 0, 0, n->server); break;
	case HF_ACT_DROP:
	case HF_ACT_CLOSE: say_reason(t, a); break;
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

void story_tell(struct gateway *g, const struct hf_story *s, struct hf_bytes message, struct json *j)
{
	struct teller t = {.j = j, .engine = hf_net_engine(g->net, s->pool->name), .service = s->service, .message = message};
	const struct hf_answer *a = NULL;
	struct hf_writer *w = tell_say(&t);

	json_open(j, JSON_ITEM, '{');
	json_str(j, HF_F_SERVICE, s->service->name);
	json_str(j, HF_F_PROTOCOL, s->service->front->name);
	json_str(j, HF_F_POOL, s->pool->name);
	hf_w_addr(w, &s->from);
	json_text(j, HF_F_FROM, hf_writer_view(w));
	json_str(j, HF_F_TRANSPORT, hf_transport_name(s->transport));
	json_text(j, HF_F_LISTEN, s->listener->uri);
	json_open(j, HF_F_STEPS, '[');
	if (s->remark) {
		tell_begin(&t, "message");
		hf_w_str(tell_say(&t), s->remark);
		tell_end(&t);
	}
	for (unsigned i = 0; i < s->n; i++) {
		say_note(&t, &s->note[i]);
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
