/* A whole run of the gateway: a list of steps up, the control loop, and down again. Also --check and --print-config.
 * The order matters: all is checked before anything is opened; the admin socket comes before the listeners, because it finds out
 * whether another gateway runs, and ports are shared between workers and so would be with it; sockets are opened before root is given
 * up, and no thread runs before that. The log goes to stderr until nothing can fail any more: who starts us looks there. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gateway.h"
#include "holdfast/clock.h"
#include "metrics.h"
#include "report.h"

struct start {
	struct gateway *g;
	struct hf_conf *conf; /* until the snapshot has taken it over */
	struct hf_findings findings;
	struct hf_writer why;
};

/* As the user that a reload reads them as: a certificate that is renewed months from now must not be the first to find out. */
static enum hf_err files_good(const struct places *p, const struct hf_conf *c, struct hf_findings *f)
{
	uint8_t buf[1400];
	struct hf_writer why = hf_writer_on(buf, sizeof buf);
	bool change = places_change_user(p);
	enum hf_err e;

	if (change)
		places_be_user(p, true);
	e = hf_net_check(c, &why);
	if (change)
		places_be_user(p, false);
	if (e != HF_OK && change)
		hf_w_printf(&why, " (read as user %s)", p->user);
	if (e != HF_OK)
		report_add(f, true, hf_writer_view(&why));
	return e;
}

static enum hf_exit load(struct start *s)
{
	enum hf_err e = hf_conf_load(s->g->args->file, &s->conf, &s->findings);

	if (e == HF_OK)
		e = places_find(&s->conf->gateway, &s->g->places, &s->findings);
	if (e == HF_OK)
		e = files_good(&s->g->places, s->conf, &s->findings);
	return e == HF_OK ? HF_EXIT_DONE : HF_EXIT_CONFIG;
}

static enum hf_exit warnings(struct start *s)
{
	report_news(&s->findings, &s->g->warned);
	report_print(s->g->args->file, &s->findings);
	hf_findings_free(&s->findings);
	memset(&s->findings, 0, sizeof s->findings);
	return HF_EXIT_DONE;
}

static enum hf_exit dirs(struct start *s)
{
	return places_make(&s->g->places, &s->why) == HF_OK ? HF_EXIT_DONE : HF_EXIT_SYSTEM;
}

static enum hf_exit secret(struct start *s)
{
	struct gateway *g = s->g;
	enum hf_err e = secret_open(&g->places, true, g->args->accept_new_hash, &g->site, &s->findings);

	hf_random(&g->site.boot, sizeof g->site.boot);
	return e == HF_OK ? HF_EXIT_DONE : e == HF_EIO ? HF_EXIT_SYSTEM : HF_EXIT_CONFIG;
}

/* Every flow is two descriptors; the soft limit is for programs that use select. */
static enum hf_exit descriptors(struct start *s)
{
	unsigned long long flows = s->conf->gateway.max_flows;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return HF_EXIT_DONE;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) < 0)
		hf_log(HF_LOG_WARN, "event=descriptor-limit error=\"%m\"");
	if (r.rlim_max / 2 < flows)
		hf_log(HF_LOG_WARN, "event=descriptor-limit limit=%llu max_flows=%llu warning=\"a flow takes two: raise the hard limit (ulimit -Hn, LimitNOFILE) or lower max-flows\"",
		       (unsigned long long)r.rlim_max, flows);
	return HF_EXIT_DONE;
}

static void stop(void *arg, unsigned what)
{
	struct gateway *g = arg;

	(void)what;
	hf_loop_stop(g->loop);
}

static void hup(void *arg, unsigned what)
{
	struct gateway *g = arg;
	struct hf_findings f = {0};

	(void)what;
	if (reload(g, &f) != HF_OK)
		hf_log(HF_LOG_ERROR, "event=reload-failed file=%s errors=%u generation=%u", g->args->file, f.errors, hf_net_generation(g->net));
	hf_findings_free(&f);
}

