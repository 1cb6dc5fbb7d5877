/* Findings on their way to people; see report.h. It knows their form, not what they are about. */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

#include "json.h"

void report_add(struct hf_findings *f, bool error, struct hf_bytes text)
{
	struct hf_finding *list = f->list;
	unsigned cap = f->cap ? f->cap * 2 : 8;

	f->errors += error;
	if (f->n == f->cap) {
		list = realloc(f->list, cap * sizeof *list);
		if (!list)
			return; /* the count says that there was one */
		f->list = list;
		f->cap = cap;
	}
	list[f->n].line = 0;
	list[f->n].error = error;
	snprintf(list[f->n].text, sizeof list[f->n].text, "%.*s", (int)text.n, (const char *)text.p);
	f->n++;
}

static bool has(const struct hf_findings *f, const char *text)
{
	for (unsigned i = 0; i < f->n; i++)
		if (strcmp(f->list[i].text, text) == 0)
			return true;
	return false;
}

/* By their texts: a warning whose line moved is the same. Without memory they are said again, which does no harm. */
void report_news(struct hf_findings *f, struct hf_findings *said)
{
	struct hf_findings all = {0};
	unsigned kept = 0;

	for (unsigned i = 0; i < f->n; i++) {
		const struct hf_finding x = f->list[i];

		if (!x.error)
			report_add(&all, false, hf_bytes_str(x.text));
		if (x.error || !has(said, x.text))
			f->list[kept++] = x;
	}
	f->n = kept;
	hf_findings_free(said);
	*said = all;
}

static void write_one(struct hf_writer *w, const char *file, const struct hf_finding *f)
{
	hf_w_str(w, file);
	if (f->line)
		hf_w_printf(w, ":%u", f->line);
	hf_w_str(w, f->error ? ": " : ": warning: ");
	hf_w_str(w, f->text);
}

#define ONE_MAX 4608 /* a path and a finding */

void report_print(const char *file, const struct hf_findings *f)
{
	uint8_t buf[ONE_MAX];

	for (unsigned i = 0; i < f->n; i++) {
		struct hf_writer w = hf_writer_on(buf, sizeof buf);

		write_one(&w, file, &f->list[i]);
		fprintf(stderr, "%.*s\n", (int)w.n, (const char *)buf);
	}
	if (f->errors && f->n == 0)
		fprintf(stderr, "%s: no memory\n", file);
}

void report_log(const char *file, const struct hf_findings *f, const char *error_event, const char *warning_event)
{
	uint8_t buf[sizeof f->list->text * 4];

	for (unsigned i = 0; i < f->n; i++) {
		const struct hf_finding *one = &f->list[i];
		struct hf_writer w = hf_writer_on(buf, sizeof buf);

		hf_w_escaped(&w, hf_bytes_str(one->text));
		hf_log(one->error ? HF_LOG_ERROR : HF_LOG_WARN, "event=%s file=%s line=%u %s=\"%.*s\"", one->error ? error_event : warning_event, file, one->line,
		       one->error ? "error" : "warning", (int)w.n, (const char *)buf);
	}
}

void report_json(const char *file, const struct hf_findings *f, struct json *j)
{
	uint8_t buf[ONE_MAX];

	json_open(j, HF_F_FINDINGS, '[');
	for (unsigned i = 0; i < f->n; i++) {
		struct hf_writer w = hf_writer_on(buf, sizeof buf);

		write_one(&w, file, &f->list[i]);
		json_text(j, JSON_ITEM, hf_writer_view(&w));
	}
	json_close(j, ']');
}
