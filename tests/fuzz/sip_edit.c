/* Fuzz: a message through the whole step. The first octet chooses where it comes from and where it may go, the rest is a message; in it the
 * octets 1 to 5 stand for tokens that only the gateway can sign.
 * Held to: what goes out is what came, once our own edits are taken back: Via, Record-Route, Path and Max-Forwards on top, one hop less,
 * Routes of ours off, received and rport, a length for streams; it goes to the server chosen, to where it came from, to an address
 * that we signed, or to the next hop of what came from where servers are; and over UDP no answer is longer than its request. */
#include "sip_undo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FROM_CLIENT, FROM_MEMBER, FROM_SERVERS, NO_SERVER };
enum { TO_TCP = 16, SMALL = 32, BY_USER = 64, BY_OTHERS = 128 };
#define SIGNED "198.51.100.7"

static uint8_t text[1 << 17];

/* ---- the tokens ---- */

enum { TOKEN_FLOW = 1, TOKEN_CONNECTION, TOKEN_COOKIE, TOKEN_SERVER_COOKIE, TOKEN_VIA, TOKENS };

static void write_token(unsigned which, struct hf_writer *w)
{
	const struct sip_flow flow = {.listener = 0x1000 + BENCH_UDP, .remote = bench_addr(SIGNED ":5077")};
	const struct sip_flow connection = {.listener = 0x1000 + BENCH_TCP, .remote = bench_addr(SIGNED ":5077"), .stream = true, .connection = {1, 9, 5, BENCH_BOOT}};
	const struct sip_cookie cookie = {which == TOKEN_SERVER_COOKIE, BENCH_PBX1};
	const struct sip_hf hf = {.opening = true, .boot = BENCH_BOOT, .listener = 0x1000 + BENCH_UDP, .server = BENCH_PBX1, .source = bench_addr(SIGNED ":5078")};

	switch (which) {
	case TOKEN_FLOW: sip_flow_write(&b.site, &flow, w); break;
	case TOKEN_CONNECTION: sip_flow_write(&b.site, &connection, w); break;
	case TOKEN_VIA:
		hf_w_str(w, "SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK0123456789abc;hf=");
		sip_hf_write(&b.site, &hf, HF_LIT("z9hG4bK0123456789abc"), w);
		break;
	default: sip_cookie_write(&b.site, &cookie, HF_LIT("c1"), HF_LIT("a1"), w);
	}
}

/* The message with its tokens; which of them are in it. */
static struct hf_bytes dress(struct hf_bytes raw, unsigned *tokens)
{
	struct hf_writer w = hf_writer_on(text, sizeof text);

	*tokens = 0;
	for (size_t i = 0; i < raw.n; i++)
		if (raw.p[i] > 0 && raw.p[i] < TOKENS) {
			write_token(raw.p[i], &w);
			*tokens |= 1u << raw.p[i];
		} else {
			hf_w_u8(&w, raw.p[i]);
		}
	return w.full ? HF_NONE : hf_writer_view(&w);
}

/* ---- where it goes ---- */

static bool is_own(const struct hf_addr *a)
{
	for (unsigned i = 0; i < BENCH_LISTENERS; i++)
		if (hf_addr_eq(a, &b.own[i]))
			return true;
	return false;
}

static void signed_only(const struct hf_send *s)
{
	const struct hf_addr ip = bench_addr(SIGNED ":0");

	MUST(hf_addr_ip_eq(&s->addr, &ip));
	if (s->flow.generation)
		MUST(s->addr.port == 0 && s->flow.worker == 1 && s->flow.slot == 9 && s->flow.generation == 5 && s->flow.boot == BENCH_BOOT);
	else
		MUST(s->addr.port == 5077 || s->addr.port == 5078);
}

