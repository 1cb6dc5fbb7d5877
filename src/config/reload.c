/* What a running gateway cannot take over from a new file; see holdfast/config.h. Reads two configurations, changes none.
 * Called by app before a reload builds anything. */
#include <stdio.h>

#include "load.h"
#include "optval.h"

/* One table of one section, as it was and as it would be. */
struct pair {
	struct optrows rows;
	unsigned section;
	const void *now, *next;
	const struct ini_section *now_section, *next_section;
	const struct hf_front *front;
	const char *where;
	unsigned line; /* of the section, for what it does not say */
};

/* A custom value is known by its text alone. */
static struct hf_bytes text_of(const struct load *l, const struct ini_section *s, const struct hf_option *row, const struct hf_front *front)
{
	const struct ini_entry *e = ini_find(&l->doc, s, row->name);
	const char *dflt = optrows_default(row, front);

	return e ? e->value : dflt ? hf_bytes_str(dflt) : HF_NONE;
}

static void compare(const struct load *now, const struct load *next, const struct pair *p, struct finding_to *to)
{
	for (unsigned i = 0; i < p->rows.n; i++) {
		const struct hf_option *row = &p->rows.rows[i];
		const struct ini_entry *e = ini_find(&next->doc, p->next_section, row->name);
		bool same;

		if (row->reload != HF_RELOAD_RESTART || !(row->sections & p->section) || optrows_is_special(row))
			continue;
		if (row->type == HF_OPT_CUSTOM)
			same = hf_bytes_eq(text_of(now, p->now_section, row, p->front), text_of(next, p->next_section, row, p->front));
		else
			same = optval_same(row, p->now, p->next);
		if (!same)
			finding_error(to, e ? e->line : p->line, "%s%s: %s changes only with a restart", p->where, e ? "" : " (by default)", row->name);
	}
}

static void compare_gateway(const struct load *now, const struct load *next, struct finding_to *to)
{
	struct pair p = {optrows_gateway, HF_IN_GATEWAY, &now->conf.gateway, &next->conf.gateway, now->gateway, next->gateway, NULL, "[gateway]",
		next->gateway ? next->gateway->line : 1};

	compare(now, next, &p, to);
}

static void compare_pool(const struct load *now, unsigned i, const struct load *next, unsigned j, struct finding_to *to)
{
	const struct hf_conf_pool *a = &now->pools[i], *b = &next->pools[j];
	char where[80];
	struct pair p = {optrows_pool, HF_IN_POOL, a, b, now->pool_parts[i].section, next->pool_parts[j].section, b->front, where, b->line};

	snprintf(where, sizeof where, "[pool %s]", b->name);
	if (a->front && b->front && a->front != b->front)
		finding_error(to, b->line, "%s: its protocol changes only with a restart, or under another name", where);
	else if (a->front && b->front) /* what no service uses has no protocol's defaults, and is not in force */
		compare(now, next, &p, to);
}

static void compare_service(const struct load *now, unsigned i, const struct load *next, unsigned j, struct finding_to *to)
{
	const struct hf_conf_service *a = &now->services[i], *b = &next->services[j];
	const struct ini_entry *e = ini_find(&next->doc, next->service_parts[j].section, "protocol");
	char where[80];
	struct pair p = {optrows_service, HF_IN_SERVICE, a, b, now->service_parts[i].section, next->service_parts[j].section, b->front, where, b->line};

	snprintf(where, sizeof where, "[service %s]", b->name);
	if (a->front != b->front) {
		finding_error(to, e->line, "%s: protocol changes only with a restart, or under another name", where);
		return;
	}
	compare(now, next, &p, to);
	p.rows = optrows_of(b->front);
	p.now = a->front_conf;
	p.next = b->front_conf;
	compare(now, next, &p, to);
	p.section = HF_IN_POOL;
	p.now_section = now->pool_parts[a->pool - now->pools].section;
	p.next_section = next->pool_parts[b->pool - next->pools].section;
	p.line = b->pool->line;
	compare(now, next, &p, to);
}

enum hf_err hf_conf_may_reload(const struct hf_conf *a, const struct hf_conf *b, struct hf_findings *f)
{
	const struct load *now = (const struct load *)a, *next = (const struct load *)b;
	struct finding_to to = {.list = f, .first = f->n};

	compare_gateway(now, next, &to);
	for (unsigned j = 0; j < b->n_pools; j++)
		for (unsigned i = 0; i < a->n_pools; i++)
			if (strcmp(a->pools[i].name, b->pools[j].name) == 0)
				compare_pool(now, i, next, j, &to);
	for (unsigned j = 0; j < b->n_services; j++)
		for (unsigned i = 0; i < a->n_services; i++)
			if (strcmp(a->services[i].name, b->services[j].name) == 0)
				compare_service(now, i, next, j, &to);
	finding_sort(&to);
	return to.no_memory ? HF_ENOMEM : to.errors ? HF_EINVAL : HF_OK;
}
