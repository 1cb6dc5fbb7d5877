/* The log: one event, one line, key=value, to stderr or syslog (base floor). Any thread.
 * Lines that a peer can cause go through hf_log_limited: at most `HF_LOG_BURST` a second and reason, the rest counted. */
#ifndef HOLDFAST_LOG_H
#define HOLDFAST_LOG_H

#include "bytes.h"

enum hf_level { HF_LOG_ERROR, HF_LOG_WARN, HF_LOG_INFO, HF_LOG_DEBUG };
#define HF_LOG_BURST 10

/* fmt gives the whole line: "event=listen service=%s uri=%s". Control octets in the result are escaped. */
void hf_log(enum hf_level level, const char *fmt, ...) HF_PRINTF(2, 3);
/* `slot` is any number below 256 that stands for the cause. */
void hf_log_limited(enum hf_level level, unsigned slot, const char *fmt, ...) HF_PRINTF(3, 4);
void hf_log_set_level(enum hf_level level);
/* Lines to syslog instead of stderr. */
void hf_log_to_syslog(bool on);
/* The text of octets for a line, escaped, cut at 128 characters; valid until the 4th next call on this thread. */
const char *hf_log_text(struct hf_bytes b);

#endif
