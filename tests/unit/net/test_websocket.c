/* A connection that is a WebSocket (net/websocket.c, stream.c): octets at sockets, cut and whole, until it ends. Messages of the test need no end. */
#include <signal.h>

#include "rig.h"

#define OPEN "GET /talk HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" \
	"Sec-WebSocket-Protocol: rig\r\n"
#define OPENED "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" \
	"Sec-WebSocket-Protocol: rig\r\n\r\n"
#define M "\0\0\0\0" /* a mask that changes nothing */

static unsigned last_end, messages;

static void send_base(struct hf_acts *acts, enum hf_to to, struct hf_bytes base)
{
	struct hf_act *a = hf_act(acts, HF_ACT_SEND);

	a->send.to = to;
	a->send.server = RIG_MEMBER;
	a->send.base = base;
}

/* `b`: back; else to the server, which takes a line. */
static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	(void)ctx;
	if (ev->kind == HF_EV_END) {
		last_end = ev->reason;
	} else if (ev->kind == HF_EV_BYTES && ev->transport == HF_WS) {
		messages++;
		send_base(acts, ev->bytes.p[0] == 'b' ? HF_TO_SOURCE : HF_TO_SERVER, ev->bytes);
	} else if (ev->kind == HF_EV_BYTES) {
		hf_act(acts, HF_ACT_TOOK)->need = ev->bytes.n;
	}
}

static int up(void **state)
{
	rig_step = step;
	rig_front.framed = true;
	rig_front.web_protocol = "rig";
	rig_front.web_message = 1000;
	last_end = messages = 0;
	rig_up(state);
	rig.info.transport = HF_WS;
	return 0;
}

static void put(int fd, const void *p, size_t n) { assert_int_equal(send(fd, p, n, MSG_NOSIGNAL), n); }

static void hear(int fd, const void *want, size_t n)
{
	uint8_t buf[2048];
	size_t have = 0;

	for (int turns = 0; have < n && turns < 2000; turns++) {
		ssize_t m = recv(fd, buf + have, n - have, MSG_DONTWAIT);

		have += m > 0 ? (size_t)m : 0;
		rig_run(m > 0 ? 0 : 1);
	}
	assert_int_equal(have, n);
	assert_memory_equal(buf, want, n);
}

static int page(void)
{
	int c = rig_client();

	rig_say(c, OPEN "\r\n");
	rig_hear(c, OPENED);
	return c;
}

static void ends(int c, unsigned reason)
{
	RIG_UNTIL(rig_ended(c));
	close(c);
	RIG_UNTIL(rig_open() == 0);
	assert_int_equal(last_end, reason);
	assert_int_equal(rig_count(reason), 1);
}

/* The request and the first frames in one segment, then octet by octet: the same messages, each answered as it was asked. Fails when what stands behind the
 * request is lost, when a frame is looked at before it is whole, or when an answer is of the wrong kind or carries a wrong length. */
static void there_and_back(void **state)
{
	static const char all[] = OPEN "\r\n" "\x81\x85" M "b one" "\x89\x82" M "hi" "\x02\x83" M "b t" "\0\x80" M "\x80\x82" M "wo" "\x82\x86" M "s all\n",
		back[] = OPENED "\x81\5b one" "\x8a\2hi" "\x82\5b two";
	uint8_t longest[8 + 1000];
	int s = -1;

	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		int c = rig_client();

		for (size_t i = 0; cut && i < sizeof all - 1; i++) {
			put(c, all + i, 1);
			rig_run(0);
		}
		if (!cut)
			put(c, all, sizeof all - 1);
		hear(c, back, sizeof back - 1);
		s = s < 0 ? rig_accept() : s; /* no frame goes to a server */
		hear(s, "s all\n", 6);
		assert_int_equal(messages, 3 * (cut + 1));
		memset(longest, 'b', sizeof longest);
		memcpy(longest, "\x82\xfe\x03\xe8" M, 8);
		put(c, longest, sizeof longest);
		hear(c, "\x82\x7e\x03\xe8" "bbbb", 8);
		hear(c, longest + 8, 996);
		messages--;
		close(c);
	}
	close(s);
}

/* A browser ends the connection over text that is none. Fails when the answer is text because the question was. */
static void no_text_that_is_none(void **state)
{
	int c = page(), s;

	(void)state;
	put(c, "\x81\x83" M "s \n", 9);
	s = rig_accept();
	hear(s, "s \n", 3);
	assert_int_equal(stream_put(rig_flow(0), NULL, HF_LIT("J\xfcrgen"), NULL, 0), HF_OK);
	assert_int_equal(stream_put(rig_flow(0), NULL, HF_LIT("J\xc3\xbcrgen"), NULL, 0), HF_OK);
	worker_flush(rig.w);
	hear(c, "\x82\6J\xfcrgen" "\x81\7J\xc3\xbcrgen", 17);
	close(c);
	close(s);
}

