/* Classes of faults that users of other SIP proxies met, each by its number in our list, played through the front.
 * Each test names what has to hold; the rule is in the README's table. */
#include "front_kit.h"

static struct kit k;

static int setup(void **state) { (void)state; kit_init(&k); return 0; }
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define PHONE "192.0.2.51:5060"
#define PBX1 "192.0.2.101:5060"
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static uint64_t call_fp(const char *id) { return hf_fingerprint(k.site.hash_key, HF_LIT("call-id"), hf_bytes_str(id), SIZE_MAX); }

static void branch_out(char out[21])
{
	const char *p = strstr(k.out, ";branch=");

	assert_non_null(p);
	snprintf(out, 21, "%s", p + 8);
}

/* Replaces and the like name a dialog: its Call-ID is looked up first; the value in a Refer-To passes untouched. */
static void b09_attended_transfer(void **state)
{
	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .call_id = "cz", .extra = "Replaces: cy;to-tag=1;from-tag=2;early-only" CRLF}));
	assert_int_equal(k.ask.refs[0].fp, call_fp("cy"));
	assert_int_equal(k.ask.key.fp, call_fp("cz"));
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "REFER", .to_tag = "b1", .call_id = "cx", .extra = "Refer-To: <sip:c@x?Replaces=cy%3Bto-tag%3D1>" CRLF}));
	assert_int_equal(k.ask.refs[0].fp, 0);
	assert_true(kit_says(&k, "Refer-To: <sip:c@x?Replaces=cy%3Bto-tag%3D1>" CRLF));
}

/* Each dialog has its own cookie, also when one phone opens many; a request without Route still has a key. */
static void b10_a_cookie_a_dialog(void **state)
{
	char one[200], two[200];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .call_id = "c1"}));
	kit_route(&k, one, sizeof one);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .call_id = "c2"}));
	kit_route(&k, two, sizeof two);
	assert_string_not_equal(one, two);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .call_id = "c2"}));
	assert_int_equal(k.ask.key.fp, call_fp("c2"));
}

/* The ACK of a 2xx goes by the cookie in Route, not to the private address of the Contact that its Request-URI has. */
static void b24_ack_of_2xx(void **state)
{
	char route[200];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	kit_route(&k, route, sizeof route);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "ACK", .uri = "sip:bob@10.9.9.9:5066", .to_tag = "b1", .via = "SIP/2.0/UDP 192.0.2.51;branch=z9hG4bK2", .extra = route}));
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_int_equal(strncmp(k.out, "ACK sip:bob@10.9.9.9:5066 SIP/2.0" CRLF, 35), 0);
}

/* Every request that forms a dialog is record-routed, none within one. */
static void b29_record_route(void **state)
{
	static const char *const forms[] = {"INVITE", "SUBSCRIBE", "REFER", "NOTIFY"}, *const others[] = {"REGISTER", "OPTIONS", "MESSAGE", "PUBLISH", "CANCEL"};

	(void)state;
	for (int i = 0; i < 4; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = forms[i]}));
		assert_true(kit_says(&k, "Record-Route: <sip:hfd-"));
	}
	for (int i = 0; i < 5; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = others[i]}));
		assert_false(kit_says(&k, "Record-Route"));
	}
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .to_tag = "b1"}));
	assert_false(kit_says(&k, "Record-Route"));
}

/* The route set is that of the dialog's beginning: a re-INVITE gets no Record-Route, one in its 200 goes up untouched and is not believed, and both sides go on
 * by the first. Fails when the 200 moves the session, or when Record-Route is written inside a dialog. */
static void b28_a_later_record_route(void **state)
{
	char route[200];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	kit_route(&k, route, sizeof route);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .to_tag = "b1", .cseq = "2", .extra = route}));
	assert_false(kit_says(&k, "Record-Route"));
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	kit_feed(&k, PBX1, kit_answer(&k, "200 OK", "b1", "Record-Route: <sip:hfd-0@192.0.2.77;lr>" CRLF));
	kit_sent_to(&k, HF_TO_RETURN, PHONE);
	assert_true(kit_says(&k, CRLF "Record-Route: <sip:hfd-0@192.0.2.77;lr>" CRLF));
	assert_int_equal(k.n_learnt, 0);
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .cseq = "3", .extra = route}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@192.0.2.51", .from_tag = "b1", .to_tag = "a1", .extra = route}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
}

