/* From sections to lists of pools and services, and who belongs to whom; see load.h. Must not know any option but protocol and pool by
 * name. */
#include "holdfast/log.h"
#include "load.h"
#include "nearest.h"
#include "poolopt.h"

static const struct { const char *kind; bool named; } kinds[] = {{"gateway", false}, {"service", true}, {"pool", true}};
#define KINDS 3

static unsigned kind_of(const struct ini_section *s)
{
	unsigned k = 0;

	while (k < KINDS && !hf_bytes_eq(s->kind, hf_bytes_str(kinds[k].kind)))
		k++;
	return k;
}

static bool right_form(const struct ini_section *s, struct finding_to *to)
{
	unsigned k = kind_of(s);
	struct nearest near = nearest_to(s->kind);

	if (k == KINDS) {
		for (k = 0; k < KINDS; k++)
			nearest_try(&near, kinds[k].kind);
		finding_error(to, s->line, "[%s]: unknown section%s", hf_log_text(s->kind), near.name ? nearest_text(&near) : "; there are [gateway], [service NAME] and [pool NAME]");
		return false;
	}
	if (kinds[k].named != (s->name.n > 0)) {
		finding_error(to, s->line, kinds[k].named ? "[%s]: needs a name: [%s NAME]" : "[%s]: has no name of its own: [%s]", kinds[k].kind, kinds[k].kind);
		return false;
	}
	return true;
}

/* An earlier section of the same kind and name. */
static const struct ini_section *earlier(const struct load *l, const struct ini_section *s)
{
	for (const struct ini_section *o = l->doc.sections; o < s; o++)
		if (hf_bytes_eq(o->kind, s->kind) && hf_bytes_eq(o->name, s->name))
			return o;
	return NULL;
}

static bool make_lists(struct load *l)
{
	unsigned n[KINDS + 1] = {0};

	for (unsigned i = 0; i < l->doc.n_sections; i++)
		n[kind_of(&l->doc.sections[i])]++;
	l->conf.services = l->services = confmem_alloc(&l->mem, n[1] * sizeof *l->services);
	l->service_parts = confmem_alloc(&l->mem, n[1] * sizeof *l->service_parts);
	l->conf.pools = l->pools = confmem_alloc(&l->mem, n[2] * sizeof *l->pools);
	l->pool_parts = confmem_alloc(&l->mem, n[2] * sizeof *l->pool_parts);
	return l->services && l->service_parts && l->pools && l->pool_parts;
}

static void add_service(struct load *l, const struct ini_section *s)
{
	struct hf_conf_service *v = &l->services[l->conf.n_services];

	memcpy(v->name, s->name.p, s->name.n);
	v->line = s->line;
	l->service_parts[l->conf.n_services++].section = s;
}

static void add_pool(struct load *l, const struct ini_section *s)
{
	struct hf_conf_pool *p = &l->pools[l->conf.n_pools];

	memcpy(p->name, s->name.p, s->name.n);
	p->line = s->line;
	l->pool_parts[l->conf.n_pools++].section = s;
}

void link_sections(struct load *l, struct finding_to *to)
{
	if (!make_lists(l)) {
		to->no_memory = true;
		return;
	}
	for (unsigned i = 0; i < l->doc.n_sections; i++) {
		const struct ini_section *s = &l->doc.sections[i], *o;

		if (!right_form(s, to))
			continue;
		o = earlier(l, s);
		if (o)
			finding_error(to, s->line, "[%s%s%s]: stands in line %u already", hf_log_text(s->kind), s->name.n ? " " : "", hf_log_text(s->name), o->line);
		else if (kind_of(s) == 0)
			l->gateway = s;
		else if (kind_of(s) == 1)
			add_service(l, s);
		else
			add_pool(l, s);
	}
}

