/* Findings; see finding.h. Knows nothing of what they are about. */
#include "finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "confmem.h"

bool finding_full(const struct finding_to *to)
{
	return to->list->n - to->first >= FINDINGS_MAX;
}

static struct hf_finding *room(struct finding_to *to)
{
	struct hf_findings *l = to->list;
	unsigned cap = l->cap ? 2 * l->cap : 16;
	void *p;

	if (l->n == l->cap) {
		p = confmem_realloc(l->list, cap * sizeof *l->list);
		if (!p) {
			to->no_memory = true;
			return NULL;
		}
		l->list = p;
		l->cap = cap;
	}
	return &l->list[l->n++];
}

void finding_add(struct finding_to *to, unsigned line, bool error, const char *fmt, ...)
{
	struct hf_finding *x;
	va_list ap;

	if (error) {
		to->errors++;
		to->list->errors++;
	}
	x = finding_full(to) ? NULL : room(to);
	if (!x)
		return;
	x->line = line;
	x->error = error;
	va_start(ap, fmt);
	vsnprintf(x->text, sizeof x->text, fmt, ap);
	va_end(ap);
}

/* Insertion keeps the order within a line; reports are nearly sorted as they come, one run a pass. */
void finding_sort(struct finding_to *to)
{
	unsigned n = to->list->n - to->first, kept = 0;
	struct hf_finding *a;

	if (!n)
		return;
	a = to->list->list + to->first;
	for (unsigned i = 1; i < n; i++) {
		struct hf_finding x = a[i];
		unsigned j = i;

		for (; j && a[j - 1].line > x.line; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
	for (unsigned i = 0; i < n; i++) {
		bool said = false;

		for (unsigned j = kept; !said && j && a[j - 1].line == a[i].line; j--)
			said = a[j - 1].error == a[i].error && strcmp(a[j - 1].text, a[i].text) == 0;
		if (!said)
			a[kept++] = a[i];
	}
	to->list->n = to->first + kept;
	if (to->errors > FINDINGS_MAX && kept == FINDINGS_MAX)
		snprintf(a[kept - 1].text, sizeof a->text, "more than %u findings; the rest is not listed", FINDINGS_MAX);
}

void hf_findings_free(struct hf_findings *f)
{
	free(f->list);
	memset(f, 0, sizeof *f);
}