/* Exactly one Via value is popped, whatever the layout. */
static void b47_via_on_one_line(void **state)
{
	static const struct { const char *before, *behind, *left; } layout[] = { /* our value; what is left */
		{"Via: ", ", SIP/2.0/UDP 192.0.2.51;branch=z9hG4bK1" CRLF, "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bK1" CRLF},
		{"v:", CRLF "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bK1" CRLF, "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bK1" CRLF},
		{"via :\r\n ", "\r\n ,SIP/2.0/UDP 192.0.2.51;x=\"a,b\";branch=z9hG4bK1,SIP/2.0/UDP c" CRLF, "SIP/2.0/UDP 192.0.2.51;x=\"a,b\";branch=z9hG4bK1,SIP/2.0/UDP c" CRLF},
	};
	char via[200], text[1000], vias[600];

	(void)state;
	for (int i = 0; i < 3; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
		kit_header(&k, "Via: ", via, sizeof via);
		snprintf(vias, sizeof vias, "%s%s%s", layout[i].before, via + 5, layout[i].behind);
		snprintf(text, sizeof text, "SIP/2.0 180 Ringing" CRLF "%sFrom: <sip:a@b>;tag=a1" CRLF "To: <sip:b@b>;tag=b1" CRLF "Call-ID: c1" CRLF "CSeq: 1 INVITE" CRLF CRLF, vias);
		kit_feed(&k, PBX1, text);
		kit_sent_to(&k, HF_TO_RETURN, PHONE);
		assert_true(kit_says(&k, layout[i].left));
		assert_false(kit_says(&k, "hf="));
	}
}

/* A request whose Call-ID is so long, of x but for its last octet. */
static const char *with_call_id(unsigned n, char last)
{
	static char text[6000];
	char id[4001];

	memset(id, 'x', n);
	id[n - 1] = last;
	id[n] = 0;
	assert_in_range(snprintf(text, sizeof text, "INVITE sip:bob@example.com SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK1" CRLF "Max-Forwards: 70" CRLF
				 "From: <sip:alice@example.com>;tag=a1" CRLF "To: <sip:bob@example.com>" CRLF "Call-ID: %s" CRLF "CSeq: 1 INVITE" CRLF "Content-Length: 0" CRLF CRLF, id),
			n, sizeof text - 1);
	return text;
}

/* Call-IDs of any length are told apart by all of their octets, also where `key-length` cuts what places them. Fails when the session's key is cut, or when one
 * above it is refused. */
static void b51_long_call_ids(void **state)
{
	static const unsigned lengths[] = {1, 80, 81, 300, 4000};

	(void)state;
	for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		uint64_t one, place;
		char id[4001] = "";

		memset(id, 'x', lengths[i]);
		kit_feed(&k, PHONE, with_call_id(lengths[i], 'x'));
		assert_int_equal(k.send.to, HF_TO_SERVER);
		one = k.ask.key.fp;
		place = k.ask.place;
		assert_int_equal(one, call_fp(id));
		kit_feed(&k, PHONE, with_call_id(lengths[i], 'y'));
		assert_int_not_equal(k.ask.key.fp, one);
		assert_int_equal(place != 0, lengths[i] > 80);
		assert_true(!place || k.ask.place == place);
	}
}

/* CANCEL and the ACK of a refusal have the INVITE's key and branch, on this gateway and on another with the same secrets. */
static void b61_b62_b140_same_branch(void **state)
{
	static const char *const vias[] = {"SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK77", "SIP/2.0/UDP 192.0.2.51:5060"};
	char invite[21], other[21];

	(void)state;
	for (int i = 0; i < 2; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .via = vias[i]}));
		branch_out(invite);
		k.site.boot ^= 77; /* the other gateway */
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "CANCEL", .via = vias[i]}));
		branch_out(other);
		assert_string_equal(invite, other);
		assert_int_equal(k.ask.key.fp, call_fp("c1"));
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "ACK", .via = vias[i], .to_tag = "b1"}));
		branch_out(other);
		assert_string_equal(invite, other);
		assert_int_equal(k.ask.life, HF_LIFE_NONE);
		kit_choose(&k, "pbx2", "192.0.2.102:5060");
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .via = vias[i]}));
		branch_out(other);
		assert_string_not_equal(invite, other); /* another server, another transaction */
		kit_choose(&k, "pbx1", "192.0.2.101:5060");
	}
}

