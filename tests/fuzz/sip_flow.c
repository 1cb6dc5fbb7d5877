/* Fuzz: the flow token, as a form and on its ways: in the Path that a REGISTER gets and in the Route of a server's request. The octets draw a
 * flow and a change of its text.
 * Held to: what is written is read back, field by field; a text with any octet changed, cut or added is not believed, nor is one of another key;
 * a Path names the way the REGISTER came; a Route is followed to just that way, and with a changed token to nowhere that it names. A password
 * behind a token is none of it (RFC 3261 25.1). */
#include "sip_bench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IPV6 = 1, LOCAL = 2, STREAM = 4 };
static struct bench b;

/* ---- what the octets draw; zeros behind their end ---- */

struct draw { const uint8_t *p; size_t n; };

static uint8_t octet(struct draw *d)
{
	if (!d->n)
		return 0;
	d->n--;
	return *d->p++;
}

static uint32_t number(struct draw *d, unsigned n)
{
	uint32_t v = 0;

	while (n--)
		v = v << 8 | octet(d);
	return v;
}

static struct hf_addr address(struct draw *d, bool six)
{
	struct hf_addr a = {.family = six ? 6 : 4};

	for (unsigned i = 0; i < (six ? 16 : 4); i++)
		a.ip[i] = octet(d);
	return a;
}

static struct sip_flow flow(struct draw *d)
{
	uint8_t how = octet(d), l = octet(d);
	struct sip_flow f = {.listener = l < BENCH_LISTENERS ? 0x1000u + l : number(d, 4), .remote = address(d, how & IPV6), .stream = how & STREAM};

	f.remote.port = (uint16_t)number(d, 2);
	if (how & LOCAL)
		f.local = address(d, how & IPV6);
	if (f.stream)
		f.connection = (struct hf_flow_name){octet(d), number(d, 3), number(d, 4), number(d, 4)};
	if (f.connection.boot == 1)
		f.connection.boot = BENCH_BOOT;
	return f;
}

static bool same(const struct sip_flow *x, const struct sip_flow *y)
{
	const struct hf_flow_name *a = &x->connection, *c = &y->connection;

	return x->listener == y->listener && hf_addr_eq(&x->remote, &y->remote) && x->local.family == y->local.family && hf_addr_ip_eq(&x->local, &y->local) &&
	       x->stream == y->stream && a->worker == c->worker && a->slot == c->slot && a->generation == c->generation && a->boot == c->boot;
}

/* ---- a change ---- */

/* Another text: an octet of it, its end, or one more. False: it means the same, as letters do in either case. */
static bool change(struct draw *d, uint8_t *text, size_t *n)
{
	uint8_t how = octet(d), at = octet(d), by = octet(d), was;

	if (how % 4 == 0) {
		*n -= 1 + at % *n;
		return true;
	}
	if (how % 4 == 1) {
		text[(*n)++] = by;
		return true;
	}
	was = text[at % *n];
	text[at % *n] = (uint8_t)(was ^ by);
	return !hf_bytes_ieq(hf_bytes_of(&was, 1), hf_bytes_of(text + at % *n, 1));
}

/* ---- on the wire ---- */

static struct bench_end request(struct hf_event *ev, const char *method, struct hf_bytes route, uint8_t *text, size_t cap)
{
	struct hf_writer w = hf_writer_on(text, cap);

	hf_w_str(&w, method);
	hf_w_str(&w, " sip:example.com SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bK1;rport\r\nMax-Forwards: 70\r\nFrom: <sip:a@example.com>;tag=a1\r\n"
		     "To: <sip:a@example.com>\r\nCall-ID: c1\r\nCSeq: 1 ");
	hf_w_str(&w, method);
	if (route.n) {
		hf_w_str(&w, "\r\nRoute: <sip:");
		hf_w_bytes(&w, route);
		hf_w_str(&w, "@192.0.2.1;lr>");
	}
	hf_w_str(&w, "\r\nSupported: path\r\nContent-Length: 0\r\n\r\n");
	MUST(!w.full);
	ev->bytes = hf_writer_view(&w);
	return bench_run(&b, ev);
}

/* A REGISTER that came that way, over the listener it names. */
static void path(const struct sip_flow *f)
{
	static uint8_t text[2048];
	struct hf_event ev;
	struct bench_end e;
	struct hf_bytes user;
	struct sip_flow back;
	size_t at;

	if (f->listener - 0x1000 >= BENCH_LISTENERS || f->remote.family != b.own[f->listener - 0x1000].family)
		return;
	ev = bench_event(&b, f->listener - 0x1000, "192.0.2.51:5060");
	ev.source = f->remote;
	e = request(&ev, "REGISTER", HF_NONE, text, sizeof text);
	if (e.send.to != HF_TO_SERVER || !e.n_sent)
		return;
	for (at = 0; at < e.sent.n && !hf_bytes_starts(hf_bytes_sub(e.sent, at, e.sent.n), HF_LIT("\r\nPath: <sip:")); at++)
		;
	user = hf_bytes_sub(e.sent, at + sizeof "\r\nPath: <sip:" - 1, e.sent.n);
	user = hf_bytes_sub(user, 0, hf_bytes_find(user, '@'));
	MUST(sip_flow_read(&b.site, user, &back));
	MUST(back.listener == f->listener && hf_addr_eq(&back.remote, &f->remote) && back.stream == hf_transport_is_stream(ev.transport));
	MUST(!back.stream || (back.connection.slot == ev.flow_name.slot && back.connection.generation == ev.flow_name.generation && back.connection.boot == BENCH_BOOT));
}

/* A server's request with the token for its Route. */
static void route(const struct sip_flow *f, struct hf_bytes token, bool holds)
{
	static uint8_t text[2048];
	struct hf_event ev = bench_event(&b, BENCH_UDP, "192.0.2.101:5060");
	struct bench_end e;

	ev.member = BENCH_PBX1;
	ev.from_servers = true;
	e = request(&ev, "MESSAGE", token, text, sizeof text);
	if (!e.n_sent || !e.send.n_splices)
		return; /* refused, or dropped with a reason */
	MUST(holds == (e.send.to == HF_TO_RETURN || e.send.flow.generation != 0));
	if (holds)
		MUST(hf_addr_ip_eq(&e.send.addr, &f->remote) && e.send.listener == f->listener && (!f->stream || e.send.flow.slot == f->connection.slot));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct draw d = {data, size};
	struct sip_flow f = flow(&d), back;
	uint8_t text[SIP_FLOW_TEXT_MAX + 1], was[SIP_FLOW_TEXT_MAX];
	struct hf_bytes token;
	struct hf_writer w = hf_writer_on(text, SIP_FLOW_TEXT_MAX);
	struct hf_site other;

	bench_init(&b, false);
	sip_flow_write(&b.site, &f, &w);
	MUST(!w.full && sip_flow_form(hf_writer_view(&w)) && sip_flow_read(&b.site, hf_writer_view(&w), &back) && same(&f, &back));
	path(&f);
	route(&f, hf_writer_view(&w), true);
	token = hf_bytes_of(was, w.n);
	hf_copy(was, text, w.n);
	other = b.site;
	other.sign[0][octet(&d) & 15] ^= 1;
	MUST(!sip_flow_read(&other, hf_writer_view(&w), &back));
	if (change(&d, text, &w.n)) {
		MUST(!sip_flow_read(&b.site, hf_writer_view(&w), &back));
		route(&f, hf_writer_view(&w), hf_bytes_ieq(hf_bytes_sub(hf_writer_view(&w), 0, hf_bytes_find(hf_writer_view(&w), ':')), token));
	}
	return 0;
}
