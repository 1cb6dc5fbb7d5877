/* What the tests of connections start from: a gateway that takes UDP and TCP at 192.0.2.1:5060, two connections of a phone, and one that
 * net dialled to pbx1. Included by one test program each. */
#ifndef STREAM_BENCH_H
#define STREAM_BENCH_H

#include "stream_kit.h"

static struct kit k;
static struct line phone, other, link;

#define PHONE "192.0.2.51:40001"
#define UDP_PHONE "192.0.2.51:5060"
#define PBX1 "192.0.2.101:5060"
#define TCP_VIA "SIP/2.0/TCP 192.0.2.51:5062;branch=z9hG4bK776asdhds"
#define HEAD "From: Alice <sip:alice@example.com>;tag=1928301774" CRLF "To: Bob <sip:bob@example.com>"
#define TAIL CRLF "Call-ID: a84b4c76e66710@192.0.2.51" CRLF
#define COOKIE "hfd-4266nqs43qbt8jfuo7d17p0"

static inline int setup(void **state)
{
	(void)state;
	kit_init(&k);
	kit_listener(&k, 1, "tcp://192.0.2.1:5060", false);
	line_open(&phone, &k, &k.listeners[1], PHONE, 3);
	line_open(&other, &k, &k.listeners[1], "192.0.2.51:40002", 4);
	line_dialled(&link, &k, &k.listeners[1], PBX1, "pbx1", 9);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	line_close(&phone);
	line_close(&other);
	line_close(&link);
	kit_fini(&k);
	return 0;
}

/* The server is reached over TCP, and takes what comes back at our TCP listener. */
static inline void over_tcp(void)
{
	k.chosen.transport = HF_TCP;
	k.chosen.out = &k.listeners[1];
	k.chosen.out_addr = k.listeners[1].addr;
}

static inline const char *answer(const char *status) { return kit_answer(&k, status, "b1", NULL); }

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
