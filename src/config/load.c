/* A file becomes a configuration: a list of steps, each of which goes on to the end and notes what it finds; any error, and
 * nothing stands. It opens nothing but the file. Called by app at start, at a reload and for --check. */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "endpoint.h"
#include "optval.h"
#include "poolopt.h"

#define FRONTS_MAX 8

static void fill_gateway(struct load *l, struct finding_to *to)
{
	struct fill_target t = {.rows = optrows_gateway, .section = HF_IN_GATEWAY, .base = &l->conf.gateway};

	fill_defaults(optrows_gateway, HF_IN_GATEWAY, &l->conf.gateway, NULL);
	if (l->gateway)
		fill_section(&l->doc, l->gateway, &t, 1, to);
}

/* A front's struct with all its defaults. */
static void *new_blob(struct load *l, const struct hf_front *f, struct finding_to *to)
{
	void *blob = confmem_alloc(&l->mem, f->conf_size);

	if (blob)
		fill_defaults(optrows_of(f), HF_IN_SERVICE | HF_IN_POOL, blob, f);
	else
		to->no_memory = true;
	return blob;
}

/* The rows of a front; while it is not known, those of all, so that each line is checked once. Returns the count. */
static unsigned front_targets(struct load *l, const struct hf_front *f, unsigned section, void *blob, struct fill_target *t, struct finding_to *to)
{
	unsigned n = 0;

	if (f) {
		t[0] = (struct fill_target){.rows = optrows_of(f), .section = section, .base = blob};
		return 1;
	}
	for (; hf_fronts[n]; n++) {
		HF_BUG_ON(n == FRONTS_MAX);
		blob = new_blob(l, hf_fronts[n], to);
		if (!blob)
			break;
		t[n] = (struct fill_target){.rows = optrows_of(hf_fronts[n]), .section = section, .base = blob};
	}
	return n;
}

static void fill_pool(struct load *l, unsigned i, struct finding_to *to)
{
	struct hf_conf_pool *p = &l->pools[i];
	struct load_part *part = &l->pool_parts[i];
	struct fill_target t[1 + FRONTS_MAX];

	part->given = confmem_alloc(&l->mem, optrows_pool.n * sizeof *part->given);
	part->blob = p->front ? new_blob(l, p->front, to) : NULL;
	if (!part->given || (p->front && !part->blob)) {
		to->no_memory = true;
		return;
	}
	fill_defaults(optrows_pool, HF_IN_POOL, p, p->front);
	t[0] = (struct fill_target){.rows = optrows_pool, .section = HF_IN_POOL, .base = p, .given = part->given, .size = sizeof *p};
	fill_section(&l->doc, part->section, t, 1 + front_targets(l, p->front, HF_IN_POOL, part->blob, t + 1, to), to);
	endpoint_servers(&l->doc, part->section, p, &l->mem, to);
}

/* The front's options with each of the service's pools: what the service does not say is the pool's own. */
static void fill_choices(struct load *l, unsigned i, struct finding_to *to)
{
	struct hf_conf_service *v = &l->services[i];
	struct hf_conf_choice *c = l->service_parts[i].choices;

	poolopt_settle(v);
	c[0].front_conf = v->front_conf;
	for (unsigned k = 1; k < v->n_choices; k++) {
		const struct load_part *pool = &l->pool_parts[c[k].pool - l->pools];

		c[k].front_conf = confmem_alloc(&l->mem, v->front->conf_size);
		if (!c[k].front_conf) {
			to->no_memory = true;
			return;
		}
		memcpy(c[k].front_conf, v->front_conf, v->front->conf_size);
		for (unsigned r = 0; c[k].pool->front == v->front && r < v->front->n_options; r++) {
			const struct hf_option *row = &v->front->options[r];

			if (row->sections & HF_IN_POOL && !ini_find(&l->doc, l->service_parts[i].section, row->name))
				optval_copy(row, pool->blob, c[k].front_conf);
		}
	}
}

