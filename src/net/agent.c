/* Asks a server's agent how the server is, and does as it says; see agent.h. What its words mean together is here alone:
 *
 *   up, down       its own mark beside health: a server is up when both say so, and what the agent took down only the agent brings up
 *   ready, drain,  likewise beside the operator's drain and off. maint is off for all that comes; who is connected stays
 *   maint
 *   NN%            of the weight in the file, in caps and in the share of balances; 0% drains
 *   maxconn:N      a bound beside max-sessions
 *
 * An agent that cannot be reached, or says what is no answer, changes nothing. It knows no protocol; probes.c calls it. */
#include "agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "holdfast/log.h"
#include "sock.h"

#define ANSWER_MS 5000 /* an answer that takes longer is none, however rarely it is asked for */

static void ready(void *arg, unsigned what);
static void due(void *arg);

static struct member_rt *seat(const struct agent *a) { return &a->of->rt->members[a->of->id]; }
static struct hf_engine *engine(const struct agent *a) { return a->of->rt->engine; }

/* ---- what it said ---- */

static const enum hf_mark agent_marks[] = {HF_MARK_AGENT_DOWN, HF_MARK_AGENT_DRAIN, HF_MARK_AGENT_OFF};
#define N_MARKS (sizeof agent_marks / sizeof agent_marks[0])

static unsigned marks_of(const struct agent *a)
{
	unsigned marks = 0;

	for (size_t i = 0; i < N_MARKS; i++)
		marks |= (unsigned)hf_engine_marked(engine(a), a->of->id, agent_marks[i]) << i;
	return marks;
}

static void mark(struct agent *a, enum hf_mark m, bool on)
{
	if (hf_engine_marked(engine(a), a->of->id, m) != on)
		hf_engine_mark(engine(a), a->of->id, m, on, hf_clock_ms());
}

static void advise(struct agent *a, uint32_t percent, uint32_t max_sessions)
{
	a->percent = percent;
	a->max_sessions = max_sessions;
	hf_engine_advise(engine(a), a->of->id, percent, max_sessions, hf_clock_ms());
}

static void obey(struct agent *a, const struct agent_said *s)
{
	if (s->health)
		mark(a, HF_MARK_AGENT_DOWN, s->health == AGENT_DOWN);
	if (s->duty) {
		a->drains = s->duty == AGENT_DRAIN;
		mark(a, HF_MARK_AGENT_OFF, s->duty == AGENT_MAINT);
	}
	if (s->has_percent)
		a->empty = s->percent == 0;
	advise(a, s->has_percent ? s->percent : a->percent, s->has_max ? s->max_sessions : a->max_sessions);
	if (s->duty || s->has_percent) /* what is marked may have been said before a restart, by either */
		mark(a, HF_MARK_AGENT_DRAIN, a->drains || a->empty);
}

/* As it may be shown: it wrote it. */
static void keep(struct agent *a, struct hf_bytes line)
{
	struct member_rt *m = seat(a);
	struct hf_writer w = hf_writer_on(m->agent, sizeof m->agent - 1);

	hf_w_printable(&w, hf_bytes_sub(line, 0, (sizeof m->agent - 1) / 4)); /* an octet takes four at most */
	m->agent[w.n] = 0;
	m->agent_ms = hf_clock_ms();
}

/* It is another server now than before the line. */
static void tell(struct agent *a, struct hf_bytes line)
{
	struct member_rt *m = seat(a);

	if (hf_engine_marked(engine(a), a->of->id, HF_MARK_AGENT_DOWN)) {
		snprintf(m->last_failure, sizeof m->last_failure, "agent: %.50s", m->agent);
		m->last_failure_ms = m->agent_ms;
	}
	hf_log(marks_of(a) ? HF_LOG_WARN : HF_LOG_INFO, "event=server-agent pool=%s server=%s state=%s said=\"%s\"", a->of->pool->rt->name, a->of->name,
		hf_state_name(hf_engine_state(engine(a), a->of->id, NULL)), hf_log_text(line));
}

bool agent_heard(struct agent *a, struct hf_bytes line)
{
	struct agent_said said;
	unsigned before = marks_of(a);

	line = hf_bytes_trim(line);
	if (!agent_read(line, &said))
		return false;
	a->silent = false;
	keep(a, line);
	obey(a, &said);
	if (marks_of(a) != before)
		tell(a, line);
	return true;
}

