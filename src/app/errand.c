/* The thread of long commands; see errand.h. It knows no command. */
#include "errand.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct errands {
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t there;
	struct errand *wait, *done;   /* waiting, oldest first; done, in any order */
	struct errand *running;
	bool stop;
	int fd;                       /* rings for the control loop */
	struct hf_watch *watch;
};

void errand_run(struct errand *x, struct json *j)
{
	uint8_t text[512];
	struct hf_writer why = hf_writer_on(text, sizeof text);
	enum hf_err e = x->run(x, j, &why);

	if (e == HF_OK)
		return;
	json_free(j);
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, false);
	json_text(j, HF_F_ERROR, why.n ? hf_writer_view(&why) : hf_bytes_str(hf_err_text(e)));
	json_close(j, '}');
}

static void drop(struct errand *x)
{
	json_free(&x->out);
	x->free(x);
}

static void *work(void *arg)
{
	struct errands *s = arg;
	uint64_t one = 1;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		struct errand *x = s->wait;

		if (!x) {
			pthread_cond_wait(&s->there, &s->lock);
			continue;
		}
		s->wait = x->next;
		s->running = x;
		pthread_mutex_unlock(&s->lock);
		errand_run(x, &x->out);
		pthread_mutex_lock(&s->lock);
		s->running = NULL;
		x->next = s->done;
		s->done = x;
		(void)!write(s->fd, &one, sizeof one);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void deliver(void *arg, unsigned what)
{
	struct errands *s = arg;
	struct errand *x, *next;
	uint64_t n;

	(void)what;
	(void)!read(s->fd, &n, sizeof n);
	pthread_mutex_lock(&s->lock);
	x = s->done;
	s->done = NULL;
	pthread_mutex_unlock(&s->lock);
	for (; x; x = next) {
		next = x->next;
		if (x->done)
			x->done(x->arg, &x->out);
		drop(x);
	}
}

struct errands *errands_new(struct hf_loop *loop)
{
	struct errands *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->there, NULL);
	s->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	s->watch = s->fd < 0 ? NULL : hf_watch_new(loop, s->fd, HF_READ, deliver, s);
	if (s->watch)
		return s;
	errands_free(s);
	return NULL;
}

/* Signals are the control thread's. */
static bool start(struct errands *s)
{
	sigset_t all, old;

	if (s->started)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	s->started = pthread_create(&s->thread, NULL, work, s) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return s->started;
}

enum hf_err errands_send(struct errands *s, struct errand *x, void (*done)(void *arg, struct json *out), void *arg)
{
	struct errand **at = &s->wait;

	if (!start(s))
		return HF_ENOMEM;
	x->done = done;
	x->arg = arg;
	x->out = json_new();
	x->next = NULL;
	pthread_mutex_lock(&s->lock);
	while (*at)
		at = &(*at)->next;
	*at = x;
	pthread_cond_signal(&s->there);
	pthread_mutex_unlock(&s->lock);
	return HF_OK;
}

void errands_forget(struct errands *s, struct errand *x)
{
	pthread_mutex_lock(&s->lock);
	x->done = NULL; /* read by the control thread alone */
	atomic_store_explicit(&x->stop, true, memory_order_relaxed);
	pthread_mutex_unlock(&s->lock);
}

void errands_free(struct errands *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	if (s->running)
		atomic_store_explicit(&s->running->stop, true, memory_order_relaxed);
	pthread_cond_signal(&s->there);
	pthread_mutex_unlock(&s->lock);
	if (s->started)
		pthread_join(s->thread, NULL);
	for (struct errand *list = s->wait, *next; list; list = next) {
		next = list->next;
		drop(list);
	}
	for (struct errand *list = s->done, *next; list; list = next) {
		next = list->next;
		drop(list);
	}
	hf_watch_free(s->watch);
	if (s->fd >= 0)
		close(s->fd);
	pthread_cond_destroy(&s->there);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
