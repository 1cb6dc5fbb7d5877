/* The SIP scanner alone: nanoseconds for an INVITE of 657 octets as phones send it, by datagram and by stream, beside one walk over its octets (memchr
 * for each line's end), which any reader of it must do. The least of many short runs, in processor time. It asserts nothing.
 * usage: bench_scan   one row of a table a way: what | ns | octets a ns */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "scan.h"

enum { EACH = 2000, ROUNDS = 200 };

static const char invite[] =
	"INVITE sip:service@127.0.0.1:7060 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:41234;branch=z9hG4bK-123-4567;rport\r\nMax-Forwards: 70\r\n"
	"From: \"Caller 123\" <sip:caller@example.com>;tag=4567SIPpTag00\r\nTo: <sip:service@example.com>\r\nCall-ID: blast-123@127.0.0.1\r\nCSeq: 1 INVITE\r\n"
	"Contact: <sip:caller@127.0.0.1:41234>\r\nUser-Agent: blast\r\nAllow: INVITE, ACK, CANCEL, OPTIONS, BYE, REFER\r\nSubject: Performance Test\r\n"
	"Content-Type: application/sdp\r\nContent-Length: 203\r\n\r\nv=0\r\no=user1 53655765 2353687637 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
	"m=audio 6000 RTP/AVP 0 8 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=sendrecv\r\n";
static const struct hf_bytes message = {(const uint8_t *)invite, sizeof invite - 1};
static volatile size_t sink;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void scan(bool stream)
{
	static const struct sip_limits limits = {65535, 256, 8192, 1024, 64};
	static uint8_t room[65536];
	static struct sip_msg m;
	struct hf_arena arena;

	hf_arena_init(&arena, room, sizeof room);
	sink += sip_scan(message, stream, &limits, &arena, &m);
}

static void datagram(void) { scan(false); }
static void stream(void) { scan(true); }

static void lines(void)
{
	const uint8_t *p = message.p, *end = p + message.n;

	while (p && p < end && (p = memchr(p, '\n', (size_t)(end - p))))
		sink += *p++;
}

static void row(const char *what, void (*fn)(void))
{
	double least = 1e18;

	for (int r = 0; r < ROUNDS; r++) {
		double from = now_ns(), each;

		for (int i = 0; i < EACH; i++)
			fn();
		each = (now_ns() - from) / EACH;
		least = each < least ? each : least;
	}
	printf("%-38s %7.0f ns  %6.2f octets a ns\n", what, least, (double)message.n / least);
}

int main(void)
{
	row("scanner, an INVITE of 657 octets", datagram);
	row("the same as a message of a stream", stream);
	row("looking for its lines' ends alone", lines);
	return 0;
}
