/* Fuzz: lines of agents. Held to: a line ends at its first CR or LF and is found whatever is behind it; what is read lies within the bounds; '#' and
 * all behind it changes nothing; a line that says nothing known leaves nothing but strange words. */
#include <stdlib.h>

#include "agent_word.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)

static struct agent_said take(struct hf_bytes b, bool *known)
{
	uint8_t *p = malloc(b.n ? b.n : 1); /* of its own, so that a read past its end is seen */
	struct agent_said s;

	MUST(p);
	if (b.n)
		memcpy(p, b.p, b.n);
	*known = agent_read(hf_bytes_of(p, b.n), &s);
	free(p);
	MUST(s.health <= AGENT_DOWN && s.duty <= AGENT_MAINT && s.percent <= AGENT_PERCENT_MAX && (s.has_percent || !s.percent) && (s.has_max || !s.max_sessions));
	MUST(*known == (s.health || s.duty || s.has_percent || s.has_max));
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hf_bytes got = hf_bytes_of(data, size), line, cut;
	enum hf_err e = agent_line(got, true, &line);
	struct agent_said whole, bare;
	bool known, bare_known;

	MUST(e == HF_OK || e == HF_EFULL);
	MUST(line.n <= size && (e == HF_EFULL) == (line.n >= AGENT_LINE_MAX));
	for (size_t n = 0; n <= size && n < 2 * AGENT_LINE_MAX; n++) {
		enum hf_err early = agent_line(hf_bytes_sub(got, 0, n), false, &cut);

		MUST(early == (n <= line.n ? (n >= AGENT_LINE_MAX ? HF_EFULL : HF_ENOENT) : e));
		MUST(n <= line.n || cut.n == line.n);
	}
	whole = take(line, &known);
	bare = take(hf_bytes_sub(line, 0, hf_bytes_find(line, '#')), &bare_known);
	MUST(known == bare_known && whole.health == bare.health && whole.duty == bare.duty && whole.percent == bare.percent && whole.max_sessions == bare.max_sessions &&
	     whole.strange == bare.strange);
	return 0;
}