/* Nobody would ever take it back. */
static void unsay(struct agent *a)
{
	a->drains = a->empty = a->silent = false;
	for (size_t i = 0; i < N_MARKS; i++)
		mark(a, agent_marks[i], false);
	advise(a, 0, 0);
	seat(a)->agent[0] = 0;
	seat(a)->agent_ms = 0;
}

/* ---- one question ---- */

static void stop(struct agent *a)
{
	hf_watch_free(a->watch);
	a->watch = NULL;
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	a->n = 0;
	a->asked = false;
}

static void again(struct agent *a)
{
	stop(a);
	hf_timer_set(a->timer, a->of->pool->conf->agent_interval);
}

static void no_answer(struct agent *a, const char *why)
{
	if (!a->silent)
		hf_log(HF_LOG_INFO, "event=server-agent-silent pool=%s server=%s reason=\"%s\"", a->of->pool->rt->name, a->of->name, why);
	a->silent = true;
	again(a);
}

static void begin(struct agent *a)
{
	uint64_t interval = a->of->pool->conf->agent_interval;

	a->fd = sock_connect(&a->at, true, NULL);
	if (a->fd >= 0)
		a->watch = hf_watch_new(a->of->all->net->control, a->fd, HF_WRITE, ready, a);
	if (!a->watch)
		no_answer(a, a->fd < 0 ? strerror(errno) : "no memory");
	else
		hf_timer_set(a->timer, interval < ANSWER_MS ? interval : ANSWER_MS);
}

/* A line for a fresh connection: the system takes it whole, or nobody is there. */
static bool say(const struct agent *a, struct hf_bytes line)
{
	uint8_t octets[HF_AGENT_SEND_MAX + 1];

	if (!line.n)
		return true;
	memcpy(octets, line.p, line.n);
	octets[line.n] = '\n';
	return send(a->fd, octets, line.n + 1, MSG_NOSIGNAL) == (ssize_t)line.n + 1;
}

static void listen_to(struct agent *a)
{
	ssize_t n = recv(a->fd, a->got + a->n, sizeof a->got - a->n, 0);
	struct hf_bytes line;
	enum hf_err e;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		no_answer(a, strerror(errno));
		return;
	}
	a->n += (size_t)n;
	e = agent_line(hf_bytes_of(a->got, a->n), n == 0, &line);
	if (e == HF_ENOENT)
		return;
	if (e == HF_EFULL || !line.n) {
		no_answer(a, e == HF_EFULL ? "its line is too long" : "it said nothing");
		return;
	}
	if (agent_heard(a, line))
		again(a);
	else
		no_answer(a, "no word of it is known");
}

static void ready(void *arg, unsigned what)
{
	struct agent *a = arg;
	int e;

	(void)what;
	if (a->asked) {
		listen_to(a);
		return;
	}
	e = sock_error(a->fd);
	a->asked = e == 0 && say(a, a->of->pool->conf->agent_send);
	if (!a->asked || !hf_watch_set(a->watch, HF_READ))
		no_answer(a, e ? strerror(e) : "cannot ask");
}

static void due(void *arg)
{
	struct agent *a = arg;

	if (a->fd >= 0)
		no_answer(a, a->asked ? "no answer in time" : "no connection in time");
	else
		begin(a);
}

/* ---- whom it asks ---- */

struct agent *agent_new(struct probe *of)
{
	struct agent *a = calloc(1, sizeof *a);

	if (!a)
		return NULL;
	a->of = of;
	a->fd = -1;
	a->timer = hf_timer_new(of->all->net->control, due, a);
	seat(a)->agent[0] = 0;
	seat(a)->agent_ms = 0;
	advise(a, 0, 0); /* another that was asked for this server may have left something */
	if (!a->timer) {
		free(a);
		return NULL;
	}
	return a;
}

/* What was said before a restart is in force until the agent says otherwise; what another said, or one who is asked no more, is not. */
void agent_apply(struct agent *a)
{
	struct hf_addr at = a->of->m->addr;

	at.port = at.family ? a->of->m->agent : 0;
	seat(a)->agent_port = at.port;
	if (at.port ? hf_addr_eq(&at, &a->at) : !a->at.port && !marks_of(a))
		return;
	if (a->at.port || !at.port)
		unsay(a);
	stop(a);
	a->at = at;
	if (at.port)
		hf_timer_set(a->timer, 0);
	else
		hf_timer_stop(a->timer);
}

void agent_free(struct agent *a)
{
	if (!a)
		return;
	stop(a);
	hf_timer_free(a->timer);
	free(a);
}
