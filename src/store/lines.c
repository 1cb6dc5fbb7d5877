/* Whole lines to a file by a thread of its own; see holdfast/lines.h. Lines stand in a ring of octets, each with its end, so that the thread
 * takes out as many as are there at once. It knows nothing of what they say. */
#include "holdfast/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "holdfast/clock.h"
#include "holdfast/log.h"

#define RING (1u << 20)    /* octets that wait: some thousand lines, a second of a busy gateway */
#define CHUNK (64u * 1024) /* octets a write */
#define RETRY_MS 500       /* a disk that is full is asked so often whether it still is */
#define SLOW_MS 2000       /* a write that takes longer blocks */
#define STOP_MS 2000       /* what a stop gives the last lines */

struct hf_lines {
	const char *event;
	atomic_bool wanted;
	_Atomic int condition;
	_Atomic uint64_t begun_ms; /* of the call to the system that runs; 0: none does */
	_Atomic uint64_t written, lost;
	pthread_t thread;
	bool running;

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t wake;
	bool stop, ended, reopen;
	char path[PATH_MAX];
	uint8_t *ring;
	size_t head, used;

	/* the thread's */
	int fd;
	char file[PATH_MAX]; /* path, as it was when fd was opened */
	uint8_t chunk[CHUNK];
	size_t n, at; /* octets of chunk, and those that are written */
};

const char *hf_lines_condition_name(enum hf_lines_condition c)
{
	static const char *const names[] = {
#define X(e, name) name,
		HF_LINES_CONDITIONS(X)
#undef X
	};

	return (unsigned)c < HF_LINES_CONDITION_COUNT ? names[c] : "?";
}

struct hf_lines *hf_lines_new(const char *event)
{
	struct hf_lines *l = calloc(1, sizeof *l);
	pthread_condattr_t a;

	if (!l || !(l->ring = malloc(RING))) {
		free(l);
		return NULL;
	}
	l->event = event;
	l->fd = -1;
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&l->wake, &a);
	pthread_condattr_destroy(&a);
	return l;
}

/* ---- who has lines ---- */

enum hf_err hf_lines_open(struct hf_lines *l, struct hf_bytes path)
{
	if (path.n >= sizeof l->path)
		return HF_ERANGE;
	pthread_mutex_lock(&l->lock);
	memcpy(l->path, path.p ? path.p : (const uint8_t *)"", path.n);
	l->path[path.n] = 0;
	l->reopen = true;
	pthread_cond_broadcast(&l->wake);
	pthread_mutex_unlock(&l->lock);
	atomic_store_explicit(&l->wanted, path.n > 0, memory_order_relaxed);
	return HF_OK;
}

bool hf_lines_wanted(const struct hf_lines *l)
{
	return l && atomic_load_explicit(&((struct hf_lines *)(uintptr_t)l)->wanted, memory_order_relaxed); /* a const atomic can be read by C17 only */
}

void hf_lines_lose(struct hf_lines *l) { atomic_fetch_add_explicit(&l->lost, 1, memory_order_relaxed); }

static void ring_add(struct hf_lines *l, const uint8_t *p, size_t n)
{
	size_t at = (l->head + l->used) % RING, first = n < RING - at ? n : RING - at;

	memcpy(l->ring + at, p, first);
	memcpy(l->ring, p + first, n - first);
	l->used += n;
}

bool hf_lines_put(struct hf_lines *l, struct hf_bytes line)
{
	bool fits;

	HF_BUG_ON(line.n >= HF_LINE_MAX);
	pthread_mutex_lock(&l->lock);
	fits = line.n + 1 <= RING - l->used;
	if (fits) {
		ring_add(l, line.p, line.n);
		ring_add(l, (const uint8_t *)"\n", 1);
		pthread_cond_signal(&l->wake);
	}
	pthread_mutex_unlock(&l->lock);
	if (!fits)
		hf_lines_lose(l);
	return fits;
}

void hf_lines_view(struct hf_lines *l, struct hf_lines_view *v)
{
	uint64_t begun = atomic_load(&l->begun_ms);

	v->condition = (enum hf_lines_condition)atomic_load(&l->condition);
	v->written = atomic_load(&l->written);
	v->lost = atomic_load(&l->lost);
	if (begun && hf_clock_ms() - begun > SLOW_MS)
		v->condition = HF_LINES_BLOCKED;
	pthread_mutex_lock(&l->lock);
	v->waiting = l->used;
	pthread_mutex_unlock(&l->lock);
}

/* ---- the thread ---- */

/* One line a change: what a disk does again and again is said once. */
static void become(struct hf_lines *l, enum hf_lines_condition is, int e)
{
	enum hf_lines_condition was = (enum hf_lines_condition)atomic_exchange(&l->condition, (int)is);
	unsigned long long lost = atomic_load(&l->lost);

	if (is == was || is == HF_LINES_OFF)
		return;
	if (is == HF_LINES_OK)
		hf_log(HF_LOG_INFO, "event=%s condition=ok file=%s lost=%llu", l->event, hf_log_text(hf_bytes_str(l->file)), lost);
	else
		hf_log(HF_LOG_ERROR, "event=%s condition=%s file=%s lost=%llu error=\"%s\" note=\"traffic goes on; it is tried again\"", l->event,
		       hf_lines_condition_name(is), hf_log_text(hf_bytes_str(l->file)), lost, strerror(e));
}

