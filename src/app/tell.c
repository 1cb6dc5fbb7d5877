/* A decision's steps in fields and in words; see tell.h. It judges nothing. */
#include "tell.h"

#include <stdio.h>

#include "json.h"
#include "list.h"

static const char *const states[] = {"up", "down", "draining", "off"}; /* enum hf_state, in a sentence */

struct hf_writer *tell_say(struct teller *t)
{
	t->w = hf_writer_on(t->text, sizeof t->text);
	return &t->w;
}

const char *tell_name(struct teller *t, uint16_t id, struct hf_server_view *v)
{
	return id && hf_engine_server(t->engine, id, v) ? v->name : "nobody";
}

/* A sentence that is too long is cut, not lost. */
void tell_end(struct teller *t)
{
	json_text(t->j, HF_F_TEXT, hf_writer_view(&t->w));
	json_close(t->j, '}');
}

void tell_begin(struct teller *t, const char *step)
{
	json_open(t->j, JSON_ITEM, '{');
	json_str(t->j, HF_F_STEP, step);
}

/* ---- what the engine looked at ---- */

static void say_entry(struct hf_writer *w, const struct hf_step *s, const char *what, const char *name)
{
	static const char *const verdicts[] = {
		[HF_VERDICT_TAKEN] = "it decides", [HF_VERDICT_OFF] = "that server is off", [HF_VERDICT_TRIED] = "that server was tried, and failed",
		[HF_VERDICT_LEAVES] = "it gives way, as it is renewed while its server is leaving", [HF_VERDICT_STATE] = "that server is down",
		[HF_VERDICT_FLOWS] = "as many live connections go by it as may, so that this one is another key's",
		[HF_VERDICT_SOURCES] = "the name is live from as many sources as may, or was, so that who comes from here has a key of his own",
		[HF_VERDICT_BOUND] = "", [HF_VERDICT_RATE] = "", [HF_VERDICT_CAP] = ""};

	if (s->verdict == HF_VERDICT_MISSING)
		hf_w_printf(w, "there is no %s", what);
	else
		hf_w_printf(w, "%s names %s (%s), for %u s more: %s", what, name, states[s->state], s->expires_s,
			    s->verdict == HF_VERDICT_TAKEN && s->state == HF_STATE_DOWN ? "it decides, though it is down" : verdicts[s->verdict]);
}

#define AGENT_MARKS (1u << HF_MARK_AGENT_DOWN | 1u << HF_MARK_AGENT_DRAIN | 1u << HF_MARK_AGENT_OFF)

static void say_room(struct hf_writer *w, const struct hf_step *s, const char *name, unsigned marks)
{
	hf_w_printf(w, "%s is %s with %u sessions", name, states[s->state], s->sessions);
	if (s->state == HF_STATE_UP && s->cap != UINT32_MAX)
		hf_w_printf(w, " of %u that it may hold now", s->cap);
	switch (s->verdict) {
	case HF_VERDICT_TAKEN: hf_w_str(w, ": taken"); break;
	case HF_VERDICT_STATE: hf_w_printf(w, ": passed over, it takes no new sessions%s", marks & AGENT_MARKS ? ", its agent says" : ""); break;
	case HF_VERDICT_TRIED: hf_w_str(w, ": passed over, it was tried and failed"); break;
	case HF_VERDICT_BOUND: hf_w_str(w, ": passed over, that is its max-sessions"); break;
	case HF_VERDICT_RATE: hf_w_str(w, ": passed over, it has had its max-cps in this second"); break;
	case HF_VERDICT_CAP: hf_w_str(w, ": passed over, it is full by load-factor"); break;
	default: hf_w_str(w, ": passed over"); break;
	}
}

static void say_step(struct teller *t, const struct hf_trace *trace, const struct hf_step *s)
{
	struct hf_server_view v = {0};
	const char *name = tell_name(t, s->server, &v);
	struct hf_writer *w = tell_say(t);
	char second[80];

	switch (s->kind) {
	case HF_STEP_HINT:
		hf_w_printf(w, "the message names %s (%s): %s", name, states[s->state],
			    s->verdict == HF_VERDICT_TAKEN ? "it decides" : s->verdict == HF_VERDICT_OFF ? "that server is off" : "it was tried, and failed");
		break;
	case HF_STEP_REF: say_entry(w, s, "entry of the dialog that the message names", name); break;
	case HF_STEP_ENTRY: say_entry(w, s, s->flags & HF_BOND ? "bond of this key" : "entry of this key", name); break;
	case HF_STEP_BOND:
		snprintf(second, sizeof second, "bond of the second placing key (fingerprint %015llx)", (unsigned long long)s->fp);
		say_entry(w, s, t->place && s->fp != t->place ? second : "bond of the placing key", name);
		break;
	case HF_STEP_OWNER:
		hf_w_printf(w, "slot %u belongs to %s", trace->slot, name);
		if (s->server)
			hf_w_str(w, "; "), say_room(w, s, name, v.marks);
		break;
	case HF_STEP_RIVAL: hf_w_str(w, "next in the slot's order: "), say_room(w, s, name, v.marks); break;
	case HF_STEP_BALANCE: hf_w_str(w, "the pool's balance comes to it: "), say_room(w, s, name, v.marks); break;
	case HF_STEP_LAST: hf_w_printf(w, "nobody had room: %s is taken all the same, better than a refusal", name); break;
	default: hf_w_printf(w, s->server ? "the pool's fallback takes %s" : "the pool's fallback finds nobody", name); break;
	}
}

static void tell_step(struct teller *t, const struct hf_trace *trace, const struct hf_step *s)
{
	tell_begin(t, hf_step_name(s->kind));
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
	tell_end(t);
}

void tell_trace(struct teller *t, const struct hf_trace *trace)
{
	unsigned told = 0;

	for (unsigned i = 0; i < trace->n; i++) {
		bool last_rival = trace->step[i].kind == HF_STEP_RIVAL && (i + 1 == trace->n || trace->step[i + 1].kind != HF_STEP_RIVAL);

		told += trace->step[i].kind == HF_STEP_RIVAL && trace->step[i].verdict != HF_VERDICT_TAKEN;
		if (last_rival && trace->passed > told) {
			tell_begin(t, "more");
			json_uint(t->j, HF_F_PASSED, trace->passed - told);
			hf_w_printf(tell_say(t), "%u more in the slot's order, passed over likewise", trace->passed - told);
			tell_end(t);
		}
		tell_step(t, trace, &trace->step[i]);
	}
}

void tell_key_text(struct hf_writer *w, const struct hf_key *k)
{
	if (k->text.n)
		hf_w_printable(w, k->text);
	else
		hf_w_str(w, "a key");
	hf_w_printf(w, ", fingerprint %015llx", (unsigned long long)k->fp);
}

void tell_key(struct teller *t, const struct hf_key *k)
{
	tell_begin(t, "key");
	if (k->text.n)
		json_text(t->j, HF_F_KEY, k->text);
	json_hex(t->j, HF_F_FINGERPRINT, k->fp, HF_FP_BITS / 4);
	hf_w_str(tell_say(t), "the key is ");
	tell_key_text(&t->w, k);
	tell_end(t);
}

void tell_answer(struct teller *t, const struct hf_answer *a)
{
	list_name(t->engine, HF_F_SERVER, a->server, t->j);
	json_str(t->j, HF_F_WHY, hf_why_name(a->why));
}