static void fill_service(struct load *l, unsigned i, struct finding_to *to)
{
	struct hf_conf_service *v = &l->services[i];
	struct hf_conf_pool nobody = {.line = 0}, *p = v->pool ? &l->pools[v->pool - l->pools] : &nobody;
	const struct ini_section *s = l->service_parts[i].section;
	struct load_part *pool = v->pool ? &l->pool_parts[v->pool - l->pools] : NULL;
	struct fill_target t[2 + FRONTS_MAX];

	v->front_conf = v->front ? new_blob(l, v->front, to) : NULL;
	if (v->front && !v->front_conf)
		return;
	if (v->front && pool && p->front == v->front)
		memcpy(v->front_conf, pool->blob, v->front->conf_size);
	fill_defaults(optrows_service, HF_IN_SERVICE, v, v->front);
	t[0] = (struct fill_target){.rows = optrows_service, .section = HF_IN_SERVICE, .base = v};
	t[1] = (struct fill_target){.rows = optrows_pool, .section = HF_IN_SERVICE, .base = p, .given = pool ? pool->given : NULL, .size = sizeof *p};
	fill_section(&l->doc, s, t, 2 + front_targets(l, v->front, HF_IN_SERVICE, v->front_conf, t + 2, to), to);
	endpoint_listens(&l->doc, s, v, &l->mem, to);
	if (v->front)
		fill_choices(l, i, to);
}

static void fill_pools(struct load *l, struct finding_to *to)
{
	for (unsigned i = 0; i < l->conf.n_pools && !to->no_memory; i++)
		fill_pool(l, i, to);
}

static void fill_services(struct load *l, struct finding_to *to)
{
	for (unsigned i = 0; i < l->conf.n_services && !to->no_memory; i++)
		fill_service(l, i, to);
}

/* Pools before services: a service starts from what its pool says. */
static void (*const steps[])(struct load *, struct finding_to *) = {
	link_sections, link_services, fill_gateway, fill_pools, fill_services, confcheck_pools, confcheck_fronts, confcheck_tls, confcheck_whole,
};

static struct load *new_load(const char *path, struct hf_bytes *text)
{
	struct load *l = confmem_realloc(NULL, sizeof *l);
	struct hf_bytes copy;

	if (!l)
		return NULL;
	memset(l, 0, sizeof *l);
	copy = confmem_copy(&l->mem, hf_bytes_str(path));
	l->conf.path = (char *)(uintptr_t)copy.p;
	*text = confmem_copy(&l->mem, *text); /* values are views of it */
	if (copy.p && text->p)
		return l;
	hf_conf_free(&l->conf);
	return NULL;
}

enum hf_err hf_conf_parse(const char *path, struct hf_bytes text, struct hf_conf **out, struct hf_findings *f)
{
	struct finding_to to = {.list = f, .first = f->n};
	struct load *l;

	*out = NULL;
	if (text.n > INI_FILE_MAX) {
		finding_error(&to, 0, "the file is longer than %u octets", INI_FILE_MAX);
		return to.no_memory ? HF_ENOMEM : HF_EINVAL;
	}
	l = new_load(path, &text);
	if (!l)
		return HF_ENOMEM;
	ini_read(text, &l->mem, &l->doc, &to);
	for (unsigned i = 0; i < sizeof steps / sizeof *steps && !to.no_memory; i++)
		steps[i](l, &to);
	finding_sort(&to);
	if (to.no_memory || to.errors) {
		hf_conf_free(&l->conf);
		return to.no_memory ? HF_ENOMEM : HF_EINVAL;
	}
	*out = &l->conf;
	return HF_OK;
}

void hf_conf_free(struct hf_conf *c)
{
	struct load *l = (struct load *)c;

	if (!l || l->owners-- > 0)
		return;
	confmem_free(&l->mem);
	free(l);
}

struct hf_conf *hf_conf_keep(struct hf_conf *c)
{
	((struct load *)c)->owners++;
	return c;
}

/* Reads up to one octet more than a file may have, so that a longer one shows. */
static enum hf_err read_all(const char *path, uint8_t *buf, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), e;
	ssize_t got;

	*n = 0;
	if (fd < 0)
		return HF_EIO;
	do {
		got = read(fd, buf + *n, INI_FILE_MAX + 1 - *n);
		if (got > 0)
			*n += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	e = errno;
	close(fd);
	errno = e;
	return got < 0 ? HF_EIO : HF_OK;
}

enum hf_err hf_conf_load(const char *path, struct hf_conf **out, struct hf_findings *f)
{
	struct finding_to to = {.list = f, .first = f->n};
	uint8_t *buf = confmem_realloc(NULL, INI_FILE_MAX + 1);
	enum hf_err e;
	size_t n;

	*out = NULL;
	if (!buf)
		return HF_ENOMEM;
	e = read_all(path, buf, &n);
	if (e == HF_OK)
		e = hf_conf_parse(path, hf_bytes_of(buf, n), out, f);
	else
		finding_error(&to, 0, "cannot be read: %s", strerror(errno));
	free(buf);
	return to.no_memory ? HF_ENOMEM : e;
}