static void failed(struct hf_lines *l, int e) { become(l, e == ENOSPC || e == EDQUOT || e == EFBIG ? HF_LINES_FULL : HF_LINES_FAILING, e); }

/* The lock is held; it is let go of while the system opens, which may block (a pipe without a reader). */
static void open_anew(struct hf_lines *l)
{
	int fd = l->fd;
	bool none;

	memcpy(l->file, l->path, sizeof l->file);
	none = !l->file[0];
	l->reopen = false;
	l->fd = -1;
	while (l->at && l->chunk[l->at - 1] != '\n')
		l->at--; /* the line that was cut begins anew in the new file */
	atomic_store(&l->begun_ms, hf_clock_ms());
	pthread_mutex_unlock(&l->lock);
	if (fd >= 0)
		close(fd);
	fd = none ? -1 : open(l->file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
	if (!none && fd < 0)
		failed(l, errno);
	else
		become(l, none ? HF_LINES_OFF : HF_LINES_OK, 0);
	atomic_store(&l->begun_ms, 0);
	pthread_mutex_lock(&l->lock);
	l->fd = fd;
}

/* The next lines out of the ring, whole ones. */
static void take(struct hf_lines *l)
{
	size_t n = l->used < CHUNK ? l->used : CHUNK, first = n < RING - l->head ? n : RING - l->head;

	memcpy(l->chunk, l->ring + l->head, first);
	memcpy(l->chunk + first, l->ring, n - first);
	while (n && l->chunk[n - 1] != '\n')
		n--;
	l->head = (l->head + n) % RING;
	l->used -= n;
	l->n = n;
	l->at = 0;
}

static uint64_t lines_in(const uint8_t *p, size_t n)
{
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += p[i] == '\n';
	return count;
}

/* What is left of the chunk; without the lock. False: not all of it went, and it is to be tried again. */
static bool put_out(struct hf_lines *l)
{
	while (l->at < l->n) {
		ssize_t m;

		atomic_store(&l->begun_ms, hf_clock_ms());
		m = write(l->fd, l->chunk + l->at, l->n - l->at);
		atomic_store(&l->begun_ms, 0);
		if (m < 0 && errno == EINTR)
			continue;
		if (m <= 0) {
			failed(l, m < 0 ? errno : EIO);
			return false;
		}
		atomic_fetch_add(&l->written, lines_in(l->chunk + l->at, (size_t)m));
		l->at += (size_t)m;
	}
	become(l, HF_LINES_OK, 0);
	return true;
}

static void wait_until(struct hf_lines *l, uint64_t ms)
{
	const struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

	pthread_cond_timedwait(&l->wake, &l->lock, &t);
}

/* Lines that come meanwhile are no reason to try again. The lock is held. */
static void rest(struct hf_lines *l)
{
	uint64_t end = hf_clock_ms() + RETRY_MS;
	bool asked = l->reopen;

	while (!l->stop && l->reopen == asked && hf_clock_ms() < end)
		wait_until(l, end);
}

/* One turn with the lock held. False: it is over. */
static bool turn(struct hf_lines *l)
{
	bool good;

	if (l->reopen)
		open_anew(l);
	if (!l->path[0] && !l->reopen) { /* what is left of a log that was switched off */
		uint64_t left = lines_in(l->chunk + l->at, l->n - l->at);

		for (take(l); l->n; take(l))
			left += lines_in(l->chunk, l->n);
		atomic_fetch_add(&l->lost, left);
	}
	if (l->at == l->n)
		take(l);
	if (l->at == l->n) {
		if (!l->stop && !l->reopen)
			pthread_cond_wait(&l->wake, &l->lock);
		return !l->stop || l->used;
	}
	if (l->fd < 0) {
		l->reopen = true;
		good = false;
	} else {
		pthread_mutex_unlock(&l->lock);
		good = put_out(l);
		pthread_mutex_lock(&l->lock);
	}
	if (!good)
		rest(l);
	return good || !l->stop;
}

static void *run(void *arg)
{
	struct hf_lines *l = arg;

	pthread_mutex_lock(&l->lock);
	while (turn(l))
		;
	l->ended = true;
	pthread_cond_broadcast(&l->wake);
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

enum hf_err hf_lines_start(struct hf_lines *l)
{
	sigset_t all, old;

	sigfillset(&all); /* signals are the control thread's */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	l->running = pthread_create(&l->thread, NULL, run, l) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return l->running ? HF_OK : HF_EIO;
}

/* False: it is in a call to the system that does not come back. */
static bool join(struct hf_lines *l)
{
	uint64_t end = hf_clock_ms() + STOP_MS;
	bool ended;

	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_broadcast(&l->wake);
	while (!l->ended && hf_clock_ms() < end)
		wait_until(l, end);
	ended = l->ended;
	pthread_mutex_unlock(&l->lock);
	if (ended)
		pthread_join(l->thread, NULL);
	return ended;
}

bool hf_lines_stop(struct hf_lines *l)
{
	if (!l)
		return true;
	if (l->running && !join(l)) {
		hf_log(HF_LOG_ERROR, "event=%s condition=blocked file=%s note=\"the last lines were not taken\"", l->event, hf_log_text(hf_bytes_str(l->file)));
		return false;
	}
	if (l->fd >= 0)
		close(l->fd);
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->lock);
	free(l->ring);
	free(l);
	return true;
}
