/* See listed.h. A server that SRV records name is known by its line, host and port, so that neither the order of an answer nor an address moves a
 * session; who is named no longer is removed as by a reload, and keeps what he has. Called by roster.c and discover.c. */
#include "listed.h"

#include <stdlib.h>

#include "holdfast/hash.h"
#include "holdfast/writer.h"

/* NAME:HOST:PORT, which no line of a file can be called; where that is too long NAME: and a number of HOST:PORT, the same at every gateway. */
static void name_of(const struct hf_conf_server *line, const struct srv_target *t, char out[64])
{
	static const uint8_t no_key[16]; /* what is hashed is an operator's own */
	uint8_t place[sizeof t->host + 8];
	struct hf_writer at = hf_writer_on(place, sizeof place), w = hf_writer_on((uint8_t *)out, HF_NAME_MAX);

	hf_w_printf(&at, "%s:%u", t->host, (unsigned)t->port);
	hf_w_printf(&w, "%s:", line->name);
	if (w.n + at.n <= HF_NAME_MAX)
		hf_w_bytes(&w, hf_writer_view(&at));
	else
		hf_w_printf(&w, "%016llx", (unsigned long long)hf_sip13(no_key, hf_writer_view(&at)));
	out[w.n] = 0;
}

/* RFC 2782's 0 to 65535 as 1 to 256, beside those of the same priority, as it means them: as they stand where they fit, else in proportion; all 0 are all
 * alike, and 0 beside others is as good as never. */
static uint32_t weight_of(const struct resolved_srv *said, const struct srv_target *t)
{
	uint32_t most = 0;

	for (unsigned i = 0; i < said->n; i++)
		if (said->target[i].priority == t->priority && said->target[i].weight > most)
			most = said->target[i].weight;
	if (!most)
		return 100;
	if (most > 256)
		return t->weight * 256u < most ? 1 : (t->weight * 256u + most / 2) / most;
	return t->weight ? t->weight : 1;
}

/* _SERVICE._PROTOCOL.DOMAIN: its certificate names the domain, whatever the host is called (RFC 5922 4). */
static struct hf_bytes domain_of(struct hf_bytes host)
{
	for (unsigned i = 0; i < 2; i++)
		host = hf_bytes_sub(host, hf_bytes_find(host, '.') + 1, host.n);
	return host;
}

static void begin(const struct hf_conf_pool *pool, const struct hf_conf_server *line, struct hf_conf_server *v)
{
	*v = *line;
	if (!v->tls_name.n && !pool->tls_name.n)
		v->tls_name = domain_of(line->host);
	v->host = HF_NONE;
}

/* A new one is as good as one that is up, and so is one that went down this moment: its name is found and its probes are answered in less, as a rule, and
 * the pool is not changed for every hiccup. */
#define GRACE_MS 3000

static bool is_up(struct hf_engine *e, const struct hf_conf_server *v, uint64_t now_ms)
{
	uint16_t id = hf_engine_find(e, hf_bytes_str(v->name));
	struct hf_server_view view;

	return !id || !hf_engine_server(e, id, &view) || view.removed || view.state == HF_STATE_UP || (view.state == HF_STATE_DOWN && now_ms < view.since_ms + GRACE_MS);
}

static unsigned as_said(const struct hf_conf_pool *pool, const struct hf_conf_server *line, const struct resolved_srv *said, struct hf_engine *e, uint64_t now_ms,
	struct hf_conf_server *out, char (*texts)[256])
{
	bool any_up = false;
	unsigned n = 0;

	for (unsigned i = 0; i < said->n && n < line->targets; i++) {
		const struct srv_target *t = &said->target[i];
		struct hf_conf_server *v = &out[n];

		if (any_up && t->priority != said->target[i - 1].priority)
			break; /* these only stand in */
		begin(pool, line, v);
		name_of(line, t, v->name);
		memcpy(texts[n], t->host, sizeof texts[n]);
		v->host = hf_bytes_str(texts[n]);
		v->addr = (struct hf_addr){.port = t->port};
		v->weight = weight_of(said, t);
		any_up |= is_up(e, v, now_ms);
		n++;
	}
	return n;
}

static unsigned as_kept(const struct hf_conf_pool *pool, const struct hf_conf_server *line, struct hf_engine *e, struct hf_conf_server *out)
{
	size_t own = strlen(line->name);
	unsigned n = 0;

	for (uint16_t id = 1; id <= hf_engine_last_id(e) && n < line->targets; id++) {
		struct hf_conf_server *v = &out[n];
		struct hf_member_record r;

		if (!hf_engine_record(e, id, &r) || r.removed_ms || strncmp(r.name, line->name, own) != 0 || r.name[own] != ':')
			continue;
		begin(pool, line, v);
		if (!place_kept(r.at, &v->addr, &v->transport))
			continue;
		memcpy(v->name, r.name, sizeof v->name);
		v->weight = r.file_weight;
		v->transport = line->transport;
		n++;
	}
	return n;
}

unsigned listed_expand(const struct hf_conf_pool *pool, const struct hf_conf_server *line, const struct resolved_srv *said, struct hf_engine *e, uint64_t now_ms,
	struct hf_conf_server *out, char (*texts)[256])
{
	return said ? as_said(pool, line, said, e, now_ms, out, texts) : as_kept(pool, line, e, out);
}

static size_t most_of(const struct hf_conf_pool *c)
{
	size_t n = 0;

	for (unsigned i = 0; i < c->n_servers; i++)
		n += c->servers[i].targets ? c->servers[i].targets : 1;
	return n;
}

static unsigned expand_all(const struct discover *d, const struct snap_pool *p, struct hf_conf_server *out, char (*texts)[256])
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->conf->n_servers; i++) {
		const struct hf_conf_server *s = &p->conf->servers[i];

		if (!s->targets)
			out[n++] = *s;
		else
			n += listed_expand(p->conf, s, discover_find(d, s->host), p->rt->engine, hf_clock_ms(), out + n, texts + n);
	}
	return n;
}

static struct hf_conf_server *room_for(const struct hf_conf_pool *c, char (**texts)[256])
{
	size_t n = most_of(c) + 1;
	struct hf_conf_server *list = calloc(n, sizeof *list + sizeof **texts);

	*texts = (char (*)[256])(list + n);
	return list;
}

enum hf_err listed_make(const struct discover *d, struct snap_pool *p)
{
	char (*texts)[256];

	p->listed = room_for(p->conf, &texts);
	if (!p->listed)
		return HF_ENOMEM;
	p->n_listed = expand_all(d, p, p->listed, texts);
	return HF_OK;
}

bool listed_is_other(const struct discover *d, const struct snap_pool *p)
{
	char (*texts)[256];
	struct hf_conf_server *now = most_of(p->conf) == p->conf->n_servers ? NULL : room_for(p->conf, &texts); /* no line names others */
	bool other;

	if (!now)
		return false;
	other = expand_all(d, p, now, texts) != p->n_listed;
	for (unsigned i = 0; !other && i < p->n_listed; i++)
		other = strcmp(now[i].name, p->listed[i].name) != 0;
	free(now);
	return other;
}
