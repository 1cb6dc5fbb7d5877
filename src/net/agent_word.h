/* What agents write, as haproxy's agent-check knows it: a line of words with blanks, tabs or commas between, text behind '#' (private to net).
 * Pure; any thread. */
#ifndef NET_AGENT_WORD_H
#define NET_AGENT_WORD_H

#include "holdfast/bytes.h"

#define AGENT_LINE_MAX 512 /* octets of an answer: all words of the list and a sentence behind them are far less */

enum agent_health { AGENT_SAYS_NOTHING, AGENT_UP, AGENT_DOWN };      /* up | down, fail, stopped */
enum agent_duty { AGENT_AS_BEFORE, AGENT_READY, AGENT_DRAIN, AGENT_MAINT };
struct agent_said {
	enum agent_health health;
	enum agent_duty duty;
	bool has_percent, has_max;
	uint32_t percent;          /* NN%: 0..AGENT_PERCENT_MAX */
	uint32_t max_sessions;     /* maxconn:N; 0: no bound */
	unsigned strange;          /* words that are none of these: they change nothing */
};
#define AGENT_PERCENT_MAX 1000

/* The answer among the octets that have come: its first line, or all of them once the agent has closed. HF_ENOENT: more must come; HF_EFULL: too long. */
enum hf_err agent_line(struct hf_bytes got, bool eof, struct hf_bytes *line) HF_MUST_USE;
/* Reads a line; of words that contradict each other the last one counts. False: it says nothing that is known. */
bool agent_read(struct hf_bytes line, struct agent_said *said);

#endif
