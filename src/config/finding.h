/* The list of what is wrong or surprising in a file (config floor, inside). One thread. */
#ifndef FINDING_H
#define FINDING_H

#include "holdfast/config.h"

/* A file with more faults than this is no configuration; the count of errors goes on. */
#define FINDINGS_MAX 1000

/* Where a run of the reader notes what it finds. */
struct finding_to {
	struct hf_findings *list;
	unsigned first;   /* of this run, in the list */
	unsigned errors;  /* of this run, not cut at FINDINGS_MAX */
	bool no_memory;   /* a finding, or anything else, found no room */
};

void finding_add(struct finding_to *to, unsigned line, bool error, const char *fmt, ...) HF_PRINTF(4, 5);
#define finding_error(to, line, ...) finding_add(to, line, true, __VA_ARGS__)
#define finding_warn(to, line, ...) finding_add(to, line, false, __VA_ARGS__)
/* True: nothing more is listed, so nobody need look for good advice. */
bool finding_full(const struct finding_to *to);
/* Puts this run's findings in the order of the file; what was said twice of a line stays once. */
void finding_sort(struct finding_to *to);

#endif
