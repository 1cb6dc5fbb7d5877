/* Fuzz: the scanner beside libosip2's parser. Of a message that both take, Call-ID, CSeq, tags, the count of Vias and the top branch are
 * the same; which messages only one of them takes, and why, stands in tests/unit/sip/test_scan_osip.c.
 * What cannot be compared is left out: octets with a NUL, since libosip2 works on C strings, and inputs above 2 KB, since its cost
 * grows with the square. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <osipparser2/osip_parser.h>

#include "scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)
enum { LONGEST = 2048 };

static uint8_t space[1 << 17];

static void same(const char *what, struct hf_bytes got, const char *want)
{
	if ((!want || !*want) && !got.n)
		return;
	if (!want || !hf_bytes_eq(got, hf_bytes_str(want))) {
		fprintf(stderr, "%s is \"%.*s\" here and \"%s\" there\n", what, (int)got.n, (const char *)got.p, want ? want : "(absent)");
		abort();
	}
}

static const char *tag_of(osip_from_t *f)
{
	osip_generic_param_t *p = NULL;

	return f && osip_from_get_tag(f, &p) == OSIP_SUCCESS ? p->gvalue : NULL;
}

static void compare(const struct sip_msg *m, osip_message_t *o)
{
	osip_via_t *via = osip_list_get(&o->vias, 0);
	osip_generic_param_t *branch = NULL;
	char text[2 * LONGEST];

	snprintf(text, sizeof text, "%s%s%s", o->call_id->number, o->call_id->host ? "@" : "", o->call_id->host ? o->call_id->host : "");
	same("Call-ID", m->call_id, text);
	same("CSeq", m->cseq_text, o->cseq->number);
	same("CSeq method", m->cseq_method, o->cseq->method);
	same("From tag", m->from_tag, tag_of(o->from));
	same("To tag", m->to_tag, tag_of(o->to));
	MUST((int)m->n_vias == osip_list_size(&o->vias));
	osip_via_param_get_byname(via, (char *)"branch", &branch);
	same("branch", m->via[0].branch, branch ? branch->gvalue : NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sip_limits limits = {LONGEST, 256, LONGEST, 1024, 64};
	static bool ready;
	struct hf_arena a;
	struct sip_msg m;
	osip_message_t *o;
	char text[LONGEST + 1];

	if (!ready) {
		osip_trace_initialize(TRACE_LEVEL0, NULL);
		parser_init();
		ready = true;
	}
	hf_arena_init(&a, space, sizeof space);
	if (size > LONGEST || memchr(data, 0, size) || sip_scan(hf_bytes_of(data, size), false, &limits, &a, &m) != SIP_GOOD)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	MUST(osip_message_init(&o) == 0);
	if (osip_message_parse(o, text, size) == OSIP_SUCCESS)
		compare(&m, o);
	osip_message_free(o);
	return 0;
}
