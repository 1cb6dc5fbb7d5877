/* The door to c-ares; see resolve.h. Its sockets are watched by the control loop, its time-outs are one timer. Knows no server, pool or snapshot.
 * Called by names.c and discover.c. */
#include "resolve.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "holdfast/bytes.h"
#include "holdfast/writer.h"
#include "dns_ttl.h"
#include "sock.h"

#define WATCHES 16     /* sockets at once: one a server of the system's and transport */
#define TIMEOUT_MS 2000 /* a try; the library doubles it with each */
#define TRIES 3
#define LOOK_MS 500    /* no time-out is later seen than this; nothing ticks while nothing is asked */

struct resolver {
	struct hf_loop *loop;
	ares_channel channel;
	struct socket { int fd; struct hf_watch *watch; struct resolver *r; } socket[WATCHES];
	struct hf_timer *timer;
	unsigned asked;    /* that are not answered yet */
	bool ends;
};

struct ask { struct resolver *r; resolver_fn *fn; resolver_srv_fn *srv; void *arg; };

static void ready(void *arg, unsigned what)
{
	struct socket *s = arg;

	ares_process_fd(s->r->channel, what & HF_READ ? s->fd : ARES_SOCKET_BAD, what & HF_WRITE ? s->fd : ARES_SOCKET_BAD);
}

/* A socket that is not watched is heard of by its time-out alone. */
static void watch(void *arg, ares_socket_t fd, int readable, int writable)
{
	unsigned what = (readable ? HF_READ : 0u) | (writable ? HF_WRITE : 0u);
	struct resolver *r = arg;
	struct socket *s = NULL;

	for (unsigned i = 0; i < WATCHES; i++)
		if (r->socket[i].watch ? r->socket[i].fd == fd : !s)
			s = &r->socket[i];
	if (!s)
		return;
	if (!what) {
		hf_watch_free(s->watch);
		s->watch = NULL;
	} else if (s->watch) {
		(void)hf_watch_set(s->watch, what);
	} else {
		*s = (struct socket){fd, NULL, r};
		s->watch = hf_watch_new(r->loop, fd, what, ready, s);
	}
}

static void tick(void *arg)
{
	struct resolver *r = arg;

	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	if (r->asked)
		hf_timer_set(r->timer, LOOK_MS);
}

static void take(const struct ares_addrinfo *info, struct resolved *out)
{
	out->ttl_s = UINT32_MAX;
	for (const struct ares_addrinfo_node *n = info->nodes; n && out->n < RESOLVED_MAX; n = n->ai_next) {
		struct sockaddr_storage ss = {0};

		if (!n->ai_addr || n->ai_addrlen > (ares_socklen_t)sizeof ss)
			continue;
		memcpy(&ss, n->ai_addr, (size_t)n->ai_addrlen);
		sock_get_addr(&ss, &out->addr[out->n]);
		out->addr[out->n].port = 0;
		hf_addr_unmap(&out->addr[out->n]);
		if (!out->addr[out->n].family || hf_addr_is_any(&out->addr[out->n]))
			continue;
		if (n->ai_ttl >= 0 && (uint32_t)n->ai_ttl < out->ttl_s)
			out->ttl_s = (uint32_t)n->ai_ttl;
		out->n++;
	}
}

static bool says_none(int status) { return status == ARES_SUCCESS || status == ARES_ENODATA || status == ARES_ENOTFOUND; }

static void answered(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
	struct ask ask = *(struct ask *)arg;
	struct resolved out = {0};

	(void)timeouts;
	free(arg);
	ask.r->asked--;
	if (status == ARES_SUCCESS && info)
		take(info, &out);
	if (!out.n)
		out.error = status == ARES_SUCCESS ? "it has no address" : ares_strerror(status);
	out.none = !out.n && says_none(status);
	if (info)
		ares_freeaddrinfo(info);
	if (!ask.r->ends)
		ask.fn(ask.arg, &out);
}

static bool open_channel(struct resolver *r, const struct hf_addr *server, bool whole)
{
	struct ares_options o = {.timeout = TIMEOUT_MS, .tries = TRIES, .sock_state_cb = watch, .sock_state_cb_data = r, .flags = whole ? ARES_FLAG_NOSEARCH : 0};
	char text[80] = "";
	struct hf_writer w = hf_writer_on(text, sizeof text - 1);

	if (ares_init_options(&r->channel, &o, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | (whole ? ARES_OPT_FLAGS : 0)) != ARES_SUCCESS)
		return false;
	hf_w_addr(&w, server);
	if (!server->family || ares_set_servers_ports_csv(r->channel, text) == ARES_SUCCESS)
		return true;
	ares_destroy(r->channel);
	return false;
}

