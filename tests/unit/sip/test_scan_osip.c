/* The scanner beside libosip2's parser: of messages that both take, Call-ID, CSeq, tags and Vias are the same.
 * Known differences. libosip2 alone refuses: a NUL in a quoted string (it works on C strings), a Request-URI "scheme://" that it does
 * not know. libosip2 alone takes, as it leaves the checks to its user: absent mandatory headers, a Content-Length or CSeq that is
 * no number or too large, a CSeq of another method, status codes outside 100 to 699, other versions, ports above 65535, bare CR or
 * LF as a line end, no empty line, blanks and commas in a Call-ID, two tags, control octets in a header name. URIs are not
 * compared, for it unescapes them.
 * Breaks when: a reader of Via, From, To, Call-ID or CSeq takes another value or misses one of a list. */
#include <time.h>
#include <sys/time.h>
#include <osipparser2/osip_parser.h>

#include "sip_data.h"

static unsigned both, ours, theirs, neither;
static const char *const ours_alone[] = {"rfc4475/intmeth.dat", "rfc4475/novelsc.dat"};

static void same(const char *file, const char *what, struct hf_bytes got, const char *want)
{
	if (!want && (!got.p || !got.n))
		return;
	if (!want || !got.p || !hf_bytes_eq(got, hf_bytes_str(want)))
		fail_msg("%s: %s is \"%.*s\" here and \"%s\" there", file, what, (int)got.n, (const char *)got.p, want ? want : "(absent)");
}

static const char *tag_of(osip_from_t *f)
{
	osip_generic_param_t *p = NULL;

	return f && osip_from_get_tag(f, &p) == OSIP_SUCCESS ? p->gvalue : NULL;
}

static void call_id_same(const char *file, struct hf_bytes got, const osip_call_id_t *id)
{
	char text[16384];

	snprintf(text, sizeof text, "%s%s%s", id->number, id->host ? "@" : "", id->host ? id->host : "");
	same(file, "Call-ID", got, text);
}

static void compare(const char *file, const struct sip_msg *m, const osip_message_t *o)
{
	osip_via_t *via = osip_list_get(&o->vias, 0);
	osip_generic_param_t *branch = NULL;

	call_id_same(file, m->call_id, o->call_id);
	same(file, "CSeq", m->cseq_text, o->cseq->number);
	same(file, "CSeq method", m->cseq_method, o->cseq->method);
	same(file, "From tag", m->from_tag, tag_of(o->from));
	same(file, "To tag", m->to_tag, tag_of(o->to));
	if ((int)m->n_vias != osip_list_size(&o->vias))
		fail_msg("%s: %u Vias here and %d there", file, m->n_vias, osip_list_size(&o->vias));
	osip_via_param_get_byname(via, (char *)"branch", &branch);
	same(file, "branch", m->via[0].branch, branch ? branch->gvalue : NULL);
	same(file, "Via transport", m->via[0].transport, via->protocol);
	if (m->response)
		assert_int_equal(m->status, o->status_code);
	else
		same(file, "method", m->method, o->sip_method);
}

static void one(const char *dir, const char *file)
{
	struct hf_bytes raw = data_read(dir, file);
	osip_message_t *o;
	struct sip_msg m;
	bool us, them;

	if (raw.n > 16384) /* its cost grows with the square: seconds for a full datagram */
		return;
	us = data_scan(raw, false, &wide_limits, &m) == SIP_GOOD;
	assert_int_equal(osip_message_init(&o), 0);
	data_octets[raw.n] = 0;
	them = osip_message_parse(o, (const char *)raw.p, raw.n) == OSIP_SUCCESS;
	if (us && them)
		compare(file, &m, o);
	osip_message_free(o);
	if (us && !them && strcmp(file, ours_alone[0]) && strcmp(file, ours_alone[1]))
		fail_msg("%s: libosip2 refuses it", file);
	both += us && them, ours += us && !them, theirs += them && !us, neither += !us && !them;
}

static void set(const char *dir)
{
	struct table t = table_open(dir);
	struct row r;

	both = ours = theirs = neither = 0;
	while (table_next(&t, &r))
		one(dir, r.file);
	table_close(&t);
	print_message("%s: both take %u, we alone %u, libosip2 alone %u, neither %u\n", dir, both, ours, theirs, neither);
	assert_true(both > 30);
}

int main(void)
{
	osip_trace_initialize(TRACE_LEVEL0, NULL); /* it would write to stdout */
	parser_init();
	return sets_run(set);
}
