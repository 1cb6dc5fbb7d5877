/* Connections: what goes out over them and back, literal octets in and out. */
#include "stream_bench.h"

/* The Route lines that a dialog's Record-Routes give to the caller (reversed) or to the callee. */
static const char *routes(bool reversed)
{
	static char buf[600];
	char one[200], two[200] = "";
	const char *p = strstr(k.out, "Record-Route: "), *q = strstr(p + 1, "Record-Route: ");

	snprintf(one, sizeof one, "%.*s", (int)(strstr(p, CRLF) - p - 7 + 2), p + 7);
	if (q)
		snprintf(two, sizeof two, "%.*s", (int)(strstr(q, CRLF) - q - 7 + 2), q + 7);
	snprintf(buf, sizeof buf, "%s%s", reversed ? two : one, reversed ? one : two);
	return buf;
}

/* ---- there and back ---- */

/* Fails when the Via names the transport it came by, the connection is not in the parameter, or the edits are not of the message alone. */
static void from_a_connection_to_udp(void **state)
{
	struct sip_hf hf;

	(void)state;
	line_feed(&phone, "INVITE sip:bob@example.com SIP/2.0" CRLF "Via: " TCP_VIA CRLF "Max-Forwards: 70" CRLF HEAD TAIL "CSeq: 314159 INVITE" CRLF "l: 4" CRLF CRLF "v=0\n");
	kit_wants(&k, "INVITE sip:bob@example.com SIP/2.0" CRLF
		  "Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKqdor0s2o4ovf4;hf=6i65k5u0rqvufi9mdflo87nuqt9avg0008ph7hg100006000003kk9eegij00252" CRLF
		  "Record-Route: <sip:" COOKIE "@192.0.2.1:5060;lr>" CRLF "Record-Route: <sip:" COOKIE "@192.0.2.1:5060;transport=tcp;lr>" CRLF
		  "Via: " TCP_VIA CRLF "Max-Forwards: 69" CRLF HEAD TAIL "CSeq: 314159 INVITE" CRLF "l: 4" CRLF CRLF "v=0\n");
	assert_int_equal(k.send.to, HF_TO_SERVER);
	hf = line_hf(&k);
	assert_true(hf.has_connection && hf.opening && !hf.has_hold && !hf.local.family);
	assert_int_equal(hf.listener, k.listeners[1].hash);
	assert_int_equal(hf.connection.worker, 1);
	assert_int_equal(hf.connection.slot, 3);
	assert_int_equal(hf.connection.generation, 7);
	assert_int_equal(hf.source.port, 5062); /* the sent-by's: nobody listens at 40001 */
}

/* Fails when the answer does not go over the connection, or a UDP server's answer goes to a stream without a length (RFC 3261 18.3). */
static void its_answer_over_the_connection(void **state)
{
	struct hf_addr fallback = kit_addr("192.0.2.51:5062");

	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE", .via = "SIP/2.0/TCP 192.0.2.51:5062;rport;branch=z9hG4bK1"}));
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 192.0.2.51:5062;rport=40001;branch=z9hG4bK1;received=192.0.2.51" CRLF));
	{
		char text[4096], *length;
		size_t n;

		snprintf(text, sizeof text, "%s", answer("200 OK"));
		length = strstr(text, "Content-Length: 0" CRLF);
		n = (size_t)snprintf(length, 16, CRLF "v=0\r\n") + (size_t)(length - text);
		kit_octets(&k, PBX1, hf_bytes_of((const uint8_t *)text, n));
	}
	assert_int_equal(k.send.to, HF_TO_RETURN);
	line_is_flow(&k, &phone);
	assert_int_equal(k.send.listener, k.listeners[1].hash);
	assert_int_equal(k.send.transport, HF_TCP);
	assert_true(hf_addr_eq(&k.send.addr, &fallback)); /* when the connection is gone */
	assert_non_null(strstr(k.out, "To: <sip:bob@example.com>;tag=b1" CRLF "Content-Length: 5" CRLF CRLF "v=0\r\n"));
	assert_int_equal(strncmp(strstr(k.out, "Via: "), "Via: SIP/2.0/TCP 192.0.2.51:5062;", 33), 0);
}

/* One that has a length gets no second; and a listener that a reload has taken away leaves its connections. */
static void when_the_listener_is_gone(void **state)
{
	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS"}));
	k.ctx.n_listeners = 1;
	kit_feed(&k, PBX1, answer("200 OK"));
	line_is_flow(&k, &phone);
	assert_int_equal(k.send.transport, HF_TCP);
	assert_null(strstr(strstr(k.out, "Content-Length") + 1, "Content-Length"));
}

