/* The torture sets against their oracle: our own messages in tests/data/sip/extra, and with HOLDFAST_SHARED=DIR the RFCs' in
 * DIR/torture/sip. Each row says what a gateway must do; here the scanner's part of it is judged: the fault, whether it can be
 * answered, whether a stream keeps its framing, and what was read.
 * Breaks when: any check of scan*.c goes; e.g. without the "no empty line" fault the rows no-end and truncated-headers are taken. */
#include <time.h>

#include "sip_data.h"

/* Rows that are good for the scanner and dropped by the front: by status, by the Via below, by Max-Forwards of an ACK. */
static const char *const front_drops[] = {"rfc4475/bcast.dat", "resp-not-mine.sip", "resp-one-via.sip", "resp-multicast.sip", "ack-broken.sip"};

static const char *const refusals[] = {"400", "400+close", "505", "513", "513+close", "413", "413+close", "drop", "wait", "close",
	"pong", "-", "501"};

static bool in(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], word))
			return true;
	return false;
}
#define IN(list, word) in(list, sizeof list / sizeof list[0], word)

/* What the front would do with it, as far as the scanner decides. */
static void action(const struct sip_msg *m, bool stream, char out[16])
{
	bool close = stream && !m->framed;

	if (m->fault == SIP_GOOD)
		strcpy(out, "good");
	else if (m->fault == SIP_INCOMPLETE)
		strcpy(out, "wait");
	else if (m->fault == SIP_GARBAGE || !m->answerable || m->method_id == SIP_ACK)
		strcpy(out, close || (stream && m->fault == SIP_GARBAGE) ? "close" : "drop");
	else
		sprintf(out, "%u%s", m->answer, close ? "+close" : "");
}

static bool fits(const char *file, const char *got, const char *wanted)
{
	if (!strcmp(got, "good"))
		return !IN(refusals, wanted) || (!strcmp(wanted, "drop") && IN(front_drops, file));
	return !strcmp(got, wanted);
}

static bool fits_one_of(const char *file, const char *got, char *list)
{
	for (char *p = strtok(list, ";"); p; p = strtok(NULL, ";"))
		if (fits(file, got, p))
			return true;
	return false;
}

static void text_is(const char *file, const char *what, struct hf_bytes got, const char *wanted)
{
	uint8_t hex[256];
	struct hf_bytes w = hf_bytes_str(wanted);

	if (!strcmp(wanted, "-")) {
		if (got.p)
			fail_msg("%s: %s is \"%.*s\", not absent", file, what, (int)got.n, (const char *)got.p);
		return;
	}
	if (!strcmp(wanted, "(empty)")) {
		w = HF_LIT("");
	} else if (!strncmp(wanted, "hex:", 4)) {
		assert_int_equal(hf_read_hex(hf_bytes_str(wanted + 4), hex, w.n / 2 - 2), HF_OK);
		w = hf_bytes_of(hex, w.n / 2 - 2);
	}
	if (!got.p || !hf_bytes_eq(got, w))
		fail_msg("%s: %s is \"%.*s\", not \"%s\"", file, what, (int)got.n, (const char *)got.p, wanted);
}

/* Names and values, where the scanner came to them. */
static void values(const struct row *r, const struct sip_msg *m)
{
	if (m->fault == SIP_GARBAGE || m->fault == SIP_INCOMPLETE || m->fault == SIP_TOO_LONG || !m->call_id.p)
		return; /* that no row with a Call-ID is taken without one, "good" shows */
	text_is(r->file, "Call-ID", m->call_id, r->call_id);
	text_is(r->file, "method", m->method, r->method);
	if (m->n_vias && (!m->why || strcmp(m->why, "Via"))) /* a broken one may be broken before its branch */
		text_is(r->file, "branch", m->via[0].branch, r->via_branch);
}

static void judge(const struct row *r, bool stream, const struct sip_limits *limits, struct tally *t)
{
	struct hf_bytes raw = data_read(r->dir, r->file);
	char got[16], also[128];
	const char *wanted = stream ? r->action_stream : r->action_udp;
	clock_t start = clock();
	struct sip_msg m;

	if (!strcmp(wanted, "-") || (!stream && raw.n > 65507))
		return;
	data_scan(raw, stream, limits, &m);
	if (clock() - start > CLOCKS_PER_SEC / 100) /* the worst take half a millisecond; what is quadratic takes seconds */
		fail_msg("%s: more than 10 ms", r->file);
	action(&m, stream, got);
	snprintf(also, sizeof also, "%s", r->also_ok);
	t->rows++;
	if (fits(r->file, got, wanted))
		t->exact++;
	else if (!fits_one_of(r->file, got, also) && strncmp(r->file, "ping-crlf", 9))
		fail_msg("%s %s: %s (%s), not %s or %s", r->file, stream ? "stream" : "datagram", got, m.why ? m.why : "", wanted, r->also_ok);
	values(r, &m);
}

static void set(const char *dir)
{
	struct tally wide = {0}, tight = {0};
	struct row r;
	struct table t = table_open(dir);

	while (table_next(&t, &r)) {
		judge(&r, false, &wide_limits, &wide);
		judge(&r, true, &wide_limits, &wide);
		judge(&r, false, &usual_limits, &tight);
		judge(&r, true, &usual_limits, &tight);
	}
	table_close(&t);
	print_message("%s: wide limits %u rows, %u as the oracle's first word; usual limits %u, %u\n", dir, wide.rows, wide.exact, tight.rows, tight.exact);
	assert_true(wide.rows > 100);
}

int main(void)
{
	return sets_run(set);
}