/* forwarded: it is a message that came, and no answer of ours. proved: servers may have sent it. */
static void destination(const struct hf_event *ev, const struct bench_end *e, bool forwarded, bool proved)
{
	const struct hf_send *s = &e->send;

	switch (s->to) {
	case HF_TO_SERVER:
		MUST(forwarded && e->n_asked && s->server == BENCH_PBX1 && b.chosen.server == BENCH_PBX1);
		break;
	case HF_TO_SOURCE:
		MUST(!forwarded);
		break;
	case HF_TO_RETURN:
		if (forwarded)
			signed_only(s);
		else
			MUST(s->listener == ev->listener->hash && hf_addr_ip_eq(&s->addr, &ev->source) && !s->flow.generation);
		break;
	case HF_TO_NEXT_HOP:
		MUST(forwarded && proved && s->addr.family && s->addr.port && !is_own(&s->addr) && !hf_addr_is_any(&s->addr));
		break;
	default:
		abort();
	}
}

/* ---- an answer of ours ---- */

static void answer(const struct hf_event *ev, const struct bench_end *e, const struct sip_msg *m)
{
	struct sip_msg o;

	if (e->sent.n && e->sent.p[0] == 1)
		return; /* of STUN: its form says how long */
	MUST(hf_transport_is_stream(ev->transport) || e->sent.n <= ev->bytes.n);
	if (hf_bytes_eq(e->sent, HF_LIT("\r\n")))
		return;
	MUST(m->answerable && !m->response && hf_bytes_starts(e->sent, HF_LIT("SIP/2.0 ")));
	scan(e->sent, false, NULL, 1, &o);
	if (m->fault == SIP_GOOD)
		MUST(o.fault == SIP_GOOD && o.n_vias == m->n_vias && hf_bytes_eq(o.call_id, m->call_id) && hf_bytes_eq(o.cseq_text, m->cseq_text) && hf_bytes_eq(o.from, m->from));
}

static struct hf_event event(uint8_t how)
{
	static const char *const from[] = {[FROM_CLIENT] = "192.0.2.51:5060", [FROM_MEMBER] = "192.0.2.101:5060", [FROM_SERVERS] = "192.0.2.90:5066", [NO_SERVER] = "192.0.2.52:5060"};
	unsigned who = how >> 2 & 3, at = how & 3;
	struct hf_event ev = bench_event(&b, at, at == BENCH_UDP6 ? "[2001:db8::51]:5060" : from[who]);

	ev.member = who == FROM_MEMBER ? BENCH_PBX1 : 0;
	ev.from_servers = who == FROM_MEMBER || who == FROM_SERVERS;
	if (how & TO_TCP) {
		b.chosen.transport = HF_TCP;
		b.chosen.out = &b.listener[BENCH_TCP];
	}
	if (who == NO_SERVER)
		b.chosen.server = 0;
	return ev;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned tokens;
	struct hf_event ev;
	struct bench_end e;
	struct sip_msg m;
	bool forwarded, proved;

	if (size < 2 || size > 8192)
		return 0;
	bench_init(&b, data[0] & SMALL);
	if (data[0] & (BY_USER | BY_OTHERS))
		MUST(sip_keys_read(hf_bytes_str(data[0] & BY_USER ? "user source/24/64" : "header:Subject uri-param:lr token:3:4 domain"), &b.conf.key, NULL) == HF_OK);
	ev = event(data[0]);
	ev.bytes = dress(hf_bytes_of(data + 1, size - 1), &tokens);
	if (!ev.bytes.n)
		return 0;
	scan(ev.bytes, hf_transport_is_stream(ev.transport), &b.conf.limits, 0, &m);
	e = bench_run(&b, &ev);
	if (!e.n_sent)
		return 0;
	forwarded = e.send.n_splices > 0;
	proved = ev.from_servers || tokens & (1u << TOKEN_COOKIE | 1u << TOKEN_SERVER_COOKIE); /* who knows a dialog can swap its sides: net asks where it came from */
	destination(&ev, &e, forwarded, proved);
	if (!forwarded)
		answer(&ev, &e, &m);
	else if (m.response)
		bench_one_piece_less(&m, &e);
	else
		request(&ev, &e, &m);
	return 0;
}