static enum hf_exit control(struct start *s)
{
	struct gateway *g = s->g;
	enum hf_err e = HF_OK;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of a write, and no end */
	g->loop = hf_loop_new();
	if (!g->loop) {
		hf_w_str(&s->why, hf_err_text(HF_ENOMEM));
		return HF_EXIT_SYSTEM;
	}
	g->signals[0] = hf_loop_signal(g->loop, SIGTERM, stop, g);
	g->signals[1] = hf_loop_signal(g->loop, SIGINT, stop, g);
	g->signals[2] = hf_loop_signal(g->loop, SIGHUP, hup, g);
	g->upkeep = upkeep_new(g);
	if (!g->signals[0] || !g->signals[1] || !g->signals[2] || !g->upkeep)
		e = HF_ENOMEM;
	else if (g->places.admin[0])
		e = admin_open(g, &g->admin, &s->why);
	if (e != HF_OK && s->why.n == 0)
		hf_w_str(&s->why, hf_err_text(e));
	return e == HF_OK ? HF_EXIT_DONE : HF_EXIT_SYSTEM;
}

#define WORKERS_AUTO_MAX 64 /* the most that the option allows */

static unsigned count_workers(const struct hf_conf *c)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (c->gateway.workers)
		return (unsigned)c->gateway.workers;
	return cores < 1 ? 1 : cores > WORKERS_AUTO_MAX ? WORKERS_AUTO_MAX : (unsigned)cores;
}

static enum hf_exit net(struct start *s)
{
	struct gateway *g = s->g;

	g->net = hf_net_new(g->loop, &g->site, count_workers(s->conf), s->conf->gateway.letter_box);
	g->session_log = hf_lines_new("session-log");
	if (g->net && g->session_log) {
		hf_net_session_log(g->net, g->session_log);
		hf_net_trace(g->net, s->conf->gateway.trace);
		return HF_EXIT_DONE;
	}
	hf_w_str(&s->why, "no memory for the workers");
	return HF_EXIT_SYSTEM;
}

static enum hf_exit listen_all(struct start *s)
{
	struct hf_snapshot *snap = NULL;
	enum hf_err e = hf_snapshot_build(s->g->net, s->conf, &snap, &s->why);

	if (e == HF_OK) {
		s->conf = NULL;
		e = hf_net_publish(s->g->net, snap, &s->why);
		if (e != HF_OK)
			hf_snapshot_drop(s->g->net, snap);
	}
	if (e != HF_OK && s->why.n == 0)
		hf_w_str(&s->why, hf_err_text(e));
	return e == HF_OK ? HF_EXIT_DONE : HF_EXIT_SYSTEM;
}

static enum hf_exit http(struct start *s)
{
	struct gateway *g = s->g;
	struct hf_addr at = hf_net_conf(g->net)->gateway.http;
	uint8_t text[80];
	struct hf_writer w = hf_writer_on(text, sizeof text);

	if (!at.family)
		return HF_EXIT_DONE;
	g->http = hf_http_open(g->loop, &at, metrics_page, g, &s->why);
	hf_w_addr(&w, &at);
	if (g->http)
		hf_log(HF_LOG_INFO, "event=http address=%s", hf_log_text(hf_writer_view(&w)));
	return g->http ? HF_EXIT_DONE : HF_EXIT_SYSTEM;
}

static enum hf_exit drop_root(struct start *s)
{
	return places_drop_root(&s->g->places, &s->why) == HF_OK ? HF_EXIT_DONE : HF_EXIT_SYSTEM;
}

static enum hf_exit threads(struct start *s)
{
	enum hf_err e = hf_lines_start(s->g->session_log);

	if (e == HF_OK)
		e = hf_net_start(s->g->net);

	if (e != HF_OK)
		hf_w_printf(&s->why, "workers: %s", hf_err_text(e));
	return e == HF_OK ? HF_EXIT_DONE : HF_EXIT_SYSTEM;
}