/* Fails when the client is not told why, when the connection stays, or when a message goes before there is a WebSocket. */
static void refused(void **state)
{
	int c = rig_client();

	(void)state;
	assert_int_equal(stream_put(rig_flow(0), NULL, HF_LIT("early"), NULL, 0), HF_ECLOSED);
	rig_say(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	rig_hear(c, "HTTP/1.1 426 Upgrade Required\r\n");
	while (recv(c, (char[64]){0}, 64, MSG_DONTWAIT) > 0)
		;
	shutdown(c, SHUT_WR);
	ends(c, HF_R_WEB_REFUSED);
}

static void broken(void **state)
{
	int c = page();

	(void)state;
	put(c, "\x81\x85" M "b one" "\x81\5b two", 18);
	hear(c, "\x81\5b one" "\x88\2\x03\xea", 11);
	assert_int_equal(messages, 1);
	shutdown(c, SHUT_WR);
	ends(c, HF_R_WEB_BROKEN);
}

/* Its reader says what it has to of so much, and then the connection ends. Fails when the Close comes before that. */
static void too_long(void **state)
{
	static uint8_t long_one[8 + 1001] = "\x82\xfe\x07\xd0" M;
	int c = page();

	(void)state;
	memset(long_one + 8, 'b', 1001);
	put(c, long_one, sizeof long_one - 1);
	rig_run(5);
	assert_int_equal(messages, 0);
	put(c, "b" "\x82\x81" M "b", 8); /* and no more of it */
	hear(c, "\x82\x7e\x03\xe9" "bbbb", 8);
	hear(c, long_one + 8, 997);
	hear(c, "\x88\2\x03\xf1", 4);
	assert_int_equal(messages, 1);
	shutdown(c, SHUT_WR);
	ends(c, HF_R_TOO_BIG);
}

/* A Close is answered by its code, in mid-message too; what comes behind it is nothing. */
static void closed(void **state)
{
	int c = page();

	(void)state;
	put(c, "\x02\x81" M "b" "\x88\x82" M "\x03\xe9" "\x82\x81" M "b", 22);
	hear(c, "\x88\2\x03\xe9", 4);
	shutdown(c, SHUT_WR);
	ends(c, HF_R_DONE);
	assert_int_equal(messages, 0);
}

/* The gateway's own end is said by a frame. Fails without web_bye. */
static void goes_away(void **state)
{
	int c;

	(void)state;
	rig.service_conf.idle_timeout = 50;
	c = page();
	hear(c, "\x88\2\x03\xe9", 4);
	shutdown(c, SHUT_WR);
	ends(c, HF_R_DONE);
}

static void expires(struct flow *f, uint64_t at_ms)
{
	rig.w->now_ms = at_ms;
	stream_expired(f);
}

/* A silent one is pinged, again and again, and not while there is something to hear; that it stays silent ends it. By times that the test sets. */
static void silent(void **state)
{
	struct flow *f;
	uint64_t from;
	int c;

	(void)state;
	rig.service_conf.idle_timeout = 400000;
	rig.service_conf.web_ping = 60000;
	c = page();
	f = rig_flow(0);
	from = f->stream->last_ms;
	expires(f, from + 59999);
	assert_int_equal(recv(c, (char[8]){0}, 8, MSG_DONTWAIT), -1);
	expires(f, from + 60000);
	hear(c, "\x89\0", 2);
	expires(f, from + 120000);
	hear(c, "\x89\0", 2);
	put(c, "\x8a\x80" M, 6); /* a pong, as any octets, is no silence */
	rig_run(5);
	from = f->stream->last_ms;
	expires(f, from + 59999);
	assert_int_equal(recv(c, (char[8]){0}, 8, MSG_DONTWAIT), -1);
	expires(f, from + 400000);
	hear(c, "\x88\2\x03\xe9", 4);
	shutdown(c, SHUT_WR);
	ends(c, HF_R_DONE);
}

/* Fragments without end, empty ones too, have the time of a message. Fails when a frame that brings nothing counts as one that does. */
static void endless(void **state)
{
	int c;

	(void)state;
	c = page();
	rig.service_conf.handshake_timeout = 80;
	put(c, "\x02\x80" M, 6);
	for (int i = 0; i < 100 && rig_open(); i++) {
		(void)send(c, "\0\x80" M, 6, MSG_NOSIGNAL);
		rig_run(5);
	}
	ends(c, HF_R_HANDSHAKE_TIMEOUT);
}

/* So many pings, one pong a turn; who reads none of them is bounded, too. Fails when each ping is answered, or when pongs are queued without a bound. */
static void pings(void **state)
{
	static char many[6 * 500];
	uint8_t back[4096];
	int c = page(), on = 4096;
	ssize_t n;

	(void)state;
	for (unsigned i = 0; i < 500; i++)
		memcpy(many + 6 * i, "\x89\x80" M, 6);
	put(c, many, sizeof many);
	put(c, "\x82\x81" M "b", 7);
	rig_run(20);
	n = recv(c, back, sizeof back, MSG_DONTWAIT);
	assert_in_range(n, 5, 40);
	assert_memory_equal(back + n - 3, "\x82\1b", 3);
	(void)setsockopt(c, SOL_SOCKET, SO_RCVBUF, &on, sizeof on);
	for (int i = 0; i < 20000 && rig_open(); i++) {
		(void)send(c, many, 6, MSG_NOSIGNAL);
		rig_run(0);
		assert_true(!rig_flow(0) || buf_len(&rig_flow(0)->side[HF_CLIENT].out) <= OUT_MAX);
	}
	close(c);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(there_and_back), T(no_text_that_is_none), T(refused), T(broken), T(too_long), T(closed), T(goes_away), T(silent), T(endless), T(pings)};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
