/* A reload: parse all, check all, build, publish; or nothing happens. Called for SIGHUP and by the admin socket. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gateway.h"
#include "report.h"

void reload_log_options(struct gateway *g, const struct hf_conf *c)
{
	hf_log_set_level((enum hf_level)c->gateway.log_level);
	hf_log_to_syslog(c->gateway.log_to == 1);
	if (hf_lines_open(g->session_log, c->gateway.session_log) != HF_OK)
		hf_log(HF_LOG_ERROR, "event=session-log error=\"the path is too long\"");
}

/* Everything that can be said before anything is opened. */
static enum hf_err check(struct gateway *g, struct hf_conf *next, struct hf_findings *f)
{
	enum hf_err may = hf_conf_may_reload(hf_net_conf(g->net), next, f);
	enum hf_err secret = secret_same(&g->places, &g->site, f);

	return may != HF_OK ? may : secret;
}

/* Takes `next` over, whatever comes of it. */
static enum hf_err put_in_force(struct gateway *g, struct hf_conf *next, struct hf_findings *f)
{
	uint8_t buf[1400]; /* a path has up to 1024 */
	struct hf_writer why = hf_writer_on(buf, sizeof buf);
	struct hf_snapshot *s = NULL;
	enum hf_err e = hf_snapshot_build(g->net, next, &s, &why);

	if (e != HF_OK) {
		hf_conf_free(next);
		goto out;
	}
	e = hf_net_publish(g->net, s, &why);
	if (e == HF_OK)
		listening_log(g);
	else
		hf_snapshot_drop(g->net, s);
out:
	if (e != HF_OK)
		report_add(f, true, why.n ? hf_writer_view(&why) : hf_bytes_str(hf_err_text(e)));
	return e;
}

static void notify_reloading(void)
{
	struct timespec now;
	char state[80];

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	notify(state);
}

enum hf_err reload(struct gateway *g, struct hf_findings *f)
{
	struct hf_conf *next = NULL;
	enum hf_err e;

	notify_reloading();
	e = hf_conf_load(g->args->file, &next, f);
	if (e == HF_OK) {
		e = check(g, next, f);
		if (e == HF_OK)
			e = put_in_force(g, next, f);
		else
			hf_conf_free(next);
	}
	report_news(f, &g->warned);
	report_log(g->args->file, f, "reload-refused", "config-warning");
	if (e == HF_OK) {
		reload_log_options(g, hf_net_conf(g->net));
		upkeep_kick(g->upkeep);
		hf_log(HF_LOG_INFO, "event=reload file=%s generation=%u", g->args->file, hf_net_generation(g->net));
	}
	notify("READY=1");
	return e;
}