/* Fails when a connection of another start is believed to be there, or the default port is not 5060. */
static void after_a_restart_only_the_address_is_left(void **state)
{
	char text[4096];

	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS", .via = "SIP/2.0/TCP phone.example.net;rport;branch=z9hG4bK1"}));
	snprintf(text, sizeof text, "%s", answer("200 OK"));
	k.site.boot++;
	line_feed(&link, text);
	kit_sent_to(&k, HF_TO_RETURN, "192.0.2.51:5060");
	assert_int_equal(k.send.transport, HF_TCP);
	assert_int_equal(k.send.flow.generation, 0);
}

/* Fails when the length is not added, or the transport of the Via is not the real one. */
static void from_udp_to_a_connection(void **state)
{
	(void)state;
	over_tcp();
	kit_feed(&k, UDP_PHONE, "INVITE sip:bob@example.com SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK776asdhds" CRLF "Max-Forwards: 70" CRLF HEAD TAIL
		 "CSeq: 314159 INVITE" CRLF "Content-Type: application/sdp" CRLF CRLF "v=0\r\n\r\n");
	kit_wants(&k, "INVITE sip:bob@example.com SIP/2.0" CRLF
		  "Via: SIP/2.0/TCP 192.0.2.1:5060;branch=z9hG4bKnade5nvlg79s8;hf=6265k5u0ro4u7ru6dflo87nuqt9avg0008ph7h17j38goi9l909g" CRLF
		  "Record-Route: <sip:" COOKIE "@192.0.2.1:5060;transport=tcp;lr>" CRLF "Record-Route: <sip:" COOKIE "@192.0.2.1:5060;lr>" CRLF
		  "Via: SIP/2.0/UDP 192.0.2.51:5060;branch=z9hG4bK776asdhds" CRLF "Max-Forwards: 69" CRLF HEAD TAIL "CSeq: 314159 INVITE" CRLF
		  "Content-Type: application/sdp" CRLF "Content-Length: 7" CRLF CRLF "v=0\r\n\r\n");
	line_feed(&link, answer("180 Ringing"));
	kit_sent_to(&k, HF_TO_RETURN, UDP_PHONE);
	assert_int_equal(k.send.transport, HF_UDP);
	assert_int_equal(k.send.flow.generation, 0);
	kit_choose(&k, "pbx1", PBX1); /* from datagram to datagram nothing is added */
	kit_feed(&k, UDP_PHONE, "OPTIONS sip:b@b SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bKx" CRLF HEAD TAIL "CSeq: 1 OPTIONS" CRLF CRLF);
	assert_false(kit_says(&k, "Content-Length"));
}

/* One transport on both sides: one Record-Route, which names it. */
static void from_a_connection_to_a_connection(void **state)
{
	(void)state;
	over_tcp();
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE"}));
	assert_true(kit_says(&k, "INVITE sip:bob@example.com SIP/2.0" CRLF "Via: SIP/2.0/TCP 192.0.2.1:5060;branch="));
	assert_null(strstr(strstr(k.out, "Record-Route: ") + 1, "Record-Route: "));
	assert_true(kit_says(&k, "@192.0.2.1:5060;transport=tcp;lr>" CRLF));
	assert_null(strstr(strstr(k.out, "Content-Length") + 1, "Content-Length"));
}

/* Both go again, from either side, and each side's request leaves by its own transport. Fails when only the first is taken off. */
static void both_record_routes_come_back(void **state)
{
	char caller[600], callee[600];

	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE", .via = TCP_VIA}));
	snprintf(callee, sizeof callee, "%s", routes(false));
	snprintf(caller, sizeof caller, "%s", routes(true));

	line_feed(&phone, kit_request((struct kit_request){.method = "BYE", .to_tag = "b1", .cseq = "2", .extra = caller}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
	assert_int_equal(k.ask.hint, kit_server(&k, "pbx1"));
	assert_false(kit_says(&k, CRLF "Route:") || kit_says(&k, "hfd-"));

	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "BYE", .uri = "sip:alice@192.0.2.51:40001;transport=tcp", .via = "SIP/2.0/UDP 192.0.2.101;branch=z9hG4bKb",
							    .from_tag = "b1", .to_tag = "a1", .extra = callee}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, PHONE);
	assert_int_equal(k.send.transport, HF_TCP);
	assert_int_equal(k.send.listener, k.listeners[1].hash);
	assert_false(kit_says(&k, CRLF "Route:") || kit_says(&k, "hfd-"));
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 192.0.2.1:5060;branch="));
}

