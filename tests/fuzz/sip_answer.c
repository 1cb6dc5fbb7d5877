/* Fuzz: a response with a Via that the gateway made for a request. The first octet chooses the request and who answers; then come two places
 * in that Via and what is changed there; the rest is the response, in which the octet 1 stands for the Via.
 * Held to: it goes to the connection or address that the request came from, or nowhere; only when branch and parameter are as they were
 * written, in whatever case; without that Via, else as it came; and it says nothing about another server. */
#include "sip_bench.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 5, FROM_MEMBER = 4, REQUEST_MAX = 512, VIA_MAX = 256 };

static struct bench b;
static uint8_t text[1 << 17], space[2][1 << 18];

#define REQUEST "INVITE sip:bob@example.com SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.1:5099;branch=z9hG4bK1\r\nFrom: <sip:a@x>;tag=a1\r\nTo: <sip:b@x>\r\nCall-ID: c1\r\n" \
		"CSeq: 1 INVITE\r\nMax-Forwards: 9\r\nContent-Length: 0\r\n\r\n"

/* Lets the front make its Via. */
static struct hf_bytes made(const struct hf_event *came, uint8_t *buf)
{
	struct hf_event ev = *came;
	struct bench_end e;
	struct hf_bytes line;
	const uint8_t *p, *end;

	ev.bytes = HF_LIT(REQUEST);
	e = bench_run(&b, &ev);
	MUST(e.n_sent == 1 && e.send.to == HF_TO_SERVER);
	p = memmem(e.sent.p, e.sent.n, "Via: ", 5);
	MUST(p);
	end = memmem(p, e.sent.n - (size_t)(p - e.sent.p), "\r\n", 2);
	line = hf_bytes_of(p + 5, (size_t)(end - p) - 5);
	MUST(line.n <= VIA_MAX);
	memcpy(buf, line.p, line.n);
	return hf_bytes_of(buf, line.n);
}

static enum sip_fault scan(struct hf_bytes raw, bool stream, int which, struct sip_msg *m)
{
	struct hf_arena a;

	hf_arena_init(&a, space[which], sizeof space[which]);
	return sip_scan(raw, stream, &b.conf.limits, &a, m);
}

/* The value of a parameter of the Via as it was made. */
static struct hf_bytes value(struct hf_bytes via, struct hf_bytes name)
{
	return sip_param(hf_bytes_sub(via, hf_bytes_find(via, ';'), via.n), name);
}

static struct hf_bytes dress(struct hf_bytes raw, struct hf_bytes via)
{
	struct hf_writer w = hf_writer_on(text, sizeof text);

	for (size_t i = 0; i < raw.n; i++)
		if (raw.p[i] == 1)
			hf_w_bytes(&w, via);
		else
			hf_w_u8(&w, raw.p[i]);
	return w.full ? HF_NONE : hf_writer_view(&w);
}

static void goes_home(const struct hf_event *came, const struct bench_end *e)
{
	const struct hf_send *s = &e->send;
	bool stream = hf_transport_is_stream(came->transport);

	MUST(s->to == HF_TO_RETURN && s->listener == came->listener->hash && s->transport == came->transport);
	MUST(hf_addr_ip_eq(&s->addr, &came->source) && s->addr.port == 5099); /* the port of its Via */
	MUST(came->listener->wildcard ? hf_addr_ip_eq(&s->local, &came->local) : s->local.family == 0);
	if (stream)
		MUST(s->flow.worker == 1 && s->flow.slot == 3 && s->flow.generation == 7 && s->flow.boot == BENCH_BOOT);
	else
		MUST(s->flow.generation == 0);
}

/* The magic says nothing, and is taken as it should be. */
static struct hf_bytes behind_magic(struct hf_bytes branch) { return hf_bytes_sub(branch, sizeof SIP_MAGIC - 1, branch.n); }

static void as_made(const struct sip_msg *m, struct hf_bytes via, const struct bench_end *e)
{
	struct sip_msg o;

	MUST(m->fault == SIP_GOOD && m->response && m->n_vias >= 2);
	MUST(hf_bytes_ieq(m->via[0].hf, value(via, HF_LIT("hf"))));
	MUST(m->via[0].branch.n == SIP_BRANCH_LEN && hf_bytes_ieq(behind_magic(m->via[0].branch), behind_magic(value(via, HF_LIT("branch")))));
	bench_one_piece_less(m, e);
	scan(e->sent, false, 1, &o); /* the second Via was not judged while it was the second */
	MUST((o.fault == SIP_GOOD || !strncmp(o.why, "Via", 3)) && o.n_vias == m->n_vias - 1 && hf_bytes_eq(o.call_id, m->call_id));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const from[] = {"192.0.2.51:5060", "192.0.2.51:40001", "192.0.2.51:5060", "[2001:db8::51]:5060"};
	static uint8_t buf[2][VIA_MAX];
	struct hf_event came, ev;
	struct hf_bytes via, changed;
	struct bench_end e;
	struct sip_msg m;

	if (size <= HEAD || size > 4096)
		return 0;
	bench_init(&b, false);
	came = bench_event(&b, data[0] & 3, from[data[0] & 3]);
	via = made(&came, buf[0]);
	changed = hf_bytes_of(buf[1], via.n);
	memcpy(buf[1], buf[0], via.n);
	buf[1][data[1] % via.n] ^= data[2];
	buf[1][data[3] % via.n] ^= data[4];
	ev = bench_event(&b, data[0] & 8 ? BENCH_TCP : BENCH_UDP, data[0] & FROM_MEMBER ? "192.0.2.101:5060" : "192.0.2.200:9");
	ev.member = data[0] & FROM_MEMBER ? BENCH_PBX1 : 0;
	ev.from_servers = ev.member != 0;
	ev.flow_name.slot = 77;
	ev.bytes = dress(hf_bytes_of(data + HEAD, size - HEAD), changed);
	if (!ev.bytes.n)
		return 0;
	scan(ev.bytes, hf_transport_is_stream(ev.transport), 0, &m);
	if (!m.response)
		return 0; /* a request is another target's */
	memset(b.flow, 0, sizeof b.flow);
	e = bench_run(&b, &ev);
	MUST(!e.n_asked && (!e.evidence.kind || (ev.member && e.evidence.evidence.server == BENCH_PBX1)));
	MUST(!e.learnt.kind || (e.n_sent && e.learnt.learn.server == BENCH_PBX1));
	if (!e.n_sent)
		return 0;
	if (hf_bytes_eq(e.sent, HF_LIT("\r\n"))) {
		MUST(e.send.to == HF_TO_SOURCE);
		return 0;
	}
	goes_home(&came, &e);
	as_made(&m, via, &e);
	return 0;
}