/* Each copy of a CANCEL goes on, with one branch. */
static void b63_cancel_three_times(void **state)
{
	char first[2000];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "CANCEL"}));
	strcpy(first, k.out);
	for (int i = 0; i < 2; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "CANCEL"}));
		kit_wants(&k, first);
	}
}

/* With rport to the source port, without it to the sent-by's; received and rport tell what was seen, asked for or not. */
static void b80_return_port(void **state)
{
	static const struct { const char *via, *seen, *back; } rows[] = {
		{"SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK1", "192.0.2.51:5060;branch=z9hG4bK1" CRLF, "192.0.2.51:5060"},
		{"SIP/2.0/UDP 192.0.2.51;branch=z9hG4bK1", "192.0.2.51;branch=z9hG4bK1" CRLF, "192.0.2.51:5060"},
		{"SIP/2.0/UDP 192.0.2.51:5099;branch=z9hG4bK1;rport", "192.0.2.51:5099;branch=z9hG4bK1;rport=50933;received=192.0.2.51" CRLF, "192.0.2.51:50933"},
		{"SIP/2.0/UDP 10.0.0.5:5060;rport=1;branch=z9hG4bK1", "10.0.0.5:5060;rport=50933;branch=z9hG4bK1;received=192.0.2.51" CRLF, "192.0.2.51:50933"},
		{"SIP/2.0/UDP 10.0.0.5:5070;received=192.0.2.250;branch=z9hG4bK1", "10.0.0.5:5070;received=192.0.2.51;branch=z9hG4bK1" CRLF, "192.0.2.51:5070"},
		{"SIP/2.0/UDP phone.example.net;branch=z9hG4bK1", "phone.example.net;branch=z9hG4bK1;received=192.0.2.51" CRLF, "192.0.2.51:5060"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		kit_feed(&k, "192.0.2.51:50933", kit_request((struct kit_request){.method = "INVITE", .via = rows[i].via}));
		if (!kit_says(&k, rows[i].seen))
			fail_msg("%s became\n%s", rows[i].via, k.out);
		kit_feed(&k, PBX1, kit_answer(&k, "200 OK", "b1", NULL));
		kit_sent_to(&k, HF_TO_RETURN, rows[i].back);
	}
}

/* IPv6: brackets in sent-by, none in received, both read. */
static void b83_ipv6(void **state)
{
	(void)state;
	kit_listener(&k, 0, "udp://[2001:db8::1]:5060", false);
	k.chosen.out_addr = k.listeners[0].addr;
	kit_feed(&k, "[2001:db8::51]:5060", kit_request((struct kit_request){.method = "INVITE", .via = "SIP/2.0/UDP [2001:db8::99];branch=z9hG4bK1;received=[2001:db8::2]"}));
	assert_true(kit_says(&k, "Via: SIP/2.0/UDP [2001:db8::1]:5060;branch="));
	assert_true(kit_says(&k, "@[2001:db8::1]:5060;lr>" CRLF));
	assert_true(kit_says(&k, "[2001:db8::99];branch=z9hG4bK1;received=2001:db8::51" CRLF));
	kit_feed(&k, "[2001:db8::101]:5060", kit_answer(&k, "200 OK", "b1", NULL));
	kit_sent_to(&k, HF_TO_RETURN, "[2001:db8::51]:5060");
	kit_feed(&k, "[2001:db8::51]:5060", kit_request((struct kit_request){.method = "INVITE", .via = "SIP/2.0/UDP [2001:DB8:0::51];branch=z9hG4bK1", .extra = "Route: <sip:[2001:db8:0:0::1];lr>" CRLF}));
	assert_false(kit_says(&k, "received=") || kit_says(&k, CRLF "Route"));
}

/* The request after a challenge has the key of the one before. */
static void b109_challenge(void **state)
{
	uint64_t before, place;

	(void)state;
	kit_custom(&k, "key", "to-user");
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "REGISTER"}));
	before = k.ask.key.fp;
	place = k.ask.place;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "REGISTER", .cseq = "2", .extra = "Authorization: Digest username=\"carol\"" CRLF}));
	assert_int_equal(k.ask.key.fp, before);
	assert_int_equal(k.ask.place, place);
}

