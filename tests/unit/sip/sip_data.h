/* What the scanner's tests share: limits, messages from files, the oracle's tables. Included by one test program each. */
#ifndef SIP_DATA_H
#define SIP_DATA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "scan.h"

#define DATA_UNUSED __attribute__((unused))

/* Nothing but the message is a limit / what a careful operator would set. */
static const struct sip_limits wide_limits DATA_UNUSED = {131072, 20000, 131072, 10000, 40000};
static const struct sip_limits usual_limits DATA_UNUSED = {65535, 256, 8192, 1024, 64};

static uint8_t data_arena[1 << 18] DATA_UNUSED __attribute__((aligned(16)));
static uint8_t data_octets[1 << 17] DATA_UNUSED;

/* A file of a set; the octets stay until the next call. */
DATA_UNUSED static struct hf_bytes data_read(const char *dir, const char *file)
{
	char path[768];
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, file);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s: not found", path);
	n = fread(data_octets, 1, sizeof data_octets, f);
	assert_true(n < sizeof data_octets);
	fclose(f);
	return hf_bytes_of(data_octets, n);
}

static struct hf_arena data_scan_arena DATA_UNUSED;

DATA_UNUSED static enum sip_fault data_scan(struct hf_bytes raw, bool stream, const struct sip_limits *limits, struct sip_msg *m)
{
	hf_arena_init(&data_scan_arena, data_arena, sizeof data_arena);
	return sip_scan(raw, stream, limits, &data_scan_arena, m);
}

DATA_UNUSED static size_t data_arena_used(void) { return data_scan_arena.n; }

/* One row of an expected.tsv (tab separated, no quoting). */
struct row {
	const char *dir, *file, *validity, *action_udp, *action_stream, *also_ok, *call_id, *method, *via_branch, *reason;
};
struct table { FILE *f; const char *dir; char *line; size_t cap; };
struct tally { unsigned rows, exact; };

/* What was done is what the row wants of it, or one of those that are as good. */
DATA_UNUSED static bool row_allows(const struct row *r, const char *got, const char *wanted)
{
	char also[128];

	snprintf(also, sizeof also, "%s", r->also_ok);
	if (strcmp(got, wanted) == 0)
		return true;
	for (char *p = strtok(also, ";"); p; p = strtok(NULL, ";"))
		if (strcmp(got, p) == 0)
			return true;
	return false;
}

DATA_UNUSED static struct table table_open(const char *dir)
{
	struct table t = {NULL, dir, NULL, 0};
	char path[768];

	snprintf(path, sizeof path, "%s/expected.tsv", dir);
	t.f = fopen(path, "r");
	if (!t.f || getline(&t.line, &t.cap, t.f) < 0)
		fail_msg("%s: not found", path);
	return t;
}

DATA_UNUSED static bool table_next(struct table *t, struct row *r)
{
	const char *field[11] = {0};
	char *p;

	if (getline(&t->line, &t->cap, t->f) < 0)
		return false;
	t->line[strcspn(t->line, "\n")] = 0;
	p = t->line;
	for (int i = 0; i < 11; i++)
		field[i] = p ? strsep(&p, "\t") : NULL;
	assert_non_null(field[9]);
	*r = (struct row){t->dir, field[0], field[2], field[3], field[4], field[5], field[6], field[7], field[8], field[9]};
	return true;
}

DATA_UNUSED static void table_close(struct table *t)
{
	free(t->line);
	fclose(t->f);
}

DATA_UNUSED static bool shared_dir(const char *sub, char *out, size_t cap)
{
	const char *shared = getenv("HOLDFAST_SHARED");

	if (!shared)
		return false;
	snprintf(out, cap, "%s/%s", shared, sub);
	return true;
}

/* Our own messages, always; the RFCs' too where they are. */
static void (*sets_judge)(const char *dir) DATA_UNUSED;

DATA_UNUSED static void sets_own(void **state)
{
	(void)state;
	sets_judge(HF_SOURCE_DIR "/tests/data/sip/extra");
}

DATA_UNUSED static void sets_shared(void **state)
{
	char dir[512];

	(void)state;
	if (!shared_dir("torture/sip", dir, sizeof dir)) {
		print_message("HOLDFAST_SHARED is not set: the RFCs' messages are skipped\n");
		skip();
	}
	sets_judge(dir);
}

/* A program's two tests: `judge` on each set. */
DATA_UNUSED static int sets_run(void (*judge)(const char *dir))
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sets_own), cmocka_unit_test(sets_shared)};

	sets_judge = judge;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
