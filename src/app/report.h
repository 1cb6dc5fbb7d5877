/* Findings on their way to people: to stderr, to the log, to an answer (app floor, inside). Control thread. */
#ifndef APP_REPORT_H
#define APP_REPORT_H

#include "holdfast/config.h"
#include "holdfast/log.h"

struct json;

/* Adds what has no line of the file. */
void report_add(struct hf_findings *f, bool error, struct hf_bytes text);
void report_print(const char *file, const struct hf_findings *f);
/* One line a finding, errors and warnings under their events. */
void report_log(const char *file, const struct hf_findings *f, const char *error_event, const char *warning_event);
/* Takes the warnings out of f that `said` has, and makes `said` all that f had. */
void report_news(struct hf_findings *f, struct hf_findings *said);
/* "findings":["FILE:LINE: TEXT",...] */
void report_json(const char *file, const struct hf_findings *f, struct json *j);

#endif