/* Route sets of proxies before and behind us are left as they are. */
static void b136_other_proxies(void **state)
{
	char route[400], tail[] = ", <sip:p0.example.net;lr>" CRLF;

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "Record-Route: <sip:p0.example.net;lr>" CRLF}));
	assert_true(strstr(k.out, "hfd-") < strstr(k.out, "p0.example.net"));
	kit_route(&k, route, sizeof route);
	memcpy(route + strlen(route) - 2, tail, sizeof tail);
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@10.0.0.1", .from_tag = "b1", .to_tag = "a1", .extra = route}));
	assert_true(k.n_sought == 1 && hf_bytes_eq(k.seek.host, HF_LIT("p0.example.net"))); /* the next hop is that proxy, and no other */
	strcpy(strstr(route, "p0."), "203.0.113.4;lr>" CRLF);
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@10.0.0.1", .from_tag = "b1", .to_tag = "a1", .extra = route}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, "203.0.113.4:5060");
	assert_true(kit_says(&k, CRLF "Route: <sip:203.0.113.4;lr>" CRLF));
}

/* Client and server on one host: the exact address and port tells them apart, and a response goes by our Via alone. */
static void b137_client_on_the_servers_host(void **state)
{
	(void)state;
	kit_feed(&k, "192.0.2.101:5080", kit_request((struct kit_request){.method = "INVITE", .via = "SIP/2.0/UDP 192.0.2.101:5080;branch=z9hG4bK1"}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	kit_feed(&k, PBX1, kit_answer(&k, "180 Ringing", "b1", NULL));
	kit_sent_to(&k, HF_TO_RETURN, "192.0.2.101:5080");
	assert_true(kit_says(&k, "From: <sip:alice@example.com>;tag=a1" CRLF));
}

/* Some agents ignore Record-Route: their requests find the dialog by Call-ID, a server's go to the Request-URI. */
static void requests_without_route(void **state)
{
	static const char *const methods[] = {"ACK", "BYE", "INFO"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		kit_feed(&k, PHONE, kit_request((struct kit_request){.method = methods[i], .to_tag = "b1"}));
		assert_int_equal(k.send.to, HF_TO_SERVER);
		assert_int_equal(k.ask.key.fp, call_fp("c1"));
		kit_feed(&k, PBX1, kit_request((struct kit_request){.method = methods[i], .uri = "sip:alice@192.0.2.51:5060", .from_tag = "b1", .to_tag = "a1"}));
		kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
	}
}

/* A response must carry a Via of ours whose tag holds; over a restart it still goes where it was signed to. */
static void responses_by_signed_via_only(void **state)
{
	char answer[2000];

	(void)state;
	kit_feed(&k, PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	strcpy(answer, kit_answer(&k, "200 OK", "b1", NULL));
	k.site.boot ^= 1;
	kit_feed(&k, PBX1, answer);
	kit_sent_to(&k, HF_TO_RETURN, PHONE);
	strstr(answer, ";hf=")[8] ^= 1;
	kit_feed(&k, PBX1, answer);
	assert_int_equal(k.reason, SIP_R_FOREIGN_VIA);
	assert_int_equal(k.n_sent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(b09_attended_transfer), T(b10_a_cookie_a_dialog), T(b24_ack_of_2xx), T(b28_a_later_record_route), T(b29_record_route), T(b47_via_on_one_line), T(b51_long_call_ids),
		T(b61_b62_b140_same_branch), T(b63_cancel_three_times), T(b80_return_port), T(b83_ipv6), T(b109_challenge), T(b136_other_proxies),
		T(b137_client_on_the_servers_host), T(requests_without_route), T(responses_by_signed_via_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
