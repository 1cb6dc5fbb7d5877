/* A probe by a program of the operator's: its arguments, and what its end means; see probing.h. Control thread. */
#include "probing.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast/log.h"
#include "program.h"

#define TEXT_OCTETS 4096 /* arguments with their words filled in; the longest of them is a name of 63 octets */

struct args {
	uint8_t text[TEXT_OCTETS];
	char *argv[HF_CONF_PROBE_ARGS_MAX + 1];
};

static void write_word(const struct probe *p, struct hf_bytes name, struct hf_writer *w)
{
	enum hf_conf_probe_word at = HF_CONF_WORD_ADDRESS;

	while (hf_conf_probe_words[at] && !hf_bytes_eq(name, hf_bytes_str(hf_conf_probe_words[at])))
		at++;
	switch (at) {
	case HF_CONF_WORD_ADDRESS: hf_w_ip(w, &p->m->addr, false); break;
	case HF_CONF_WORD_PORT: hf_w_dec(w, p->m->addr.port); break;
	case HF_CONF_WORD_SERVER: hf_w_str(w, p->name); break;
	case HF_CONF_WORD_POOL: hf_w_str(w, p->pool->rt->name); break;
	}
}

static void write_argument(const struct probe *p, struct hf_bytes word, struct hf_writer *w)
{
	while (word.n) {
		size_t open = hf_bytes_find(word, '{'), close = hf_bytes_find(word, '}');

		hf_w_bytes(w, hf_bytes_sub(word, 0, open));
		if (open < word.n)
			write_word(p, hf_bytes_sub(word, open + 1, close - open - 1), w);
		word = hf_bytes_sub(word, close + 1, word.n);
	}
	hf_w_u8(w, 0);
}

static bool fill(const struct probe *p, struct args *a)
{
	struct hf_bytes rest = p->pool->conf->probe_program, word;
	struct hf_writer w = hf_writer_on(a->text, sizeof a->text);
	unsigned n = 0;

	while ((word = hf_bytes_word(&rest)).n && n < HF_CONF_PROBE_ARGS_MAX) {
		a->argv[n++] = (char *)a->text + w.n;
		write_argument(p, word, &w);
	}
	a->argv[n] = NULL;
	return !w.full;
}

static void done(void *arg, int status, const char *said)
{
	struct probe *p = arg;
	char why[PROGRAM_SAID];

	p->program = NULL;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof why, "ended by signal %d", WTERMSIG(status));
	else
		snprintf(why, sizeof why, "exit code %d", WEXITSTATUS(status));
	hf_log(HF_LOG_DEBUG, "event=probe-program pool=%s server=%s end=\"%s\" said=\"%s\"", p->pool->rt->name, p->name, why, said);
	probe_verdict(p, WIFEXITED(status) && WEXITSTATUS(status) == 0, *said ? said : why);
}

/* What we cannot run says nothing about the server: it stays what it is. */
static void cannot(struct probe *p, int e)
{
	struct member_rt *m = &p->rt->members[p->id];

	snprintf(m->last_failure, sizeof m->last_failure, "the probe cannot be run: %s", strerror(e));
	m->last_failure_ms = hf_clock_ms();
	hf_log_limited(HF_LOG_WARN, HF_R_NO_MEMORY, "event=probe-program-failed pool=%s server=%s error=\"%s\"", p->pool->rt->name, p->name, strerror(e));
	probe_again(p);
}

/* ---- as many run as may ---- */

static void queue(struct probe *p)
{
	p->next_queued = NULL;
	p->queued_at = p->all->queue_end;
	*p->queued_at = p;
	p->all->queue_end = &p->next_queued;
}

static void unqueue(struct probe *p)
{
	*p->queued_at = p->next_queued;
	*(p->next_queued ? &p->next_queued->queued_at : &p->all->queue_end) = p->queued_at;
	p->queued_at = NULL;
}

void probe_program_room(void *arg)
{
	struct probes *all = arg;

	while (all->queue && !programs_full(all->programs)) {
		struct probe *p = all->queue;

		unqueue(p); /* whatever it does now */
		probe_due(p);
	}
}

void probe_program_stop(struct probe *p)
{
	if (p->queued_at)
		unqueue(p);
	if (p->program)
		program_leave(p->program);
	p->program = NULL;
}

/* ---- */

void probe_program_begin(struct probe *p)
{
	struct args a;

	if (programs_full(p->all->programs)) {
		if (!p->queued_at)
			queue(p);
		return;
	}
	if (p->queued_at)
		unqueue(p);
	p->what.addr = p->m->addr; /* whose answer it will be, should the server move meanwhile */
	p->what.transport = p->m->transport;
	errno = E2BIG;
	p->program = fill(p, &a) ? program_start(p->all->programs, a.argv, done, p) : NULL;
	if (p->program)
		hf_timer_set(p->timer, p->pool->conf->probe_timeout);
	else
		cannot(p, errno);
}

void probe_program_late(struct probe *p)
{
	char said[PROGRAM_SAID], why[PROGRAM_SAID + 32];

	program_said(p->program, said);
	snprintf(why, sizeof why, "no end in time%s%s", *said ? ": " : "", said);
	probe_verdict(p, false, why);
}

bool probe_program_fit(const struct hf_conf_pool *c, struct hf_writer *why)
{
	struct hf_bytes rest = c->probe_program, path = hf_bytes_word(&rest);
	char text[1025];

	if (c->probe != HF_CONF_PROBE_PROGRAM)
		return true;
	snprintf(text, sizeof text, "%.*s", (int)path.n, (const char *)path.p);
	if (access(text, X_OK) == 0)
		return true;
	hf_w_printf(why, "pool %s: probe-program %s: %s", c->name, text, strerror(errno));
	return false;
}
