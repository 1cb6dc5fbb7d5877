/* The store's thread: each table to its file, by turns; see holdfast/disk.h. It waits for disks and nobody waits for it.
 * Tables are only ever added, at the front of a list, so that the thread and who looks need no lock. */
#include "holdfast/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "file.h"
#include "holdfast/clock.h"
#include "holdfast/log.h"

#define INTERVAL_MS 1000
#define RETRY_MAX_MS 30000   /* a disk that was full this long may wait half a minute more for its snapshot */
#define SLOW_MS 2000         /* a disk at rest takes milliseconds */
#define LOG_MIN (1u << 20)   /* below it a new snapshot would cost more than it saves */
#define TRIES 3              /* for a table that changes its mind: a snapshot follows a snapshot only when its servers are renamed meanwhile */
#define STOP_S 5             /* what a stop gives the last writes: a service manager waits longer */

struct table {
	struct table *next;
	hf_disk_write_fn *write;
	void *arg;
	struct hf_disk_out out;
	uint64_t retry_ms, wait_ms; /* after a failure: not before, and the wait that led there */
	_Atomic int condition;
	_Atomic uint64_t begun_ms;  /* of the pass that runs; 0: none does */
	_Atomic uint64_t synced_ms, octets, log; /* as of the last commit; see struct hf_disk_view */
};

struct hf_disk {
	char dir[PATH_MAX];
	int dir_fd; /* holds the lock; -1: it cannot be opened, which the first write will tell */
	uint8_t hash_key[16];
	struct hf_writer buf;
	_Atomic(struct table *) tables;
	_Atomic uint64_t interval_ms;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* of stop */
	pthread_cond_t wake;
	bool stop;
};

const char *hf_disk_condition_name(enum hf_disk_condition c)
{
	static const char *const names[] = {
#define X(e, name) name,
		HF_DISK_CONDITIONS(X)
#undef X
	};

	return (unsigned)c < HF_DISK_CONDITION_COUNT ? names[c] : "?";
}

static enum hf_disk_condition of_error(int e)
{
	switch (e) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return HF_DISK_FULL;
	case EROFS:
		return HF_DISK_READ_ONLY;
	default:
		return HF_DISK_FAILING;
	}
}

/* One line a change: what a disk does again and again is said once. */
static void become(struct table *t, enum hf_disk_condition is, int e)
{
	enum hf_disk_condition was = (enum hf_disk_condition)atomic_exchange(&t->condition, (int)is);

	if (is == was)
		return;
	if (is == HF_DISK_OK && was != HF_DISK_STARTING)
		hf_log(HF_LOG_INFO, "event=state-disk pool=%s condition=ok", t->out.pool);
	else if (is == HF_DISK_SLOW)
		hf_log(HF_LOG_WARN, "event=state-disk pool=%s condition=slow dir=%s note=\"traffic goes on; a power cut loses more\"", t->out.pool, t->out.dir);
	else if (is != HF_DISK_OK)
		hf_log(HF_LOG_ERROR, "event=state-disk pool=%s condition=%s dir=%s error=\"%s\" note=\"traffic goes on; it is tried again\"", t->out.pool,
		       hf_disk_condition_name(is), t->out.dir, strerror(e));
}

static void failed(struct table *t, int e, uint64_t interval_ms)
{
	file_close(&t->out);
	t->wait_ms = t->wait_ms ? t->wait_ms * 2 : interval_ms;
	if (t->wait_ms > RETRY_MAX_MS)
		t->wait_ms = RETRY_MAX_MS;
	t->retry_ms = hf_clock_ms() + t->wait_ms;
	become(t, of_error(e), e);
}

static bool due_whole(const struct table *t)
{
	const struct hf_disk_out *f = &t->out;

	return f->fd < 0 || f->octets - f->snapshot > (f->snapshot > LOG_MIN ? f->snapshot : LOG_MIN);
}

/* One turn of a table. False: the system refused, errno says what. */
static bool turn(struct table *t)
{
	bool all = due_whole(t);
	enum hf_disk_wrote is = HF_DISK_AGAIN;

	for (unsigned i = 0; i < TRIES && is == HF_DISK_AGAIN; i++, all = true) {
		if (all && !file_begin(&t->out))
			return false;
		is = t->write(t->arg, &t->out, all);
	}
	if (is == HF_DISK_AGAIN) { /* the next turn is another try */
		file_close(&t->out);
		return true;
	}
	return is == HF_DISK_WROTE && file_commit(&t->out);
}

static void keep(struct table *t, uint64_t interval_ms)
{
	uint64_t begun = hf_clock_ms();
	bool ok;

	atomic_store(&t->begun_ms, begun);
	errno = 0;
	ok = turn(t);
	atomic_store(&t->begun_ms, 0);
	if (!ok) {
		failed(t, errno, interval_ms);
		return;
	}
	t->wait_ms = 0;
	if (t->out.fd < 0)
		return;
	atomic_store(&t->synced_ms, begun);
	atomic_store(&t->octets, t->out.octets);
	atomic_store(&t->log, t->out.octets - t->out.snapshot);
	become(t, hf_clock_ms() - begun > SLOW_MS ? HF_DISK_SLOW : HF_DISK_OK, 0);
}