static enum hf_exit say_ready(struct start *s)
{
	struct gateway *g = s->g;

	reload_log_options(g, hf_net_conf(g->net));
	hf_log(HF_LOG_INFO, "event=start version=%s pid=%ld file=%s", HF_VERSION, (long)getpid(), g->args->file);
	listening_log(g);
	hf_log(HF_LOG_INFO, "event=ready pid=%ld boot=%08lx workers=%u admin=%s", (long)getpid(), (unsigned long)g->site.boot, hf_net_workers(g->net),
	       hf_log_text(hf_bytes_str(g->places.admin[0] ? g->places.admin : "off")));
	notify("READY=1");
	return HF_EXIT_DONE;
}

typedef enum hf_exit start_fn(struct start *s);
static start_fn *const steps[] = {load, warnings, descriptors, dirs, secret, control, net, listen_all, http, drop_root, threads, say_ready};

static enum hf_exit go_up(struct gateway *g)
{
	uint8_t text[1024], escaped[4 * sizeof text];
	struct start s = {.g = g, .why = hf_writer_on(text, sizeof text)};
	struct hf_writer w = hf_writer_on(escaped, sizeof escaped);
	enum hf_exit code = HF_EXIT_DONE;

	for (size_t i = 0; i < sizeof steps / sizeof steps[0] && code == HF_EXIT_DONE; i++)
		code = steps[i](&s);
	report_print(g->args->file, &s.findings);
	hf_findings_free(&s.findings);
	hf_conf_free(s.conf);
	hf_w_escaped(&w, hf_writer_view(&s.why));
	if (s.why.n)
		hf_log(HF_LOG_ERROR, "event=start-failed error=\"%.*s\"", (int)w.n, (char *)escaped);
	return code;
}

/* Whatever of it is there, in the opposite order. */
static void go_down(struct gateway *g)
{
	admin_close(g->admin);
	hf_http_close(g->http);
	upkeep_free(g->upkeep);
	listening_free(g);
	hf_findings_free(&g->warned);
	for (size_t i = 0; i < sizeof g->signals / sizeof g->signals[0]; i++)
		hf_watch_free(g->signals[i]);
	if (g->net)
		hf_net_stop(g->net);
	(void)hf_lines_stop(g->session_log); /* behind the flows, which tell their end; what a file that blocks holds is left to it */
	hf_loop_free(g->loop);
}

enum hf_exit hf_app_run(const struct hf_app_args *args)
{
	struct gateway g = {.args = args, .start_ms = hf_clock_ms()};
	enum hf_exit code = go_up(&g);

	if (code == HF_EXIT_DONE) {
		hf_loop_run(g.loop);
		notify("STOPPING=1");
		hf_log(HF_LOG_INFO, "event=stop pid=%ld", (long)getpid());
	}
	go_down(&g);
	return code;
}

enum hf_exit hf_app_check(const struct hf_app_args *args)
{
	struct gateway g = {.args = args};
	struct start s = {.g = &g};
	enum hf_exit code = load(&s);

	if (code == HF_EXIT_DONE && secret_open(&g.places, false, args->accept_new_hash, &g.site, &s.findings) != HF_OK)
		code = HF_EXIT_CONFIG;
	report_print(args->file, &s.findings);
	if (code == HF_EXIT_DONE)
		printf("%s: good, %u warning%s\n", args->file, s.findings.n, s.findings.n == 1 ? "" : "s");
	else
		fprintf(stderr, "%s: refused, %u error%s\n", args->file, s.findings.errors, s.findings.errors == 1 ? "" : "s");
	hf_findings_free(&s.findings);
	hf_conf_free(s.conf);
	return code;
}

static void print_line(void *arg, const char *text)
{
	fprintf(arg, "%s\n", text);
}

enum hf_exit hf_app_print_config(void)
{
	hf_conf_print(print_line, stdout);
	return fflush(stdout) == 0 ? HF_EXIT_DONE : HF_EXIT_SYSTEM;
}
