/* A connection on a bench: octets come in pieces of any size, messages are taken off as net does it, and all that comes of them is noted. */
#ifndef STREAM_KIT_H
#define STREAM_KIT_H

#include "front_kit.h"

enum { LINE_ROOM = 1 << 17, LINE_NOTES = 1 << 18 };

struct line {
	struct kit *k;
	struct hf_event ev;        /* what each event of it has */
	uint8_t state[HF_FLOW_STATE];
	uint8_t *in;
	size_t n, need;
	bool closed;
	unsigned n_sent, n_steps;
	char *notes;               /* of all sends and ends, in order */
	size_t notes_n;
};

/* A connection that `listener` took from `source`. */
static inline void line_open(struct line *l, struct kit *k, const struct hf_listener_info *listener, const char *source, uint32_t slot)
{
	uint8_t *in = l->in ? l->in : malloc(LINE_ROOM);
	char *notes = l->notes ? l->notes : malloc(LINE_NOTES);

	notes[0] = 0;
	*l = (struct line){.k = k, .in = in, .notes = notes};
	l->ev = (struct hf_event){.kind = HF_EV_BYTES, .side = HF_CLIENT, .listener = listener, .source = kit_addr(source), .local = listener->addr, .transport = HF_TCP,
				  .flow_name = {1, slot, 7, k->site.boot}};
}

/* One that net dialled to a member; `out`: the listener that takes what comes back otherwise. */
static inline void line_dialled(struct line *l, struct kit *k, const struct hf_listener_info *out, const char *addr, const char *name, uint32_t slot)
{
	line_open(l, k, out, addr, slot);
	l->ev.local = kit_addr("192.0.2.1:45000");
	l->ev.member = kit_server(k, name);
	l->ev.from_servers = true;
}

static inline void line_close(struct line *l)
{
	free(l->in);
	free(l->notes);
	l->in = NULL;
	l->notes = NULL;
}

static inline void line_note(struct line *l)
{
	struct kit *k = l->k;
	struct hf_writer w = hf_writer_on(l->notes + l->notes_n, LINE_NOTES - 1 - l->notes_n);

	if (k->n_sent)
		hf_w_printf(&w, "[to=%u server=%u listener=%u port=%u transport=%u flow=%u/%u/%u/%u]\n", k->send.to, k->send.server, k->send.listener, k->send.addr.port,
			    k->send.transport, k->send.flow.worker, k->send.flow.slot, k->send.flow.generation, k->send.flow.boot);
	hf_w_mem(&w, k->out, k->out_n);
	if (k->n_asked)
		hf_w_printf(&w, "[asked %llu hint=%u life=%d]\n", (unsigned long long)k->ask.key.fp, k->ask.hint, k->ask.life);
	hf_w_printf(&w, "[learnt=%u reason=%u closed=%u]\n", k->n_learnt, k->reason, k->n_closed);
	assert_false(w.full);
	l->notes_n += w.n;
	l->notes[l->notes_n] = 0;
}

/* One step over what is there; false: it waits, or it is over. */
static inline bool line_step(struct line *l)
{
	struct kit *k = l->k;

	l->ev.bytes = hf_bytes_of(l->in, l->n);
	k->ctx.flow = l->state;
	kit_run(k, &l->ev);
	k->ctx.flow = NULL;
	l->n_steps++;
	l->need = k->need;
	l->closed = k->n_closed > 0;
	assert_int_equal((k->took > 0) + (k->need > 0) + l->closed, 1); /* a message, or a wait, or the end */
	if (k->need)
		return false;
	l->n_sent += k->n_sent;
	line_note(l);
	memmove(l->in, l->in + k->took, l->n - k->took);
	l->n -= k->took;
	return !l->closed;
}

static inline void line_octets(struct line *l, struct hf_bytes b)
{
	if (l->closed)
		return;
	assert_true(l->n + b.n <= LINE_ROOM);
	memcpy(l->in + l->n, b.p, b.n);
	l->n += b.n;
	while (l->n && l->n >= l->need && line_step(l))
		;
}

static inline void line_feed(struct line *l, const char *text) { line_octets(l, hf_bytes_str(text)); }

/* A WebSocket: each message comes as one. */
static inline void line_message(struct line *l, const char *text)
{
	l->ev.transport = l->ev.listener->transport;
	l->ev.bytes = hf_bytes_str(text);
	l->k->ctx.flow = l->state;
	kit_run(l->k, &l->ev);
	l->k->ctx.flow = NULL;
	assert_int_equal(l->k->need + l->k->took + l->k->n_closed, 0); /* nothing waits, and nothing in a message ends the connection */
	line_note(l);
}

/* The Via parameter of ours on top of what went out last. */
static inline struct sip_hf line_hf(struct kit *k)
{
	struct sip_msg m;
	struct sip_hf hf;
	struct hf_arena a;
	static uint8_t mem[1 << 16];

	hf_arena_init(&a, mem, sizeof mem);
	assert_int_equal(sip_scan(hf_bytes_of(k->out, k->out_n), false, &k->conf.limits, &a, &m), SIP_GOOD);
	assert_true(sip_hf_read(&k->site, m.via[0].hf, m.via[0].branch, &hf));
	return hf;
}

static inline void line_is_flow(const struct kit *k, const struct line *l)
{
	assert_int_equal(k->send.flow.worker, l->ev.flow_name.worker);
	assert_int_equal(k->send.flow.slot, l->ev.flow_name.slot);
	assert_int_equal(k->send.flow.generation, l->ev.flow_name.generation);
	assert_int_equal(k->send.flow.boot, l->ev.flow_name.boot);
}

#endif
