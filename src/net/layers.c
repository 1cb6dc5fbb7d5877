/* Which layers (wire.h) a connection has, by its transport, and what of the configuration they need: the one place that knows. Called while a
 * snapshot is built; when a connection is accepted, or behind its PROXY header; and when one is dialled. Knows no protocol. */
#include "flow.h"
#include "holdfast/log.h"
#include "probe.h"
#include "tls.h"

/* ---- of a configuration ---- */

static bool listens_so(const struct hf_conf_service *c)
{
	for (unsigned i = 0; i < c->n_listens; i++)
		if (hf_transport_is_secure(c->listens[i].transport))
			return true;
	return false;
}

/* A server of it, or who comes by a listener and may be called back. */
static bool reaches_so(const struct hf_conf *conf, const struct hf_conf_pool *c)
{
	for (unsigned i = 0; i < c->n_servers; i++)
		if (hf_transport_is_secure(c->servers[i].transport))
			return true;
	for (unsigned i = 0; i < conf->n_services; i++)
		if (hf_conf_sends_to(&conf->services[i], c) && listens_so(&conf->services[i]))
			return true;
	return false;
}

/* False: it cannot be. *out NULL: there is no need. */
static bool serve(const struct hf_conf_service *c, const uint8_t *keys, struct tls **out, struct hf_writer *why)
{
	size_t before = why->n;

	if (!listens_so(c))
		return true;
	hf_w_printf(why, "service %s: ", c->name);
	*out = tls_serve(c, keys, why);
	if (*out)
		why->n = before;
	return *out != NULL;
}

static bool reach(const struct hf_conf *conf, const struct hf_conf_pool *c, struct tls **out, struct hf_writer *why)
{
	size_t before = why->n;

	if (!reaches_so(conf, c))
		return true;
	hf_w_printf(why, "pool %s: ", c->name);
	*out = tls_reach(c, why);
	if (*out)
		why->n = before;
	return *out != NULL;
}

bool layers_of_service(const struct hf_net *net, struct snap_service *v, struct hf_writer *why) { return serve(v->conf, net->tls_keys, &v->tls, why); }
bool layers_of_pool(const struct hf_conf *conf, struct snap_pool *p, struct hf_writer *why) { return reach(conf, p->conf, &p->tls, why); }

enum hf_err hf_net_check(const struct hf_conf *conf, struct hf_writer *why)
{
	static const uint8_t keys[TLS_TICKET_KEYS];
	bool good = true;

	for (unsigned i = 0; good && i < conf->n_services; i++) {
		struct tls *t = NULL;

		good = serve(&conf->services[i], keys, &t, why);
		tls_drop(t);
	}
	for (unsigned i = 0; good && i < conf->n_pools; i++) {
		struct tls *t = NULL;

		good = reach(conf, &conf->pools[i], &t, why) && probe_program_fit(&conf->pools[i], why);
		tls_drop(t);
	}
	return good ? HF_OK : HF_EINVAL;
}

/* ---- of a connection ---- */

bool layers_accept(struct flow *f, const struct snap_service *s)
{
	struct side *c = &f->side[HF_CLIENT];

	if (!hf_transport_is_secure((enum hf_transport)f->transport))
		return true;
	c->wire = s->tls ? tls_accept(s->tls, NULL, c->fd) : NULL;
	if (!c->wire)
		return false;
	if (buf_len(&c->in)) { /* behind a PROXY header; its reader is called again for them */
		if (!wire_feed(c->wire, buf_view(&c->in)))
			return false;
		buf_took(&c->in, buf_len(&c->in));
		c->wire->again = true;
	}
	return true;
}

struct wire *layers_over(const struct snap_pool *p, struct hf_bytes host, enum hf_transport t, int fd, const struct hf_addr *to)
{
	if (!hf_transport_is_secure(t) || !p->tls)
		return NULL;
	return tls_dial(p->tls, NULL, fd, host, to);
}

bool layers_dial(struct flow *f, const struct snap_service *s, struct hf_bytes host)
{
	struct side *c = &f->side[HF_CLIENT];

	c->wire = layers_over(s->pool, host, (enum hf_transport)f->transport, c->fd, &f->source);
	return c->wire || !hf_transport_is_secure((enum hf_transport)f->transport);
}

/* A server's fault is an operator's to mend; what clients do is for who asks why one of them does not come in. */
unsigned layers_failed(const struct flow *f)
{
	const struct side *c = &f->side[HF_CLIENT];
	unsigned reason = wire_reason(c->wire);
	char peer[64] = "";
	struct hf_writer w = hf_writer_on(peer, sizeof peer - 1);

	if (!reason)
		return 0;
	hf_w_addr(&w, &f->source);
	hf_log_limited(f->stream->link ? HF_LOG_WARN : HF_LOG_INFO, reason, "event=%s service=%s %s=%s detail=\"%s\"", hf_reasons[reason].name, f->rt->name,
		f->stream->link ? "server" : "client", peer, *tls_text(c->wire) ? tls_text(c->wire) : hf_reasons[reason].text);
	return reason;
}

uint32_t layers_identity(const struct snap_pool *p, struct hf_bytes host, enum hf_transport t) { return hf_transport_is_secure(t) && p->tls ? tls_identity(p->tls, host) : 0; }