struct resolver *resolver_new(struct hf_loop *loop, const struct hf_addr *server, bool whole)
{
	struct resolver *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->loop = loop;
	r->timer = hf_timer_new(loop, tick, r);
	if (r->timer && ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS) {
		if (open_channel(r, server, whole || server->family))
			return r;
		ares_library_cleanup();
	}
	hf_timer_free(r->timer);
	free(r);
	return NULL;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	r->ends = true;
	ares_destroy(r->channel);
	for (unsigned i = 0; i < WATCHES; i++)
		hf_watch_free(r->socket[i].watch);
	ares_library_cleanup();
	hf_timer_free(r->timer);
	free(r);
}

void resolver_ask(struct resolver *r, const char *host, resolver_fn *fn, void *arg)
{
	static const struct ares_addrinfo_hints hints = {.ai_flags = ARES_AI_NOSORT, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct ask *ask = malloc(sizeof *ask);

	if (!ask) {
		fn(arg, &(struct resolved){.error = "no memory"});
		return;
	}
	*ask = (struct ask){.r = r, .fn = fn, .arg = arg};
	r->asked++;
	hf_timer_set(r->timer, LOOK_MS);
	ares_getaddrinfo(r->channel, host, NULL, &hints, answered, ask);
}

/* ---- SRV ---- */

bool resolver_host(struct hf_bytes from, char out[256])
{
	size_t n = from.n;

	while (n && from.p[n - 1] == '.')
		n--;
	for (size_t i = 0; i < n && n < 254; i++) {
		uint8_t c = hf_lower(from.p[i]);

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_'))
			return false;
		out[i] = (char)c;
	}
	out[n < 254 ? n : 0] = 0;
	return out[0] != 0;
}

static bool has_place(const struct resolved_srv *r, const struct srv_target *t)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->target[i].port == t->port && strcmp(r->target[i].host, t->host) == 0)
			return true;
	return false;
}

static int by_place(const void *a, const void *b)
{
	const struct ares_srv_reply *x = *(const struct ares_srv_reply *const *)a, *y = *(const struct ares_srv_reply *const *)b;
	int host = strcasecmp(x->host, y->host);

	return x->priority != y->priority ? (int)x->priority - (int)y->priority : host ? host : (int)x->port - (int)y->port;
}

/* The first ones in order, so that which ones are too many does not change with the answer's. */
static void take_targets(struct ares_srv_reply *list, struct resolved_srv *out)
{
	struct ares_srv_reply **all;
	size_t n = 0, i = 0;

	for (struct ares_srv_reply *s = list; s; s = s->next)
		n++;
	all = calloc(n + 1, sizeof *all);
	for (struct ares_srv_reply *s = list; all && s; s = s->next)
		all[i++] = s;
	if (all)
		qsort(all, n, sizeof(struct ares_srv_reply *), by_place);
	for (i = 0; all && i < n && out->n < RESOLVED_MAX; i++) {
		struct srv_target *t = &out->target[out->n];

		*t = (struct srv_target){.port = all[i]->port, .priority = all[i]->priority, .weight = all[i]->weight};
		/* a host "." says that there is no such service (RFC 2782) */
		if (t->port && resolver_host(hf_bytes_str(all[i]->host), t->host) && !has_place(out, t))
			out->n++;
	}
	free(all);
}

static void take_srv(struct hf_bytes m, struct resolved_srv *out)
{
	struct ares_srv_reply *list = NULL;
	int status = ares_parse_srv_reply(m.p, (int)m.n, &list);

	take_targets(list, out);
	if (list)
		ares_free_data(list);
	out->ttl_s = dns_ttl(m);
	if (!out->n)
		out->error = status == ARES_SUCCESS ? "it names nobody" : ares_strerror(status);
}

static void answered_srv(void *arg, int status, int timeouts, unsigned char *octets, int n)
{
	struct ask ask = *(struct ask *)arg;
	struct resolved_srv out = {0};

	(void)timeouts;
	free(arg);
	ask.r->asked--;
	if (status == ARES_SUCCESS && octets && n > 0)
		take_srv(hf_bytes_of(octets, (size_t)n), &out);
	else
		out.error = status == ARES_SUCCESS ? "it names nobody" : ares_strerror(status);
	out.none = !out.n && says_none(status);
	if (!ask.r->ends)
		ask.srv(ask.arg, &out);
}

void resolver_ask_srv(struct resolver *r, const char *host, resolver_srv_fn *fn, void *arg)
{
	struct ask *ask = malloc(sizeof *ask);

	if (!ask) {
		fn(arg, &(struct resolved_srv){.error = "no memory"});
		return;
	}
	*ask = (struct ask){.r = r, .srv = fn, .arg = arg};
	r->asked++;
	hf_timer_set(r->timer, LOOK_MS);
	ares_query(r->channel, host, C_IN, T_SRV, answered_srv, ask);
}
