/* Where a server's request goes (RFC 3261 16.6 steps 6 and 7, RFC 3263): by a flow, to an address, or to what a name leads to, which net is asked for.
 * Only what is said here of a server's request leaves the pool. Called by outward.c; asks no engine. */
#include "hold.h"

const struct hf_way sip_ways[SIP_N_WAYS] = {[HF_UDP] = {"_sip._udp.", HF_UDP}, [HF_TCP] = {"_sip._tcp.", HF_TCP}, [HF_TLS] = {"_sips._tcp.", HF_TLS}};

/* Names that stand for a way that only their owner's connection is (RFC 7118 5, RFC 2606 2): nobody is to be asked for their address. */
static bool never_resolved(struct hf_bytes host)
{
	static const char tail[] = ".invalid";

	while (host.n && host.p[host.n - 1] == '.')
		host.n--;
	return host.n >= sizeof tail && hf_bytes_ieq(hf_bytes_sub(host, host.n - (sizeof tail - 1), host.n), HF_LIT(".invalid"));
}

/* The listener by which the dialog's other side reaches us, which the last of our Routes names: what goes there leaves by it (RFC 5658 5), since a
 * firewall or NAT there may know no other. One that the server reaches us by is no such: it may be all that its own configuration says of us. */
static const struct hf_listener_info *listener_named(const struct sip_step *s, struct hf_addr *local)
{
	const struct sip_parcel *p = s->p;
	const struct hf_listener_info *l = p->own_routes ? sip_listener_named(s, &p->msg.route[p->own_routes - 1].uri, local) : NULL;

	return l && !l->inside ? l : NULL;
}

/* By which of our listeners a client with this address is reached: the one that the dialog names, else one that does not face the servers, and the one that
 * the request came to before others. A datagram needs a socket of its kind; a connection can be dialled without a listener, and is then named by another. */
static const struct hf_listener_info *listener_to(const struct sip_step *s, const struct hf_addr *to, enum hf_transport transport, const struct hf_listener_info *named)
{
	const struct hf_listener_info *best = NULL;
	int most = -1;

	for (unsigned i = 0; i < s->ctx->n_listeners; i++) {
		const struct hf_listener_info *l = &s->ctx->listeners[i];
		int score = 8 * (l->transport == transport) + 4 * (l == named) + 2 * !l->inside + (l == s->ev->listener);

		if (l->addr.family != to->family || (transport == HF_UDP && l->transport != HF_UDP) || score <= most ||
		    hf_transport_is_web(l->transport) != hf_transport_is_web(transport))
			continue;
		best = l;
		most = score;
	}
	return best;
}

/* A wildcard socket's own address of a family: the one that the parcel came to, else the first that is ours at its port. */
static struct hf_addr local_at(const struct sip_step *s, const struct hf_listener_info *l)
{
	if (l == s->ev->listener)
		return s->ev->local;
	for (unsigned i = 0; i < s->ctx->n_own; i++)
		if (s->ctx->own[i].family == l->addr.family && s->ctx->own[i].port == l->addr.port)
			return s->ctx->own[i];
	return l->addr;
}

/* No datagram goes to a group, to broadcast, or to port 0. */
static bool sendable(const struct hf_addr *a)
{
	static const uint8_t broadcast[4] = {255, 255, 255, 255};

	if (!a->port || hf_addr_is_any(a))
		return false;
	return a->family == 4 ? a->ip[0] >> 4 != 14 && memcmp(a->ip, broadcast, 4) != 0 : a->ip[0] != 0xff;
}

static struct sip_hop leave_by(const struct sip_step *s, struct sip_hop hop)
{
	if (!hop.out || (!hop.flow.generation && !sendable(&hop.addr)))
		return (struct sip_hop){.kind = SIP_HOP_BAD};
	if (!hop.local.family && hop.out->wildcard)
		hop.local = local_at(s, hop.out);
	return hop;
}

static struct sip_hop to_addr(const struct sip_step *s, struct sip_hop hop)
{
	const struct hf_listener_info *named;
	struct hf_addr local = {0};

	if (sip_own_addr(s, &hop.addr))
		return (struct sip_hop){.kind = SIP_HOP_SELF};
	hop.kind = SIP_HOP_ADDR;
	named = listener_named(s, &local);
	hop.out = listener_to(s, &hop.addr, hop.transport, named);
	if (hop.out && hop.out == named)
		hop.local = local;
	if (hop.out && hf_transport_is_web(hop.transport))
		hop.transport = hop.out->transport;
	return leave_by(s, hop);
}

