/* Probes: a request of our own, OPTIONS as a rule, and what its answer says of a server. An answer is known by our branch alone, never by the
 * address that it comes from. Called by the control thread. */
#include "inside.h"

#include "holdfast/hash.h"

#include "osip_door.h"

enum { NAME = 64, FIELD = 256, BUSY_MAX_S = 3600 };

/* Thirteen characters that nobody but this start of the gateway can make for this probe. */
static void secret_of(const struct hf_ctx *ctx, const struct hf_probe *p, const char *label, char out[NAME])
{
	struct hf_writer w = hf_writer_on(out, NAME - 1);
	uint8_t h[8];
	struct hf_sip s;

	hf_sip_init(&s, ctx->site->hash_key, 1, 3);
	hf_sip_add(&s, hf_bytes_str(label));
	hf_sip_u32(&s, ctx->site->boot);
	hf_sip_u32(&s, p->server);
	hf_sip_u32(&s, p->id);
	hf_put64(h, hf_sip_end(&s));
	hf_w_b32(&w, hf_bytes_of(h, sizeof h));
	out[w.n] = 0;
}

/* A field as a C string, which is what the door takes. */
static const char *field(char buf[FIELD], const char *before, const struct hf_addr *a, const char *after)
{
	struct hf_writer w = hf_writer_on(buf, FIELD - 1);

	hf_w_str(&w, before);
	hf_w_addr(&w, a);
	hf_w_str(&w, after);
	HF_BUG_ON(w.full);
	buf[w.n] = 0;
	return buf;
}

/* Who asks: a user at our own address, or who the operator says. The tag is `call`. */
static const char *from_of(const struct sip_conf *conf, char buf[FIELD], const struct hf_probe *p, const char *call)
{
	struct hf_writer w = hf_writer_on(buf, FIELD - 1);
	bool uri = hf_bytes_find(conf->probe_from, ':') < conf->probe_from.n;

	hf_w_str(&w, uri ? "<" : "<sip:");
	hf_w_bytes(&w, conf->probe_from);
	if (!uri) {
		hf_w_str(&w, "@");
		hf_w_addr(&w, &p->local);
	}
	hf_w_printf(&w, ">;tag=%s", call);
	HF_BUG_ON(w.full);
	buf[w.n] = 0;
	return buf;
}

bool sip_probe_write(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_writer *w)
{
	static const char *const vias[HF_TRANSPORTS] = {"SIP/2.0/UDP ", "SIP/2.0/TCP ", "SIP/2.0/TLS ", "SIP/2.0/WS ", "SIP/2.0/WSS "};
	const struct sip_conf *conf = ctx->conf;
	char branch[NAME], call[NAME], after_via[FIELD], uri[FIELD], via[FIELD], from[FIELD], to[FIELD], method[SIP_PROBE_METHOD_MAX + 1], cseq[FIELD];
	struct osip_door_request r = {.method = method, .call_id = call, .cseq = cseq};
	struct hf_writer v = hf_writer_on(after_via, FIELD - 1), m = hf_writer_on(method, sizeof method - 1), c = hf_writer_on(cseq, FIELD - 1);

	secret_of(ctx, p, "probe:", branch);
	secret_of(ctx, p, "probe-call:", call);
	hf_w_printf(&v, ";branch=%s%s;rport", SIP_MAGIC, branch);
	after_via[v.n] = 0;
	hf_w_bytes(&m, conf->probe_method);
	method[m.n] = 0;
	hf_w_printf(&c, "1 %s", method);
	cseq[c.n] = 0;
	r.uri = field(uri, "sip:", &p->addr, "");
	r.via = field(via, vias[p->transport], &p->local, after_via);
	r.from = from_of(conf, from, p, call);
	r.to = field(to, "<sip:", &p->addr, ">");
	return osip_door_compose(&r, w);
}

static enum hf_probe_result read_one(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_bytes got, uint32_t *busy_ms)
{
	const struct sip_conf *conf = ctx->conf;
	struct osip_door_answer a;
	char branch[NAME];
	struct hf_bytes seen;

	secret_of(ctx, p, "probe:", branch);
	if (!osip_door_read(got, &a))
		return HF_PROBE_NOT_MINE;
	seen = hf_bytes_str(a.branch);
	if (!hf_bytes_istarts(seen, HF_LIT(SIP_MAGIC)) || !hf_bytes_ieq(hf_bytes_sub(seen, sizeof SIP_MAGIC - 1, seen.n), hf_bytes_str(branch)))
		return HF_PROBE_NOT_MINE;
	if (a.status < 200)
		return HF_PROBE_MORE;
	if (a.status != 503)
		return sip_codes_have(&conf->probe_codes, a.status) ? HF_PROBE_OK : HF_PROBE_FAILED;
	if (a.has_retry_after)
		*busy_ms = (a.retry_after_s < BUSY_MAX_S ? a.retry_after_s : BUSY_MAX_S) * 1000;
	return HF_PROBE_BUSY;
}

/* All that came so far: messages that are not the answer are passed over, as datagrams are. */
static enum hf_probe_result read_stream(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_bytes got, uint32_t *busy_ms)
{
	const struct sip_conf *conf = ctx->conf;
	enum hf_probe_result r;
	struct sip_msg m;

	while (sip_scan(got, true, &conf->limits, ctx->arena, &m) != SIP_INCOMPLETE) {
		if (!m.framed)
			return HF_PROBE_FAILED;
		r = read_one(ctx, p, m.raw, busy_ms);
		if (r != HF_PROBE_NOT_MINE && r != HF_PROBE_MORE)
			return r;
		got = hf_bytes_sub(got, m.used, got.n);
	}
	return HF_PROBE_MORE;
}

enum hf_probe_result sip_probe_read(const struct hf_ctx *ctx, const struct hf_probe *p, struct hf_bytes got, uint32_t *busy_ms)
{
	return hf_transport_is_stream(p->transport) ? read_stream(ctx, p, got, busy_ms) : read_one(ctx, p, got, busy_ms);
}
