/* The commands of the admin socket: what each does and answers. Field names come from holdfast/fields.h.
 * Called by admin.c with one line; knows no socket. */
#include <unistd.h>

#include "holdfast/clock.h"
#include "holdfast/log.h"
#include "json.h"
#include "list.h"
#include "report.h"
#include "target.h"

static void begin_ok(struct json *j)
{
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
}

static enum hf_err status(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	(void)c;
	(void)why;
	begin_ok(j);
	json_str(j, HF_F_VERSION, HF_VERSION);
	json_hex(j, HF_F_BOOT, g->site.boot, 8);
	json_uint(j, HF_F_PID, (uint64_t)getpid());
	json_uint(j, HF_F_UPTIME_S, (hf_clock_ms() - g->start_ms) / 1000);
	json_uint(j, HF_F_WORKERS, hf_net_workers(g->net));
	json_str(j, HF_F_CONFIG_FILE, g->args->file);
	json_uint(j, HF_F_CONFIG_GENERATION, hf_net_generation(g->net));
	list_session_log(g, j);
	list_export(g, j);
	list_services(g, j);
	list_pools(g, j);
	json_close(j, '}');
	return HF_OK;
}

static enum hf_err servers(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	(void)c;
	(void)why;
	begin_ok(j);
	list_servers(g, j);
	json_close(j, '}');
	return HF_OK;
}

static bool takes_sessions(const struct hf_engine *e)
{
	for (uint16_t id = 1; id <= hf_engine_last_id(e); id++)
		if (hf_engine_state(e, id, NULL) == HF_STATE_UP)
			return true;
	return false;
}

/* Done as it was asked for, as somebody may want to empty all; but nobody should learn of it from the first call that is refused. */
static void warn_closed(const struct target *t, struct json *j)
{
	if (takes_sessions(t->engine))
		return;
	hf_log(HF_LOG_WARN, "event=pool-closed pool=%s note=\"no server of it takes new sessions\"", t->pool->name);
	json_str(j, HF_F_WARNING, "no server of the pool takes new sessions now: they are refused until one is up, on, undrained and has a weight");
}

/* What a member is like after a change: read again, because the engine decides. */
static void changed(struct gateway *g, const struct target *t, const char *event, struct json *j)
{
	struct hf_server_view v = t->view;

	(void)hf_engine_server(t->engine, t->id, &v);
	hf_log(HF_LOG_INFO, "event=%s server=%s/%s state=%s weight=%u file_weight=%u", event, t->pool->name, v.name, hf_state_name(v.state), v.weight, v.file_weight);
	upkeep_kick(g->upkeep);
	begin_ok(j);
	json_str(j, HF_F_POOL, t->pool->name);
	json_str(j, HF_F_SERVER, v.name);
	json_str(j, HF_F_STATE, hf_state_name(v.state));
	list_marks(&v, j);
	json_uint(j, HF_F_WEIGHT, v.weight);
	json_uint(j, HF_F_FILE_WEIGHT, v.file_weight);
	warn_closed(t, j);
	json_close(j, '}');
}

static enum hf_err mark(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	static const struct { const char *event; enum hf_mark mark; bool on; } marks[] = {
		[COMMAND_DRAIN] = {"drain", HF_MARK_DRAIN, true}, [COMMAND_UNDRAIN] = {"undrain", HF_MARK_DRAIN, false},
		[COMMAND_OFF] = {"off", HF_MARK_OFF, true}, [COMMAND_ON] = {"on", HF_MARK_OFF, false},
	};
	struct target t;
	enum hf_err e = target_find(g, c, &t, why);

	if (e != HF_OK)
		return e;
	hf_engine_mark(t.engine, t.id, marks[c->kind].mark, marks[c->kind].on, hf_clock_ms());
	if (c->kind == COMMAND_OFF)
		hf_net_end_off(g->net);
	changed(g, &t, marks[c->kind].event, j);
	return HF_OK;
}

static enum hf_err weight(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	struct target t;
	enum hf_err e = target_find(g, c, &t, why);

	if (e != HF_OK)
		return e;
	hf_engine_weigh(t.engine, t.id, c->weight_of_file ? HF_WEIGHT_FILE : c->weight, hf_clock_ms());
	changed(g, &t, "weight", j);
	return HF_OK;
}

static enum hf_err reload_now(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	struct hf_findings f = {0};
	enum hf_err e = reload(g, &f);

	(void)c;
	(void)why;
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, e == HF_OK);
	if (e != HF_OK)
		json_str(j, HF_F_ERROR, "the configuration was refused; nothing has changed");
	else
		json_uint(j, HF_F_CONFIG_GENERATION, hf_net_generation(g->net));
	report_json(g->args->file, &f, j);
	json_close(j, '}');
	hf_findings_free(&f);
	return HF_OK;
}

static enum hf_err where(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	return list_where(g, c, j, why);
}

static enum hf_err (*const run[])(struct gateway *, const struct command *, struct json *, struct hf_writer *) = {
	[COMMAND_STATUS] = status, [COMMAND_SERVERS] = servers, [COMMAND_WHERE] = where, [COMMAND_DRAIN] = mark, [COMMAND_UNDRAIN] = mark,
	[COMMAND_OFF] = mark, [COMMAND_ON] = mark, [COMMAND_WEIGHT] = weight, [COMMAND_RELOAD] = reload_now, [COMMAND_EXPLAIN] = explain,
	[COMMAND_SIMULATE] = simulate, [COMMAND_SESSIONS] = sessions, [COMMAND_MOVE] = session_change, [COMMAND_FORGET] = session_change,
	[COMMAND_TOKEN] = token,
	[COMMAND_METRICS] = list_metrics, [COMMAND_TRACE] = trace,
};

/* A command that fails has written nothing. */
struct errand *answer(struct gateway *g, struct hf_bytes line, struct json *j)
{
	uint8_t text[2048];
	struct hf_writer why = hf_writer_on(text, sizeof text);
	struct command c;
	enum hf_err e = command_read(line, &c, &why);

	g->errand = NULL;
	if (e == HF_OK)
		e = run[c.kind](g, &c, j, &why);
	if (e == HF_OK)
		return g->errand;
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, false);
	json_text(j, HF_F_ERROR, why.n ? hf_writer_view(&why) : hf_bytes_str(hf_err_text(e)));
	json_close(j, '}');
	return NULL;
}
