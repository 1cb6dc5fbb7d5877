/* Fuzz: what a client sends to a WebSocket listener, the request and the frames behind it. Held to: it comes to the same messages, pongs and end
 * however it is cut; a message is within its bound; the answer to a request fits and is whole; nothing outside what came is touched. */
#include <stdlib.h>

#include "ws.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)
enum { MOST = 300 /* octets of a message: small, so that the bound is met */ };

struct story { /* what happened, as a number */
	uint64_t sum;
	unsigned messages, code;
	enum ws_got end;
};

static void tell(struct story *s, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->sum = s->sum * 1099511628211u + p[i] + 1;
	s->sum = s->sum * 31 + n;
}

/* The frames, `step` octets at a time, each time in memory of its own. */
static struct story run(const uint8_t *data, size_t size, size_t step)
{
	struct story s = {0};
	struct ws w = {0};
	struct ws_in in;
	uint8_t *have = malloc(1);
	size_t n = 0;

	for (size_t at = 0; at < size && s.end == WS_GOT_MORE;) {
		size_t more = size - at < step ? size - at : step;
		uint8_t *p = malloc(n + more);

		MUST(p);
		memcpy(p, have, n);
		memcpy(p + n, data + at, more);
		free(have);
		have = p;
		n += more;
		at += more;
		for (;;) {
			s.end = ws_take(&w, have, n, MOST, &in);
			if (s.end != WS_GOT_MESSAGE)
				break;
			MUST(in.size && in.size <= MOST && in.used > in.size && in.used <= n);
			MUST(!w.text || ws_utf8(hf_bytes_of(have, in.size)));
			tell(&s, have, in.size);
			s.messages++;
			memmove(have, have + in.used, n - in.used);
			n -= in.used;
		}
		if (s.end == WS_GOT_MORE) {
			MUST(in.left <= n && in.need > in.left && in.left <= MOST + 14 + MOST);
			n = in.left;
		} else {
			if (s.end == WS_GOT_LONG) {
				MUST(in.size == MOST + 1 && in.size < n);
				tell(&s, have, in.size);
			}
			s.code = in.code;
			MUST(in.code >= 1000 && in.code <= 4999);
		}
	}
	free(have);
	return s;
}

static void head(const uint8_t *data, size_t size)
{
	static const struct ws_policy policy = {.protocol = "talk", .origins = HF_LIT("https://pages.example.com")};
	uint8_t *p = malloc(size ? size : 1), out[WS_ANSWER_MAX];
	struct hf_writer w = hf_writer_on(out, sizeof out);
	size_t used = 0;
	enum ws_opening v;

	MUST(p);
	if (size)
		memcpy(p, data, size);
	v = ws_open(hf_bytes_of(p, size), &policy, &used, &w);
	MUST(!w.full && (v == WS_HEAD_MORE) == (w.n == 0) && (v != WS_HEAD_MORE || size < WS_HEAD_MAX));
	MUST(v != WS_HEAD_GOOD || (used && used <= size && used <= WS_HEAD_MAX));
	for (size_t n = 1; n < size && n < 600; n++) {
		struct hf_writer cut = hf_writer_on(out, sizeof out);
		size_t took = 0;
		enum ws_opening c = ws_open(hf_bytes_of(p, n), &policy, &took, &cut);

		MUST(c == WS_HEAD_MORE || c == v);
		MUST(c != WS_HEAD_GOOD || took == used);
	}
	free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct story whole = run(data, size, size ? size : 1);

	head(data, size);
	for (size_t step = 1; step < 20; step += 3) {
		struct story s = run(data, size, step);

		MUST(s.sum == whole.sum && s.messages == whole.messages && s.end == whole.end && s.code == whole.code);
	}
	return 0;
}
