/* The torture sets through the whole step: each message as one datagram of a client, against the oracle's word for UDP. Our own
 * messages in tests/data/sip/extra always, the RFCs' with HOLDFAST_SHARED=DIR in DIR/torture/sip.
 * Unconditional for every message: nothing leaves but to a server, or to the source's own address.
 * Breaks when a check of check.c, a drop of reply.c or an edit of edit.c goes: the rows named there then get another word. */
#include "front_kit.h"

#include "sip_data.h"

#define CLIENT "192.0.2.51:5060"
/* A Via that the gateway really made, for responses. */
#define OUR_VIA "SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKnade5nvlg79s8;hf=6265k5u0ro4u7ru6dflo87nuqt9avg0008ph7h17j38goi9l909g"

static uint8_t dressed[1 << 17];

static const uint8_t *find(struct hf_bytes b, const char *what) { return memmem(b.p, b.n, what, strlen(what)); }

/* A response comes with our own Via on top: in place of the gateway's of the set, or before those of the RFC. */
static struct hf_bytes dress(const char *file, struct hf_bytes raw)
{
	struct hf_writer w = hf_writer_on(dressed, sizeof dressed);
	const uint8_t *ours = find(raw, "Via: SIP/2.0/UDP 192.0.2.1:"), *line = find(raw, "\r\n"), *end;
	bool replace = strcmp(file, "rfc4475/bcast.dat") == 0 || ours;
	const uint8_t *via = ours ? ours : find(raw, "\r\nVia");

	if (!hf_bytes_starts(raw, HF_LIT("SIP/2.0")) || !via || !line || strcmp(file, "resp-not-mine.sip") == 0)
		return raw;
	via = ours ? via : via + 2;
	end = replace ? via + (find(hf_bytes_of(via, raw.n - (size_t)(via - raw.p)), "\r\n") - via) + 2 : via;
	hf_w_mem(&w, raw.p, (size_t)(via - raw.p));
	hf_w_str(&w, "Via: " OUR_VIA "\r\n");
	hf_w_mem(&w, end, raw.n - (size_t)(end - raw.p));
	return hf_writer_view(&w);
}

static const char *outcome(const struct kit *k, bool response, char buf[16])
{
	if (!k->n_sent || k->reason == SIP_R_STUN)
		return "drop";
	if (k->send.to == HF_TO_SERVER)
		return "forward";
	if (response)
		return "relay";
	snprintf(buf, 16, "%.3s", k->out + 8);
	return buf;
}

/* What a forwarded request must be, whatever it was. */
static void is_well_made(struct kit *k, const struct row *r, size_t sent)
{
	struct sip_msg m;

	data_scan(hf_bytes_of(k->out, k->out_n), false, &wide_limits, &m);
	if (m.fault != SIP_GOOD)
		fail_msg("%s: forwarded with a fault: %s", r->file, m.why);
	if (!m.n_vias || !m.via[0].hf.p || !m.has_max_forwards || m.max_forwards > 255 || k->out_n > sent + 400)
		fail_msg("%s: forwarded without what a proxy adds", r->file);
	for (unsigned i = 0; i < m.n_routes && i < SIP_MAX_ROUTES; i++)
		if (hf_bytes_ieq(m.route[i].uri.host, HF_LIT("gw.example.com")))
			fail_msg("%s: our own Route went on", r->file);
}

static void judge(struct kit *k, const struct row *r, struct tally *t, unsigned *wrong)
{
	struct hf_addr client = kit_addr(CLIENT);
	struct hf_bytes raw = dress(r->file, data_read(r->dir, r->file));
	char buf[16];
	const char *got;

	if (strcmp(r->action_udp, "-") == 0 || raw.n > 65507)
		return;
	kit_octets(k, CLIENT, raw);
	got = outcome(k, hf_bytes_starts(raw, HF_LIT("SIP/2.0 ")), buf);
	t->rows++;
	t->exact += strcmp(got, r->action_udp) == 0;
	if (!row_allows(r, got, r->action_udp)) {
		print_message("%s: %s (reason %u), not %s or %s\n", r->file, got, k->reason, r->action_udp, r->also_ok);
		++*wrong;
	}
	if (k->n_sent && k->send.to != HF_TO_SERVER && k->send.to != HF_TO_SOURCE && !hf_addr_ip_eq(&k->send.addr, &client))
		fail_msg("%s: sent to a third party", r->file);
	if (strcmp(got, "forward") == 0)
		is_well_made(k, r, raw.n);
	else if (k->n_sent && strcmp(got, "relay") != 0 && k->reason != SIP_R_STUN && k->out_n > raw.n)
		fail_msg("%s: the answer is longer than the request", r->file);
}

static void set(const char *dir)
{
	struct tally t = {0};
	struct row r;
	struct table table = table_open(dir);
	struct kit k;
	unsigned wrong = 0;

	kit_init(&k);
	while (table_next(&table, &r))
		judge(&k, &r, &t, &wrong);
	table_close(&table);
	kit_fini(&k);
	print_message("%s: %u rows, %u as the oracle's first word, %u wrong\n", dir, t.rows, t.exact, wrong);
	assert_true(t.rows > 50);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	return sets_run(set);
}
