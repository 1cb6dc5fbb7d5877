/* Listeners: a socket a worker for each, opened before a configuration is in force, shared by the snapshots that have it. Control thread. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "holdfast/hash.h"
#include "inside.h"
#include "sock.h"

static void w_uri(struct hf_writer *w, enum hf_transport t, const struct hf_addr *a)
{
	hf_w_str(w, hf_transport_name(t));
	hf_w_str(w, "://");
	hf_w_addr(w, a);
}

/* Another process on the same port would take half of the datagrams unseen, as SO_REUSEPORT lets it: so ask without it first. */
static bool taken(const struct hf_addr *a, bool stream)
{
	struct sockaddr_storage ss;
	socklen_t n = sock_put_addr(&ss, a);
	int fd = socket(ss.ss_family, (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0), one = 1, r, e;

	if (fd < 0)
		return true;
	if (stream)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	r = bind(fd, (struct sockaddr *)&ss, n);
	e = errno;
	close(fd);
	errno = e;
	return r != 0;
}

static void socks_close(struct socks *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	free(s);
}

static struct socks *socks_open(struct hf_net *net, const struct hf_conf_listen *l, uint64_t rcvbuf)
{
	struct socks *s = calloc(1, sizeof *s + net->n_workers * sizeof s->fd[0]);
	bool stream = hf_transport_is_stream(l->transport);
	int e;

	if (!s)
		return NULL;
	*s = (struct socks){.transport = l->transport, .asked = l->addr, .bound = l->addr};
	for (unsigned i = 0; i < net->n_workers; i++)
		s->fd[i] = -1;
	if (l->addr.port && taken(&l->addr, stream))
		goto out;
	for (unsigned i = 0; i < net->n_workers; i++) {
		s->fd[i] = sock_listen(&s->bound, stream, rcvbuf);
		if (s->fd[i] < 0)
			goto out;
		s->bound = sock_local(s->fd[i]);
	}
	return s;
out:
	e = errno;
	socks_close(s, net->n_workers);
	errno = e;
	return NULL;
}

static bool in_use(const struct hf_snapshot *s, const struct socks *x)
{
	for (unsigned i = 0; i < s->n_services; i++)
		for (unsigned j = 0; j < s->services[i].n_infos; j++)
			if (s->services[i].socks && s->services[i].socks[j] == x)
				return true;
	return false;
}

static struct socks *socks_for(struct hf_net *net, const struct hf_snapshot *s, const struct hf_conf_listen *l, uint64_t rcvbuf)
{
	struct socks **list, *x;

	for (unsigned i = 0; i < net->n_socks; i++)
		if (net->socks[i]->transport == l->transport && hf_addr_eq(&net->socks[i]->asked, &l->addr) && !in_use(s, net->socks[i]))
			return net->socks[i];
	list = realloc(net->socks, (net->n_socks + 1) * sizeof *list);
	if (!list)
		return NULL;
	net->socks = list;
	x = socks_open(net, l, rcvbuf);
	if (x)
		net->socks[net->n_socks++] = x;
	return x;
}

void listeners_release(struct hf_net *net, struct socks *x)
{
	if (--x->refs)
		return;
	for (unsigned i = 0; i < net->n_socks; i++)
		if (net->socks[i] == x)
			net->socks[i] = net->socks[--net->n_socks];
	socks_close(x, net->n_workers);
}

static uint32_t listener_hash(const struct hf_net *net, struct hf_bytes uri)
{
	struct hf_sip h;

	hf_sip_init(&h, net->site.hash_key, 1, 3);
	hf_sip_add(&h, HF_LIT("listen:"));
	hf_sip_add(&h, uri);
	return (uint32_t)(hf_sip_end(&h) >> 32);
}

static bool fill_info(struct hf_net *net, struct hf_listener_info *info, const struct hf_conf_listen *l, const struct socks *x)
{
	uint8_t *text = malloc(80);
	struct hf_writer w = hf_writer_on(text, 80);

	if (!text)
		return false;
	w_uri(&w, l->transport, &x->bound);
	*info = (struct hf_listener_info){.transport = l->transport, .inside = l->inside, .wildcard = hf_addr_is_any(&x->bound), .addr = x->bound,
		.advertise = l->advertise, .uri = hf_writer_view(&w)};
	info->hash = listener_hash(net, info->uri);
	return true;
}

/* What to do about it, where the error alone does not tell. */
static const char *advice(int e)
{
	static const struct { int e; const char *text; } list[] = {
		{EADDRINUSE, "; another program has the port, or another gateway: `ss -lntup` shows which"},
		{EADDRNOTAVAIL, "; this machine has no such address: `ip address` lists them"},
		{EACCES, "; ports below 1024 want root or CAP_NET_BIND_SERVICE: start as root with `user`, or as the unit does"},
	};

	for (unsigned i = 0; i < sizeof list / sizeof list[0]; i++)
		if (list[i].e == e)
			return list[i].text;
	return "";
}

enum hf_err listeners_open(struct hf_net *net, struct hf_snapshot *s, struct snap_service *v, struct hf_writer *why)
{
	const struct hf_conf_service *c = v->conf;

	v->infos = calloc(c->n_listens, sizeof *v->infos);
	v->socks = calloc(c->n_listens, sizeof *v->socks);
	if (!v->infos || !v->socks)
		return HF_ENOMEM;
	for (unsigned i = 0; i < c->n_listens; i++) {
		struct socks *x = socks_for(net, s, &c->listens[i], c->receive_buffer);

		if (!x) {
			int e = errno;

			hf_w_printf(why, "service %s, line %u: cannot listen on ", c->name, c->listens[i].line);
			w_uri(why, c->listens[i].transport, &c->listens[i].addr);
			hf_w_printf(why, ": %s%s", strerror(e), advice(e));
			return HF_EIO;
		}
		x->refs++;
		v->socks[v->n_infos] = x;
		v->n_infos++;
		if (!fill_info(net, &v->infos[i], &c->listens[i], x))
			return HF_ENOMEM;
	}
	return HF_OK;
}

void listeners_tune(const struct hf_net *net, const struct hf_snapshot *s)
{
	for (unsigned i = 0; i < s->n_services; i++)
		for (unsigned j = 0; j < s->services[i].n_infos; j++)
			for (unsigned w = 0; hf_transport_is_stream(s->services[i].socks[j]->transport) && w < net->n_workers; w++)
				sock_tune(s->services[i].socks[j]->fd[w], s->services[i].pool->conf->keep_alive);
}

#define OWN_MAX 256 /* addresses of a machine that are looked at */

enum hf_err listeners_own(struct snap_service *v)
{
	struct hf_addr found[OWN_MAX];
	unsigned cap = v->n_infos * (OWN_MAX + 1);

	v->own = calloc(cap ? cap : 1, sizeof *v->own);
	if (!v->own)
		return HF_ENOMEM;
	for (unsigned i = 0; i < v->n_infos; i++) {
		const struct hf_listener_info *l = &v->infos[i];
		unsigned n = l->wildcard ? sock_own(l->addr.family, found, OWN_MAX) : 0;

		if (!l->wildcard)
			v->own[v->n_own++] = l->addr;
		for (unsigned j = 0; j < n; j++) {
			found[j].port = l->addr.port;
			v->own[v->n_own++] = found[j];
		}
	}
	return HF_OK;
}
