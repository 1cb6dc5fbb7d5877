/* The reference: every option as a file that is itself valid; see holdfast/config.h. Called for --print-config, which makes
 * conf/holdfast.ini. The rows say all there is to say; each protocol gets an example service and pool at documentation addresses. */
#include <stdarg.h>
#include <stdio.h>

#include "optrows.h"
#include "optval.h"

#define COLUMNS 110 /* of comments: wide enough for a sentence, narrow enough for a terminal */

struct out {
	void (*line)(void *arg, const char *text);
	void *arg;
};

static void say(const struct out *o, const char *fmt, ...) HF_PRINTF(2, 3);

static void say(const struct out *o, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	o->line(o->arg, text);
}

/* A comment, broken at blanks. */
static void comment(const struct out *o, struct hf_bytes b)
{
	while (b.n) {
		size_t n = b.n;

		if (n > COLUMNS)
			for (n = COLUMNS; n > 1 && b.p[n] != ' ';)
				n--;
		say(o, "# %.*s", (int)n, (const char *)b.p);
		b = hf_bytes_trim(hf_bytes_sub(b, n, b.n));
	}
}

/* "off | 100ms..10m", "1..64 threads", "path" */
static void write_form(struct hf_writer *w, const struct hf_option *row, const struct hf_front *front)
{
	bool text = row->type == HF_OPT_TEXT && row->unit && *row->unit;

	if (text)
		hf_w_printf(w, "%s, ", row->unit);
	optval_range(row, w);
	if (!text && row->unit && *row->unit)
		hf_w_printf(w, "%s%s", row->type == HF_OPT_CUSTOM || row->type == HF_OPT_POOLS || row->type == HF_OPT_TIME ? "" : " ", row->type == HF_OPT_TIME ? "" : row->unit);
	if (optrows_takes_probe(row) && front && front->probe_name)
		hf_w_printf(w, " | %s", front->probe_name);
}

static void explain(const struct out *o, const struct hf_option *row, const struct hf_front *front)
{
	static const char *const reload[] = {"", " A change holds for what is new.", " A change takes a restart."};
	uint8_t room[1500];
	struct hf_writer w = hf_writer_on(room, sizeof room);
	size_t help;

	hf_w_str(&w, row->help);
	hf_w_str(&w, " (");
	help = w.n;
	write_form(&w, row, front);
	if (w.n == help)
		w.n -= 2; /* the row says no form */
	else
		hf_w_str(&w, ")");
	hf_w_str(&w, reload[row->reload]);
	if ((row->sections & HF_IN_SERVICE) && (row->sections & HF_IN_POOL))
		hf_w_str(&w, " May stand in [service NAME] too.");
	comment(o, hf_writer_view(&w));
}

/* Once a row: in the pool, if it may stand there. */
static bool shown_here(const struct hf_option *row, unsigned section)
{
	return (row->sections & section) && !(section == HF_IN_SERVICE && (row->sections & HF_IN_POOL));
}

static void options(const struct out *o, const struct optrows *rows, unsigned section, const struct hf_front *front)
{
	for (unsigned i = 0; i < rows->n; i++) {
		const struct hf_option *row = &rows->rows[i];
		const char *dflt = optrows_default(row, front);

		if (!shown_here(row, section) || optrows_is_special(row))
			continue;
		say(o, "%s", "");
		explain(o, row, front);
		say(o, "#%s =%s%s", row->name, dflt && *dflt ? " " : "", dflt ? dflt : "");
	}
}

static void special(const struct out *o, const struct optrows *rows, const char *name)
{
	say(o, "%s", "");
	explain(o, optrows_find(rows, hf_bytes_str(name)), NULL);
}

static void protocol(const struct out *o, const struct hf_front *f, unsigned nth)
{
	struct optrows own = optrows_of(f);

	say(o, "%s", "");
	say(o, "# ---- protocol %s ----", f->name);
	say(o, "%s", "");
	say(o, "[service %s]", f->name);
	special(o, &optrows_service, "protocol");
	say(o, "protocol = %s", f->name);
	special(o, &optrows_service, "listen");
	say(o, "listen = %s://0.0.0.0:%u", hf_transport_name(f->server_transport), f->port);
	special(o, &optrows_service, "pool");
	say(o, "pool = %s-servers", f->name);
	options(o, &optrows_service, HF_IN_SERVICE, f);
	options(o, &own, HF_IN_SERVICE, f);
	say(o, "%s", "");
	say(o, "[pool %s-servers]", f->name);
	special(o, &optrows_pool, "server");
	for (unsigned i = 1; i <= 2; i++) /* RFC 5737 */
		say(o, "server = %s%u %s://192.0.2.%u:%u", f->name, i, hf_transport_name(f->server_transport), 10 * (nth + 1) + i, f->port);
	options(o, &optrows_pool, HF_IN_POOL, f);
	options(o, &own, HF_IN_POOL, f);
}

void hf_conf_print(void (*line)(void *arg, const char *text), void *arg)
{
	struct out o = {line, arg};

	say(&o, "# Holdfast: every option with its default, made by holdfast --print-config.");
	say(&o, "# NAME = VALUE lines in sections; a comment has a line of its own. No quotes, no continuation lines. An unknown name is an error.");
	say(&o, "# Times: digits and ms, s, m, h or d. Sizes: digits, and k, m or g (1024). Switches: yes or no.");
	say(&o, "%s", "");
	say(&o, "[gateway]");
	options(&o, &optrows_gateway, HF_IN_GATEWAY, NULL);
	for (unsigned i = 0; hf_fronts[i]; i++)
		protocol(&o, hf_fronts[i], i);
}