/* True: it is time to stop. */
static bool rest(struct hf_disk *d)
{
	uint64_t ms = atomic_load(&d->interval_ms);
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(ms / 1000);
	until.tv_nsec += (long)(ms % 1000 * 1000000);
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&d->lock);
	while (!d->stop && pthread_cond_timedwait(&d->wake, &d->lock, &until) == 0)
		;
	stop = d->stop;
	pthread_mutex_unlock(&d->lock);
	return stop;
}

static void *run(void *arg)
{
	struct hf_disk *d = arg;
	bool stop = false;

	for (;;) {
		for (struct table *t = atomic_load(&d->tables); t; t = t->next)
			if (stop || !t->wait_ms || hf_clock_ms() >= t->retry_ms)
				keep(t, atomic_load(&d->interval_ms));
		if (stop)
			return NULL;
		stop = rest(d);
	}
}

struct hf_disk *hf_disk_new(const char *dir, const uint8_t hash_key[16], struct hf_writer *why)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool alone = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
	struct hf_disk *d = calloc(1, sizeof *d);
	uint8_t *buf = malloc(FILE_BUFFER);
	pthread_condattr_t attr;

	if (!alone || !d || !buf || strlen(dir) >= sizeof d->dir) {
		hf_w_printf(why, "%s: %s", dir, alone ? "no memory" : "another gateway has it: give each its own state-dir");
		if (fd >= 0)
			close(fd);
		free(d);
		free(buf);
		return NULL;
	}
	d->dir_fd = fd;
	memcpy(d->dir, dir, strlen(dir) + 1);
	memcpy(d->hash_key, hash_key, sizeof d->hash_key);
	d->buf = hf_writer_on(buf, FILE_BUFFER);
	atomic_store(&d->interval_ms, INTERVAL_MS);
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->wake, &attr);
	pthread_condattr_destroy(&attr);
	return d;
}

void hf_disk_interval(struct hf_disk *d, uint64_t ms) { atomic_store(&d->interval_ms, ms); }

enum hf_err hf_disk_add(struct hf_disk *d, const char *pool, hf_disk_write_fn *write, void *arg)
{
	struct table *t = calloc(1, sizeof *t);

	if (!t)
		return HF_ENOMEM;
	t->write = write;
	t->arg = arg;
	t->out = (struct hf_disk_out){.dir = d->dir, .check = salvage_check(d->hash_key), .buf = &d->buf, .fd = -1};
	salvage_key(d->hash_key, t->out.key);
	memcpy(t->out.pool, pool, strnlen(pool, sizeof t->out.pool - 1));
	atomic_store(&t->condition, HF_DISK_STARTING);
	atomic_store(&t->synced_ms, hf_clock_ms());
	t->next = atomic_load(&d->tables);
	atomic_store(&d->tables, t);
	return HF_OK;
}

enum hf_err hf_disk_start(struct hf_disk *d)
{
	sigset_t all, old;

	if (d->running)
		return HF_OK;
	sigfillset(&all); /* signals are the control thread's */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	d->running = pthread_create(&d->thread, NULL, run, d) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return d->running ? HF_OK : HF_EIO;
}

static bool join(struct hf_disk *d)
{
	struct timespec until;

	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_S;
	return pthread_timedjoin_np(d->thread, NULL, &until) == 0;
}

bool hf_disk_stop(struct hf_disk *d)
{
	if (!d)
		return true;
	if (d->running && !join(d)) {
		hf_log(HF_LOG_ERROR, "event=state-disk condition=stuck dir=%s note=\"the disk did not take the last changes\"", d->dir);
		return false;
	}
	for (struct table *t = atomic_load(&d->tables), *next; t; t = next) {
		next = t->next;
		file_close(&t->out);
		free(t);
	}
	pthread_cond_destroy(&d->wake);
	pthread_mutex_destroy(&d->lock);
	if (d->dir_fd >= 0)
		close(d->dir_fd);
	free(d->buf.p);
	free(d);
	return true;
}

bool hf_disk_view(const struct hf_disk *d, const char *pool, struct hf_disk_view *v)
{
	const struct table *t = d ? atomic_load(&((struct hf_disk *)d)->tables) : NULL; /* a const atomic can be read by C17 only */
	uint64_t now, begun, synced;

	while (t && strcmp(t->out.pool, pool) != 0)
		t = t->next;
	if (!t)
		return false;
	begun = atomic_load(&t->begun_ms);
	synced = atomic_load(&t->synced_ms);
	now = hf_clock_ms(); /* behind them: the thread goes on meanwhile, and neither may lie ahead of it */
	v->condition = (enum hf_disk_condition)atomic_load(&t->condition);
	if (begun && now - begun > SLOW_MS && v->condition <= HF_DISK_STARTING)
		v->condition = HF_DISK_SLOW;
	v->age_ms = now - synced;
	v->file_octets = atomic_load(&t->octets);
	v->log_octets = atomic_load(&t->log);
	return true;
}
