/* A file that grows by whole lines, written by a thread of its own (store floor): who has a line hands it over and goes on. The queue is bounded;
 * what does not fit is counted and gone. A disk that is full or a file that blocks holds up nobody but that thread, and is tried again. */
#ifndef HOLDFAST_LINES_H
#define HOLDFAST_LINES_H

#include <stdatomic.h>

#include "bytes.h"

#define HF_LINE_MAX 2048 /* octets of a line, its end included */

#define HF_LINES_CONDITIONS(X) X(OFF, "off") X(OK, "ok") X(BLOCKED, "blocked") X(FULL, "full") X(FAILING, "failing")
enum hf_lines_condition {
#define X(e, name) HF_LINES_##e,
	HF_LINES_CONDITIONS(X)
#undef X
	HF_LINES_CONDITION_COUNT
};
const char *hf_lines_condition_name(enum hf_lines_condition c);

struct hf_lines;
/* `event` names the file in the log, a constant. NULL: no memory. */
struct hf_lines *hf_lines_new(const char *event) HF_MUST_USE;
/* The thread, once its process is who it will be: the file is made as that user. HF_EIO: the system gives none. */
enum hf_err hf_lines_start(struct hf_lines *l) HF_MUST_USE;
/* From now on to this file, which is opened anew (a rotated file is let go of) and made when it is missing; "": to none, and lines are not wanted.
 * HF_ERANGE: the path is too long, and nothing has changed. Any thread; the opening itself is the thread's. */
enum hf_err hf_lines_open(struct hf_lines *l, struct hf_bytes path) HF_MUST_USE;
/* Gives what waits a moment, ends the thread and frees all. False: the file blocks; the thread and what it uses are left behind. NULL is fine. */
bool hf_lines_stop(struct hf_lines *l);

/* Is there a file? NULL is fine, and none. Any thread, without a lock: true a little late is fine. */
bool hf_lines_wanted(const struct hf_lines *l);
/* A line without its end, at most HF_LINE_MAX - 1 octets and none of them an end of line. False: it is lost, and counted. Any thread; never waits for the file. */
bool hf_lines_put(struct hf_lines *l, struct hf_bytes line);
/* One that could not even be written is counted as lost. Any thread. */
void hf_lines_lose(struct hf_lines *l);

struct hf_lines_view { enum hf_lines_condition condition; uint64_t written, lost, waiting; /* lines; waiting: octets */ };
void hf_lines_view(struct hf_lines *l, struct hf_lines_view *v); /* any thread */

#endif