/* A gateway without a listener of the server's transport is reached where the client reaches it. */
static void no_listener_of_the_servers_transport(void **state)
{
	(void)state;
	kit_listener(&k, 1, "udp://10.0.0.1:5060", true);
	k.chosen.transport = HF_TCP;
	k.chosen.out = &k.listeners[1];
	k.chosen.out_addr = k.listeners[1].addr;
	kit_feed(&k, UDP_PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 10.0.0.1:5060;branch="));
	assert_null(strstr(strstr(k.out, "Record-Route: ") + 1, "Record-Route: "));
	assert_true(kit_says(&k, "@192.0.2.1:5060;lr>" CRLF));
	link.ev.listener = &k.listeners[1];
	line_feed(&link, answer("200 OK"));
	kit_sent_to(&k, HF_TO_RETURN, UDP_PHONE);
	/* and a call that this server opens: its own side is not named by a transport that is not there */
	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51", .from_tag = "s1", .call_id = "s-call"}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, UDP_PHONE);
	assert_null(strstr(strstr(k.out, "Record-Route: ") + 1, "Record-Route: "));
	assert_true(kit_says(&k, "@192.0.2.1:5060;lr>" CRLF));
	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51;transport=tcp", .from_tag = "s1"}));
	assert_int_equal(k.send.transport, HF_TCP);
	assert_int_equal(k.send.listener, 0); /* a socket for datagrams sends no stream */
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 192.0.2.1:5060;branch="));
}

static void over_ipv6(void **state)
{
	char line[300];

	(void)state;
	kit_listener(&k, 0, "udp://[2001:db8::1]:5060", false);
	kit_listener(&k, 1, "tcp://[2001:db8::1]:5070", false);
	over_tcp();
	k.chosen.addr = kit_addr("[2001:db8::101]:5060");
	line_open(&phone, &k, &k.listeners[1], "[2001:db8::51]:40001", 3);
	line_feed(&phone, kit_request((struct kit_request){.method = "REGISTER", .via = "SIP/2.0/TCP [2001:db8::77]:5062;rport;branch=z9hG4bK1", .extra = "Supported: path" CRLF}));
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP [2001:db8::1]:5070;branch=z9hG4bK"));
	assert_true(kit_says(&k, ";rport=40001;branch=z9hG4bK1;received=2001:db8::51" CRLF));
	assert_non_null(strstr(kit_header(&k, "Path: ", line, sizeof line), "@[2001:db8::1]:5070;transport=tcp;lr>"));
	link.ev.source = k.chosen.addr;
	line_feed(&link, answer("200 OK"));
	kit_sent_to(&k, HF_TO_RETURN, "[2001:db8::51]:5062");
	line_is_flow(&k, &phone);
	line_feed(&link, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:alice@[2001:db8::52]:5066;transport=TCP", .from_tag = "s1"}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, "[2001:db8::52]:5066");
	assert_int_equal(k.send.transport, HF_TCP);
}

/* A wildcard listener's local address travels with the connection. */
static void a_wildcard_listener(void **state)
{
	(void)state;
	kit_listener(&k, 1, "tcp://0.0.0.0:5060", false);
	line_open(&phone, &k, &k.listeners[1], PHONE, 3);
	phone.ev.local = kit_addr("192.0.2.1:5060");
	line_feed(&phone, kit_request((struct kit_request){.method = "INVITE"}));
	assert_true(kit_says(&k, "@192.0.2.1:5060;transport=tcp;lr>" CRLF));
	assert_true(hf_addr_ip_eq(&phone.ev.local, &(struct hf_addr){.family = 4, .ip = {192, 0, 2, 1}}));
	assert_int_equal(line_hf(&k).local.ip[3], 1);
}

/* ---- from a server ---- */

/* Fails when what comes over a connection that we dialled is taken for a client's. */
static void a_server_speaks(void **state)
{
	(void)state;
	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51:5070;transport=tcp", .from_tag = "s1", .via = "SIP/2.0/TCP 192.0.2.101;branch=z9hG4bKs"}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5070");
	assert_int_equal(k.send.transport, HF_TCP);
	assert_int_equal(k.n_learnt, 1);
	assert_int_equal(k.learnt[0].learn.server, kit_server(&k, "pbx1"));
	line_feed(&phone, answer("200 OK"));
	line_is_flow(&k, &link);

	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@10.9.9.9", .from_tag = "s1", .extra = "Route: <sip:192.0.2.51:5099;transport=TCP;lr>" CRLF}));
	kit_sent_to(&k, HF_TO_NEXT_HOP, "192.0.2.51:5099");
	assert_int_equal(k.send.transport, HF_TCP);
	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51", .from_tag = "s1"}));
	assert_int_equal(k.send.transport, HF_UDP);
	assert_int_equal(k.send.listener, k.listeners[0].hash);
	assert_true(kit_says(&k, "@192.0.2.1:5060;lr>" CRLF "Record-Route: <sip:hfd-"));

	kit_listener(&k, 2, "udp://192.0.2.1:5080", false); /* of two alike, the one that the server used */
	k.at = &k.listeners[2];
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51", .from_tag = "s1"}));
	assert_int_equal(k.send.listener, k.listeners[2].hash);

	other.ev.from_servers = true; /* a server that dialled us */
	line_feed(&other, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:alice@192.0.2.51", .from_tag = "s1"}));
	assert_int_equal(k.send.to, HF_TO_NEXT_HOP);
	line_feed(&phone, kit_request((struct kit_request){.method = "OPTIONS", .uri = "sip:alice@192.0.2.52", .from_tag = "s1"}));
	assert_int_equal(k.send.to, HF_TO_SERVER);
}

/* Without a socket for datagrams there is no way to a next hop over UDP. */
static void no_socket_for_datagrams(void **state)
{
	(void)state;
	kit_listener(&k, 0, "tcp://192.0.2.1:5070", false);
	line_feed(&link, kit_request((struct kit_request){.method = "INVITE", .uri = "sip:alice@192.0.2.51", .from_tag = "s1"}));
	assert_int_equal(k.reason, SIP_R_UNREACHABLE);
}

static void invite_by_path(const char *path, const char *method)
{
	char route[300];

	snprintf(route, sizeof route, "Route: %s" CRLF, path + 6);
	kit_feed(&k, PBX1, kit_request((struct kit_request){.method = method, .uri = "sip:alice@10.1.1.1:5099", .from_tag = "s1", .via = "SIP/2.0/UDP 192.0.2.101:5060;branch=z9hG4bKs", .call_id = "s-call", .extra = route}));
}

/* The Path of a registration over a connection leads to that connection and nowhere else (RFC 5626 5.3, B85): 430 when it is gone. */
static void path_is_a_connection(void **state)
{
	char path[200];

	(void)state;
	line_feed(&phone, kit_request((struct kit_request){.method = "REGISTER", .uri = "sip:example.com", .extra = "Supported: path, outbound" CRLF}));
	kit_header(&k, "Path: ", path, sizeof path);
	assert_string_equal(path, "Path: <sip:hff-4i6bvpu96r0000hjjh0lk5u0ro0g0003000001ss6jj6uj3b1t10@192.0.2.1:5060;lr;ob>"); /* as the server reaches us: over UDP */
	invite_by_path(path, "INVITE");
	kit_sent_to(&k, HF_TO_RETURN, "192.0.2.51:0");
	line_is_flow(&k, &phone);
	assert_int_equal(k.send.transport, HF_TCP);
	assert_true(kit_says(&k, "Via: SIP/2.0/TCP 192.0.2.1:5060;"));
	assert_true(kit_says(&k, "Record-Route: <sip:hfd-"));
	assert_true(kit_says(&k, "@192.0.2.1:5060;transport=tcp;lr>" CRLF));
	assert_int_equal(k.n_asked, 0);

	kit_fail(&k, (struct hf_event){.listener = &k.listeners[0]}, HF_R_FLOW_GONE);
	assert_int_equal(strncmp(k.out, "SIP/2.0 430 Flow Failed" CRLF, 25), 0);
	kit_sent_to(&k, HF_TO_RETURN, PBX1);

	k.ctx.n_listeners = 1; /* a reload took its listener away: nothing to name ourselves by */
	invite_by_path(path, "INVITE");
	assert_int_equal(strncmp(k.out, "SIP/2.0 430 Flow Failed" CRLF, 25), 0);
	k.ctx.n_listeners = 2;
	k.site.boot++;
	invite_by_path(path, "INVITE");
	assert_int_equal(strncmp(k.out, "SIP/2.0 430 Flow Failed" CRLF, 25), 0);
	assert_int_equal(k.reason, HF_R_FLOW_GONE);
	assert_int_equal(k.n_learnt, 0);
	invite_by_path(path, "ACK");
	assert_int_equal(k.n_sent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(from_a_connection_to_udp), T(its_answer_over_the_connection), T(when_the_listener_is_gone), T(after_a_restart_only_the_address_is_left),
		T(from_udp_to_a_connection), T(from_a_connection_to_a_connection), T(both_record_routes_come_back), T(no_listener_of_the_servers_transport),
		T(over_ipv6), T(a_wildcard_listener), T(a_server_speaks), T(no_socket_for_datagrams), T(path_is_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
