/* See dns_ttl.h. Follows no pointer, since only the ends of names are wanted, and reads nothing else of a record. Called by resolve.c. */
#include "dns_ttl.h"

#define HEAD 12        /* RFC 1035 4.1.1 */
#define QUESTION 4     /* behind its name: type, class */
#define RECORD 10      /* ... and time, length of what follows */
#define POINTER 0xc0   /* RFC 1035 4.1.4; one of the two bits alone is reserved */

/* Where the name at `at` ends; 0: it does not, in this message. */
static size_t behind_name(struct hf_bytes m, size_t at)
{
	while (at < m.n) {
		uint8_t n = m.p[at];

		if ((n & POINTER) == POINTER)
			return at + 2;
		if (n & POINTER)
			return 0;
		at += 1u + n;
		if (!n)
			return at;
	}
	return 0;
}

uint32_t dns_ttl(struct hf_bytes m)
{
	unsigned questions, answers;
	uint32_t least = UINT32_MAX;
	size_t at = HEAD;

	if (m.n < HEAD)
		return 0;
	questions = hf_get16(m.p + 4);
	answers = hf_get16(m.p + 6);
	for (unsigned i = 0; i < questions + answers; i++) {
		at = behind_name(m, at);
		if (!at || at + (i < questions ? QUESTION : RECORD) > m.n)
			return 0;
		if (i < questions) {
			at += QUESTION;
			continue;
		}
		if (hf_get32(m.p + at + 4) < least)
			least = hf_get32(m.p + at + 4);
		at += RECORD + (size_t)hf_get16(m.p + at + 8);
		if (at > m.n)
			return 0;
	}
	return answers ? least : 0;
}
