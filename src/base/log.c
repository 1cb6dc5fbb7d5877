/* The log; see holdfast/log.h. One write a line, so that threads do not mix their lines. */
#include "holdfast/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

#include "holdfast/clock.h"
#include "holdfast/writer.h"

static atomic_int max_level = HF_LOG_INFO;
static atomic_bool use_syslog;

/* One cell a slot: the second it counts, and the lines in it. */
static struct { _Atomic uint64_t second; atomic_uint lines, left_out; } limits[256];

void hf_log_set_level(enum hf_level level) { atomic_store(&max_level, (int)level); }
void hf_log_to_syslog(bool on) { atomic_store(&use_syslog, on); }

static void emit(enum hf_level level, const char *text, size_t n)
{
	static const int prio[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
	uint8_t line[2048];
	struct hf_writer w = hf_writer_on(line, sizeof line - 1);

	for (size_t i = 0; i < n && w.n < sizeof line - 8; i++) {
		if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] == 0x7f)
			hf_w_printf(&w, "\\x%02x", (unsigned char)text[i]);
		else
			hf_w_u8(&w, (uint8_t)text[i]);
	}
	if (atomic_load(&use_syslog)) {
		syslog(LOG_DAEMON | prio[level], "%.*s", (int)w.n, (char *)line);
		return;
	}
	line[w.n] = '\n';
	if (write(STDERR_FILENO, line, w.n + 1) < 0)
		return; /* a full or closed log never stops traffic */
}

static void emitv(enum hf_level level, const char *fmt, va_list ap)
{
	char t[2048];
	int n = vsnprintf(t, sizeof t, fmt, ap);

	if (n > 0)
		emit(level, t, (size_t)n < sizeof t ? (size_t)n : sizeof t - 1);
}

void hf_log(enum hf_level level, const char *fmt, ...)
{
	va_list ap;

	if ((int)level > atomic_load_explicit(&max_level, memory_order_relaxed))
		return;
	va_start(ap, fmt);
	emitv(level, fmt, ap);
	va_end(ap);
}

void hf_log_limited(enum hf_level level, unsigned slot, const char *fmt, ...)
{
	uint64_t now = hf_clock_ms() / 1000;
	unsigned left;
	va_list ap;

	if ((int)level > atomic_load_explicit(&max_level, memory_order_relaxed))
		return;
	slot &= 255;
	if (atomic_exchange(&limits[slot].second, now) != now) {
		atomic_store(&limits[slot].lines, 0);
		left = atomic_exchange(&limits[slot].left_out, 0);
		if (left)
			hf_log(level, "event=log-limit left_out=%u", left);
	}
	if (atomic_fetch_add(&limits[slot].lines, 1) >= HF_LOG_BURST) {
		atomic_fetch_add(&limits[slot].left_out, 1);
		return;
	}
	va_start(ap, fmt);
	emitv(level, fmt, ap);
	va_end(ap);
}

const char *hf_log_text(struct hf_bytes b)
{
	static _Thread_local char ring[4][128 * 4 + 4];
	static _Thread_local unsigned at;
	char *t = ring[at++ & 3];
	struct hf_writer w = hf_writer_on(t, sizeof ring[0] - 1);

	hf_w_escaped(&w, hf_bytes_sub(b, 0, 128));
	t[w.n] = 0;
	return t;
}

_Noreturn void hf_bug(const char *file, int line, const char *cond)
{
	hf_log(HF_LOG_ERROR, "event=bug file=%s line=%d condition=\"%s\"", file, line, cond);
	abort();
}

const char *hf_err_text(enum hf_err e)
{
	static const char *const text[] = {"done", "no memory", "not of its form", "out of range", "already there", "no such thing", "full", "system error", "closed"};

	return (unsigned)e < sizeof text / sizeof text[0] ? text[e] : "?";
}
