/* The torture sets over a connection: each message whole, octet by octet and in random pieces, through the step against the oracle's
 * word for streams. Our own messages in tests/data/sip/extra always, the RFCs' with HOLDFAST_SHARED=DIR in DIR/torture/sip.
 * Whatever the pieces are, exactly the same goes out. Breaks when a framing rule of stream.c or the close of a lost framing goes:
 * ncl, mcl01 and the cl-* rows get another word; without TOOK dblreq and two-in-one do. */
#include "stream_kit.h"

#include "sip_data.h"

#define CLIENT "192.0.2.51:40001"
/* A Via that the gateway really made, for responses. */
#define OUR_VIA "SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKnade5nvlg79s8;hf=6265k5u0ro4u7ru6dflo87nuqt9avg0008ph7h17j38goi9l909g"
enum { RANDOM_CUTS = 12 };

static uint8_t dressed[1 << 17];

static const uint8_t *find(struct hf_bytes b, const char *what) { return memmem(b.p, b.n, what, strlen(what)); }

/* A response comes with our own Via on top: in place of the gateway's of the set, or before those of the RFC. */
static struct hf_bytes dress(const char *file, struct hf_bytes raw)
{
	struct hf_writer w = hf_writer_on(dressed, sizeof dressed);
	const uint8_t *ours = find(raw, "Via: SIP/2.0/UDP 192.0.2.1:"), *end;
	bool replace = strcmp(file, "rfc4475/bcast.dat") == 0 || ours;
	const uint8_t *via = ours ? ours : find(raw, "\r\nVia");

	if (!hf_bytes_starts(raw, HF_LIT("SIP/2.0")) || !via || strcmp(file, "resp-not-mine.sip") == 0)
		return raw;
	via = ours ? via : via + 2;
	end = replace ? via + (find(hf_bytes_of(via, raw.n - (size_t)(via - raw.p)), "\r\n") - via) + 2 : via;
	hf_w_mem(&w, raw.p, (size_t)(via - raw.p));
	hf_w_str(&w, "Via: " OUR_VIA "\r\n");
	hf_w_mem(&w, end, raw.n - (size_t)(end - raw.p));
	return hf_writer_view(&w);
}

/* What came of a connection, in the oracle's words. */
struct tale { unsigned forwards, relays, pongs; char answer[8]; };

static void watch(const struct kit *k, const struct row *r, struct tale *t)
{
	struct sip_msg m;

	if (!k->n_sent)
		return;
	if (k->send.to == HF_TO_SERVER) {
		t->forwards++;
		data_scan(hf_bytes_of(k->out, k->out_n), true, &wide_limits, &m);
		if (m.fault != SIP_GOOD || m.used != k->out_n || !m.via[0].hf.p || !m.has_max_forwards)
			fail_msg("%s: forwarded with a fault: %s", r->file, m.why ? m.why : "framing");
	} else if (k->send.to == HF_TO_RETURN) {
		t->relays++;
	} else {
		assert_int_equal(k->send.to, HF_TO_SOURCE);
		if (strcmp(k->out, "\r\n") == 0)
			t->pongs++;
		else
			snprintf(t->answer, sizeof t->answer, "%.3s", k->out + 8);
	}
}

static void add(char *buf, size_t cap, const char *word)
{
	if (*buf)
		strncat(buf, "+", cap - strlen(buf) - 1);
	strncat(buf, word, cap - strlen(buf) - 1);
}

static void tell(const struct line *l, const struct tale *t, char *buf, size_t cap)
{
	*buf = 0;
	if (t->forwards)
		add(buf, cap, t->forwards == 1 ? "forward" : "forwardx2");
	if (t->relays)
		add(buf, cap, "relay");
	if (t->pongs)
		add(buf, cap, "pong");
	if (*t->answer)
		add(buf, cap, t->answer);
	if (l->closed)
		add(buf, cap, "close");
	if (!*buf)
		add(buf, cap, l->n ? "wait" : "drop");
}

static uint32_t dice;
static size_t piece(unsigned how, size_t left)
{
	size_t n;

	if (how == 0)
		return left;
	if (how == 1)
		return 1;
	dice = dice * 1664525 + 1013904223;
	n = 1 + (dice >> 8) % (how % 2 ? 40 : left);
	return n < left ? n : left;
}

/* Through a fresh connection, in pieces. */
static void play(struct kit *k, struct line *l, const struct row *r, struct hf_bytes raw, unsigned how, char *got, size_t cap)
{
	struct tale t = {0};

	line_open(l, k, &k->listeners[1], CLIENT, 3);
	for (size_t at = 0, n; at < raw.n && !l->closed; at += n) {
		n = piece(how, raw.n - at);
		memcpy(l->in + l->n, raw.p + at, n);
		l->n += n;
		while (l->n && l->n >= l->need) {
			bool on = line_step(l);

			watch(k, r, &t);
			if (!on)
				break;
		}
	}
	tell(l, &t, got, cap);
}

static void judge(struct kit *k, struct line *l, const struct row *r, struct tally *t, unsigned *wrong)
{
	static char whole[LINE_NOTES];
	static uint8_t kept[1 << 17];
	struct hf_bytes raw = dress(r->file, data_read(r->dir, r->file));
	char first[32], got[32];

	if (strcmp(r->action_stream, "-") == 0)
		return;
	memcpy(kept, raw.p, raw.n);
	raw.p = kept;
	play(k, l, r, raw, 0, first, sizeof first);
	t->rows++;
	t->exact += strcmp(first, r->action_stream) == 0;
	if (!row_allows(r, first, r->action_stream)) {
		print_message("%s: %s (reason %u), not %s or %s\n", r->file, first, k->reason, r->action_stream, r->also_ok);
		++*wrong;
	}
	memcpy(whole, l->notes, l->notes_n + 1);
	for (unsigned how = 1; how < 2 + RANDOM_CUTS; how++) {
		play(k, l, r, raw, how, got, sizeof got);
		if (strcmp(got, first) != 0 || strcmp(whole, l->notes) != 0)
			fail_msg("%s: in pieces (%u) %s, whole %s", r->file, how, got, first);
	}
}

static void set(const char *dir)
{
	struct tally t = {0};
	struct row r;
	struct table table = table_open(dir);
	struct line l = {0};
	struct kit k;
	unsigned wrong = 0;

	kit_init(&k);
	kit_listener(&k, 1, "tcp://192.0.2.1:5060", false);
	kit_choose(&k, "pbx1", "192.0.2.101:5060");
	k.chosen.transport = HF_TCP;
	k.chosen.out = &k.listeners[1];
	line_open(&l, &k, &k.listeners[1], CLIENT, 3);
	while (table_next(&table, &r))
		judge(&k, &l, &r, &t, &wrong);
	table_close(&table);
	line_close(&l);
	kit_fini(&k);
	print_message("%s: %u rows, %u as the oracle's first word, %u wrong\n", dir, t.rows, t.exact, wrong);
	assert_true(t.rows > 50);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	return sets_run(set);
}
