/* Reads what agents write; see agent_word.h. It must not know a server, a socket or what becomes of a word. agent.c calls it. */
#include "agent_word.h"

#include <stddef.h>

enum { OF_HEALTH, OF_DUTY };
static const struct { const char *name; uint8_t of, value; } words[] = {
	{"up", OF_HEALTH, AGENT_UP}, {"down", OF_HEALTH, AGENT_DOWN}, {"fail", OF_HEALTH, AGENT_DOWN}, {"stopped", OF_HEALTH, AGENT_DOWN},
	{"ready", OF_DUTY, AGENT_READY}, {"drain", OF_DUTY, AGENT_DRAIN}, {"maint", OF_DUTY, AGENT_MAINT},
};

static bool ends_line(uint8_t c) { return c == '\r' || c == '\n'; }
static bool parts_words(uint8_t c) { return c == ' ' || c == '\t' || c == ','; }

enum hf_err agent_line(struct hf_bytes got, bool eof, struct hf_bytes *line)
{
	size_t n = 0;

	while (n < got.n && !ends_line(got.p[n]))
		n++;
	*line = hf_bytes_sub(got, 0, n);
	if (n > AGENT_LINE_MAX - 1)
		return HF_EFULL;
	return n < got.n || eof ? HF_OK : HF_ENOENT;
}

static struct hf_bytes next_word(struct hf_bytes *rest)
{
	size_t from = 0, to;

	while (from < rest->n && parts_words(rest->p[from]))
		from++;
	to = from;
	while (to < rest->n && !parts_words(rest->p[to]))
		to++;
	struct hf_bytes w = hf_bytes_sub(*rest, from, to - from);

	*rest = hf_bytes_sub(*rest, to, rest->n);
	return w;
}

static bool read_number(struct hf_bytes digits, uint64_t max, uint32_t *out)
{
	uint64_t n;

	if (hf_read_uint(digits, max, &n) != HF_OK)
		return false;
	*out = (uint32_t)n;
	return true;
}

static bool read_count(struct hf_bytes w, struct agent_said *said)
{
	static const struct hf_bytes maxconn = {(const uint8_t *)"maxconn:", 8};

	if (w.p[w.n - 1] == '%')
		return read_number(hf_bytes_sub(w, 0, w.n - 1), AGENT_PERCENT_MAX, &said->percent) && (said->has_percent = true);
	return w.n > maxconn.n && hf_bytes_istarts(w, maxconn) &&
	       read_number(hf_bytes_sub(w, maxconn.n, w.n), UINT32_MAX, &said->max_sessions) && (said->has_max = true);
}

static bool read_name(struct hf_bytes w, struct agent_said *said)
{
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (!hf_bytes_ieq(w, hf_bytes_str(words[i].name)))
			continue;
		if (words[i].of == OF_HEALTH)
			said->health = (enum agent_health)words[i].value;
		else
			said->duty = (enum agent_duty)words[i].value;
		return true;
	}
	return false;
}

bool agent_read(struct hf_bytes line, struct agent_said *said)
{
	struct hf_bytes rest = hf_bytes_sub(line, 0, hf_bytes_find(line, '#')), w;
	unsigned known = 0;

	*said = (struct agent_said){0};
	while ((w = next_word(&rest)).n) {
		if (read_count(w, said) || read_name(w, said))
			known++;
		else
			said->strange++;
	}
	return known != 0;
}
