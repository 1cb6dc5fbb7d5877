/* Probes, between probe.c (one probe and its verdicts), probe_program.c (one by a program) and probes.c (who is probed, and what workers saw
 * meanwhile). Control thread. */
#ifndef NET_PROBING_H
#define NET_PROBING_H

#include "inside.h"
#include "probe.h"

#define PROBE_ANSWER_MAX 8192 /* octets of an answer that are looked at */
#define PROBE_PASSIVE_MS 1000 /* how often a server is asked that is down because of dials */
#define PROBE_BUSY_WHY "asks for no new sessions"

struct probe {
	struct probes *all;
	struct pool_rt *rt;
	char name[64];
	bool kept;                    /* while the list follows a change */
	struct snap_pool *pool;       /* of the snapshot in force */
	const struct snap_service *service;
	const struct snap_member *m;
	uint16_t id;
	int fd;                       /* -1: none under way over a socket */
	struct program *program;      /* NULL: none under way by a program */
	struct probe *next_queued, **queued_at; /* it waits until one of the programs that run has ended; queued_at: what names it, NULL: it does not wait */
	struct wire *wire;            /* what lies between it and the octets; NULL: nothing */
	struct hf_watch *watch;
	struct hf_timer *timer;       /* the next probe, or the deadline of this one */
	struct hf_probe what;
	uint8_t *got;
	size_t n;
	bool sent, passive, lost;     /* passive: down because of dials; lost: its name was never found */
	bool reached;                 /* this one has a connection */
	uint32_t back;                /* member_rt.back, as far as it was looked at */
	uint64_t began_ms;            /* the last one */
	unsigned good, bad;           /* in a row */
	uint64_t busy_until_ms;
	bool rests;                   /* busy because it failed what it was asked */
	struct agent *agent;
	struct probe *next;
};

struct probes {
	struct hf_net *net;
	struct hf_timer *look;
	struct probe *list;
	struct programs *programs;
	struct probe *queue, **queue_end; /* who waits for a program's end, in order */
	uint32_t last_id;
};

/* The engine has the marks, and keeps them over a restart: what was down stays down until a probe says otherwise. */
static inline bool probe_down(const struct probe *p) { return hf_engine_marked(p->rt->engine, p->id, HF_MARK_DOWN); }
static inline bool probe_runs(const struct probe *p) { return p->fd >= 0 || p->program || p->queued_at; }
/* A server that is down because of dials is asked every second: its users wait for it. One connect is as good as a dial. */
static inline bool probe_waited_for(const struct probe *p) { return p->passive && p->pool->conf->probe == HF_CONF_PROBE_NONE; }
static inline bool probe_busy(const struct probe *p) { return hf_engine_marked(p->rt->engine, p->id, HF_MARK_BUSY); }
void probe_mark(struct probe *p, enum hf_mark m, bool on, const char *why);
void probe_set_busy(struct probe *p, bool on, uint32_t ms, const char *why); /* ms 0: until a probe says otherwise */
void probe_due(void *probe);           /* its timer's */
void probe_stop(struct probe *p);      /* the one that is under way, if any */
void probe_again(struct probe *p);     /* the one under way is over, and says neither good nor bad */
void probe_verdict(struct probe *p, bool good, const char *why);

void probe_program_begin(struct probe *p);
void probe_program_late(struct probe *p); /* the one under way has not ended in time */
void probe_program_stop(struct probe *p); /* likewise, or it waits for its turn; or neither */
void probe_program_room(void *probes);    /* a program has ended */

#endif