static const struct hf_front *find_front(const struct ini_entry *e, struct finding_to *to)
{
	struct nearest near = nearest_to(e->value);
	char text[128] = "";
	struct hf_writer w = hf_writer_on(text, sizeof text - 1);

	for (unsigned i = 0; hf_fronts[i]; i++) {
		if (hf_bytes_eq(e->value, hf_bytes_str(hf_fronts[i]->name)))
			return hf_fronts[i];
		nearest_try(&near, hf_fronts[i]->name);
		hf_w_printf(&w, "%s%s", i ? " | " : "", hf_fronts[i]->name);
	}
	finding_error(to, e->line, "protocol = %s: %s%s", hf_log_text(e->value), text, nearest_text(&near));
	return NULL;
}

static struct hf_conf_pool *find_pool(struct load *l, const struct ini_entry *e, struct hf_bytes name, struct finding_to *to)
{
	struct nearest near = nearest_to(name);

	for (unsigned i = 0; i < l->conf.n_pools; i++) {
		if (hf_bytes_eq(name, hf_bytes_str(l->pools[i].name)))
			return &l->pools[i];
		if (!finding_full(to))
			nearest_try(&near, l->pools[i].name);
	}
	finding_error(to, e->line, "%s = %s: there is no [pool %s]%s", hf_log_text(e->key), hf_log_text(e->value), hf_log_text(name), nearest_text(&near));
	return NULL;
}

/* The pool of a line of the service, which has the service's protocol from here on. */
static void give_front(const struct hf_conf_service *v, struct hf_conf_pool *p, const struct ini_entry *e, struct finding_to *to)
{
	if (p->front && v->front && p->front != v->front)
		finding_error(to, e->line, "%s = %s: a service above uses it for protocol %s; a pool has one protocol", hf_log_text(e->key), hf_log_text(e->value), p->front->name);
	else if (v->front)
		p->front = v->front;
}

static bool names_pools(const struct hf_front *f, struct hf_bytes key)
{
	struct optrows rows = optrows_of(f);
	const struct hf_option *row = optrows_find(&rows, key);

	return row && row->type == HF_OPT_POOLS && row->sections & HF_IN_SERVICE;
}

/* The pools that lines of the front's options name, behind the service's own. */
static void link_choices(struct load *l, unsigned i, struct finding_to *to)
{
	struct hf_conf_service *v = &l->services[i];
	const struct ini_section *s = l->service_parts[i].section;
	struct hf_conf_choice *list = confmem_alloc(&l->mem, HF_POOLS_MAX * sizeof *list);

	if (!list) {
		to->no_memory = true;
		return;
	}
	v->choices = l->service_parts[i].choices = list;
	list[0].pool = v->pool;
	v->n_choices = 1;
	for (unsigned k = 0; v->front && k < s->n; k++) {
		const struct ini_entry *e = &l->doc.entries[s->first + k];
		struct hf_conf_pool *p = names_pools(v->front, e->key) && poolopt_name(e->value).n ? find_pool(l, e, poolopt_name(e->value), to) : NULL;

		if (!p)
			continue;
		give_front(v, p, e, to);
		if (!hf_conf_sends_to(v, p) && v->n_choices < HF_POOLS_MAX) /* more lines than that are refused where they are read */
			list[v->n_choices++].pool = p;
	}
}

void link_services(struct load *l, struct finding_to *to)
{
	for (unsigned i = 0; i < l->conf.n_services; i++) {
		struct hf_conf_service *v = &l->services[i];
		const struct ini_section *s = l->service_parts[i].section;
		const struct ini_entry *protocol = ini_find(&l->doc, s, "protocol"), *pool = ini_find(&l->doc, s, "pool");
		struct hf_conf_pool *p = pool ? find_pool(l, pool, pool->value, to) : NULL;

		v->pool = p;
		v->front = protocol ? find_front(protocol, to) : NULL;
		if (!protocol)
			finding_error(to, s->line, "[service %s]: has no protocol line", v->name);
		if (!pool)
			finding_error(to, s->line, "[service %s]: has no pool line", v->name);
		if (p)
			give_front(v, p, pool, to);
		link_choices(l, i, to);
	}
}