static bool has_udp(const struct sip_step *s)
{
	for (unsigned i = 0; i < s->ctx->n_listeners; i++)
		if (s->ctx->listeners[i].transport == HF_UDP)
			return true;
	return false;
}

/* With a port it is an address that is meant; without one a service, of the transport that the URI says, else of any that we could leave by (RFC 3263 4.1, 4.2). */
static unsigned ways_of(const struct sip_step *s, const struct sip_uri *u, enum hf_transport t)
{
	if (u->port || hf_transport_is_web(t))
		return 0;
	if (u->transport.p || u->sips)
		return 1u << t;
	return (has_udp(s) ? 1u << HF_UDP : 0) | 1u << HF_TCP;
}

static struct sip_hop to_uri(const struct sip_step *s, const struct sip_uri *u, bool is_route)
{
	struct sip_hop hop = {.strict = is_route && !u->lr, .transport = sip_transport_of(u)};
	struct hf_bytes host = u->maddr.n ? u->maddr : u->host;

	if ((!u->sip && !u->sips) || hop.transport == HF_TRANSPORTS)
		return (struct sip_hop){.kind = SIP_HOP_BAD};
	if (!is_route && sip_is_own(s, u))
		return (struct sip_hop){.kind = SIP_HOP_SELF};
	hop.addr.port = u->port ? u->port : sip_usual_port(hop.transport);
	if (hf_addr_read_ip(host, &hop.addr) == HF_OK)
		return to_addr(s, hop);
	if (never_resolved(host))
		return (struct sip_hop){.kind = SIP_HOP_BAD};
	hop.kind = SIP_HOP_NAME;
	hop.host = host;
	hop.ways = ways_of(s, u, hop.transport);
	return hop;
}

/* A connection is of one start of the gateway, and nothing else leads to its client (RFC 5626 5.3). */
static struct sip_hop to_flow(const struct sip_step *s)
{
	const struct sip_flow *f = &s->p->flow;
	struct sip_hop hop = {.kind = SIP_HOP_FLOW, .addr = f->remote, .local = f->local, .out = sip_listener_of(s->ctx, f->listener)};

	if (f->stream && (!hop.out || f->connection.boot != s->ctx->site->boot))
		return (struct sip_hop){.kind = SIP_HOP_GONE};
	hop.transport = hop.out ? hop.out->transport : HF_UDP;
	if (f->stream) {
		hop.flow = f->connection;
		hop.addr.port = 0;
	}
	return leave_by(s, hop);
}

struct sip_hop sip_hop_next(struct sip_step *s)
{
	struct sip_parcel *p = s->p;
	const struct sip_msg *m = &p->msg;
	unsigned left = m->n_routes - p->own_routes - (p->strict ? 1 : 0);

	if (p->has_flow)
		return to_flow(s);
	if (left)
		return p->own_routes < SIP_MAX_ROUTES ? to_uri(s, &m->route[p->own_routes].uri, true) : (struct sip_hop){.kind = SIP_HOP_BAD};
	return to_uri(s, p->strict ? &m->route_last.uri : &m->uri, false);
}

/* Those in front come first; but one of them that is ourselves says that the name is ours, as our address in its place would. */
struct sip_hop sip_hop_found(struct sip_step *s, const struct hf_found *found)
{
	struct sip_hop named = sip_hop_next(s), first = {.kind = SIP_HOP_BAD};

	if (named.kind != SIP_HOP_NAME)
		return named; /* a reload has changed what we are called */
	for (unsigned i = 0; i < found->n; i++) {
		struct sip_hop hop = named;

		hop.addr = found->place[i].addr;
		hop.transport = found->place[i].transport;
		hop = to_addr(s, hop);
		if (hop.kind == SIP_HOP_SELF)
			return hop;
		if (first.kind == SIP_HOP_BAD)
			first = hop;
	}
	return first;
}

void sip_hop_seek(struct sip_step *s, const struct sip_hop *hop)
{
	struct hf_seek *q = &hf_act(s->acts, HF_ACT_SEEK)->seek;

	q->host = hop->host;
	q->ways = hop->ways;
	q->port = hop->addr.port;
	q->transport = hop->transport;
	q->spread = sip_call_key(s, s->p->msg.call_id).fp; /* a dialog's requests go one way */
	q->tag = sip_held_tag(s) + s->p->msg.method_id + 1u; /* the CANCEL of what waits waits behind it */
}
