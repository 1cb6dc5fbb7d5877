/* The work of the SIP front for one transaction: an INVITE with a phone's usual headers is forwarded, and its 200 comes back.
 *   work_sip ROUNDS
 * count.py runs it under callgrind for two counts of rounds; what they differ by is the instructions of so many transactions.
 * Breaks when: a message is walked over twice, a structure is cleared for every parcel, or a quick way is not taken any more. */
#include "../fuzz/sip_bench.h"

static const char invite[] =
	"INVITE sip:service@192.0.2.1:5060 SIP/2.0\r\n"
	"Via: SIP/2.0/UDP 192.0.2.51:41234;branch=z9hG4bK-1234-56789;rport\r\n"
	"Max-Forwards: 70\r\n"
	"From: \"Caller 1234\" <sip:caller@example.com>;tag=1234SIPpTag00\r\n"
	"To: <sip:service@example.com>\r\n"
	"Call-ID: blast-1234@192.0.2.51\r\n"
	"CSeq: 1 INVITE\r\n"
	"Contact: <sip:caller@192.0.2.51:41234>\r\n"
	"User-Agent: blast\r\n"
	"Allow: INVITE, ACK, CANCEL, OPTIONS, BYE, REFER\r\n"
	"Subject: Performance Test\r\n"
	"Content-Type: application/sdp\r\n"
	"Content-Length: 203\r\n"
	"\r\n"
	"v=0\r\no=user1 53655765 2353687637 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 6000 RTP/AVP 0 8 101\r\n"
	"a=rtpmap:0 PCMU/8000\r\na=rtpmap:8 PCMA/8000\r\na=rtpmap:101 telephone-event/8000\r\na=sendrecv\r\n";

static struct bench b;

/* The answer of a server: the headers as they came but those of the request alone, and no body. */
static struct hf_bytes answer_to(struct hf_bytes sent, uint8_t *out, size_t cap)
{
	struct hf_writer w = hf_writer_on(out, cap);
	size_t line;

	hf_w_str(&w, "SIP/2.0 200 OK\r\n");
	sent = hf_bytes_sub(sent, hf_bytes_find(sent, '\n') + 1, sent.n);
	for (; (line = hf_bytes_find(sent, '\n') + 1) > 2; sent = hf_bytes_sub(sent, line, sent.n))
		if (!hf_bytes_starts(sent, HF_LIT("Max-Forwards:")) && !hf_bytes_starts(sent, HF_LIT("Content-")))
			hf_w_bytes(&w, hf_bytes_sub(sent, 0, line));
	hf_w_str(&w, "Content-Length: 0\r\n\r\n");
	MUST(!w.full);
	return hf_writer_view(&w);
}

/* One event through the step, as net would run it. */
static void run(const struct hf_event *ev, struct hf_acts *acts, enum hf_act_kind last)
{
	acts->n = 0;
	hf_sip_front.step(&b.ctx, ev, acts);
	MUST(acts->n && acts->a[acts->n - 1].kind == last);
}

static void transaction(const struct hf_event *request, const struct hf_event *answer)
{
	struct hf_event choice = {.kind = HF_EV_CHOICE, .chosen = &b.chosen};
	struct hf_acts acts;

	hf_arena_reset(&b.arena);
	b.ctx.parcel = NULL;
	run(request, &acts, HF_ACT_ASK);
	run(&choice, &acts, HF_ACT_SEND);
	hf_arena_reset(&b.arena);
	b.ctx.parcel = NULL;
	run(answer, &acts, HF_ACT_SEND);
}

int main(int argc, char **argv)
{
	static uint8_t text[4096];
	struct hf_event request, answer;
	struct bench_end e;
	uint64_t rounds = 0;

	MUST(argc == 2 && hf_read_uint(hf_bytes_str(argv[1]), 1000000000, &rounds) == HF_OK);
	bench_init(&b, false);
	request = bench_event(&b, BENCH_UDP, "192.0.2.51:41234");
	request.bytes = hf_bytes_of(invite, sizeof invite - 1);
	answer = bench_event(&b, BENCH_UDP, "192.0.2.101:5060");
	answer.member = BENCH_PBX1;
	answer.from_servers = true;
	e = bench_run(&b, &request);
	MUST(e.n_sent == 1);
	answer.bytes = answer_to(e.sent, text, sizeof text);
	e = bench_run(&b, &answer);
	MUST(e.n_sent == 1);
	for (uint64_t i = 0; i < rounds; i++)
		transaction(&request, &answer);
	return 0;
}
