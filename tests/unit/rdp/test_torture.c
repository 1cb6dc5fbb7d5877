/* The torture set through the front: every TCP row, in one piece, in every cut in two and octet by octet, every UDP row, against its oracle.
 * The set lies in tests/data/rdp; with HOLDFAST_SHARED=DIR the one in DIR/torture/rdp is read as well. */
#include <stdio.h>

#include "kit.h"

enum { FILE_, PROTO, SEGMENTS, VALIDITY, ERROR, COOKIE, TOKEN_, TOKEN_ADDR, PROTOCOLS, FLAGS, CORRELATION, ACTION, ALSO_OK, WHY, COLUMNS };

struct outcome {
	char action[16];  /* route:token, route:cookie, route:none, close, wait */
	unsigned reason;  /* of a close */
	unsigned counted; /* token-outside or token-syntax */
};

/* Its octets are a good request; what is wrong with it is the time they take, and net keeps the time. */
#define SLOW "s07-slowloris.hex"

/* Rows whose reason differs from the oracle's, and why. */
static const struct { const char *file, *reason; } differ[] = {
	{"x06-zeros.hex", "tpkt_version"}, /* the first octet alone decides, and 00 reads as a version */
	{"i03-fastpath.hex", "not_rdp"},   /* ... and 44 as no version at all */
};

static void underscores(const char *name, char *out, size_t n)
{
	snprintf(out, n, "%s", name);
	for (; *out; out++)
		if (*out == '-')
			*out = '_';
}

static bool listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ';') && (p[n] == 0 || p[n] == ';'))
			return true;
	return false;
}

/* ---- the front's verdict ---- */

static bool is_member(const struct hf_addr *a)
{
	return a->family == 4 && a->ip[0] == 192 && a->ip[1] == 0 && a->ip[2] == 2 && a->ip[3] >= 101 && a->ip[3] <= 120 && (a->port == 3389 || a->port == 3390);
}

static void asked(struct kit *k, struct outcome *o)
{
	struct hf_ask q = kit_act(k, HF_ACT_ASK)->ask;
	bool token = is_member(&q.hint_addr), user = q.key.text.n > 5 && (memcmp(q.key.text.p, "user:", 5) == 0 || memcmp(q.key.text.p, "weak:", 5) == 0);

	o->counted = kit_counted(k, RDP_R_TOKEN_SYNTAX) ? RDP_R_TOKEN_SYNTAX : 0;
	snprintf(o->action, sizeof o->action, "route:%s", token ? "token" : user ? "cookie" : "none");
	kit_choice(k, 1, token ? HF_WHY_TOKEN : HF_WHY_HOME);
	if (kit_counted(k, RDP_R_TOKEN_OUTSIDE))
		o->counted = RDP_R_TOKEN_OUTSIDE;
	assert_null(kit_act(k, HF_ACT_SEND)->send.base.p); /* the request as it came */
	assert_int_equal(kit_act(k, HF_ACT_SEND)->send.n_splices, 0);
}

/* One more piece has come; false when the flow has met its end. */
static bool piece(struct kit *k, struct hf_bytes all, size_t n, bool fin, struct outcome *o)
{
	uint8_t *p = malloc(n ? n : 1);
	bool more;

	if (n)
		memcpy(p, all.p, n);
	kit_client(k, hf_bytes_of(p, n), fin);
	more = kit_nth(k, HF_ACT_MORE, 0) != NULL;
	if (kit_nth(k, HF_ACT_ASK, 0)) {
		asked(k, o);
	} else if (!more) {
		snprintf(o->action, sizeof o->action, "close");
		o->reason = kit_act(k, HF_ACT_CLOSE)->end.reason;
	}
	free(p);
	return more;
}

/* In two pieces cut at `cut`; cut 0: octet by octet. */
static struct outcome run(struct hf_bytes all, size_t cut, bool fin)
{
	struct outcome o = {.action = "wait"};
	struct kit *k = kit_new();
	bool more = true;

	if (cut)
		more = piece(k, all, cut, false, &o);
	else
		for (size_t n = 1; more && n < all.n; n++)
			more = piece(k, all, n, false, &o);
	if (more)
		piece(k, all, all.n, fin, &o);
	free(k);
	return o;
}

/* ---- the oracle's ---- */

static void want_text(const char *column, struct hf_bytes got, bool has, const char *file)
{
	struct hf_bytes want;

	want = strcmp(column, "(empty)") == 0 ? hex("") : strncmp(column, "hex:", 4) == 0 ? hex(column + 4) : hf_bytes_of(strdup(column), strlen(column));
	if (!has || !hf_bytes_eq(got, want))
		fail_msg("%s: not '%s'", file, column);
	done(want);
}

static unsigned long number(const char *column) { return strcmp(column, "absent") == 0 ? 0 : strtoul(column, NULL, 16); }

static void check_fields(char **c, struct hf_bytes all)
{
	struct x224_request r;
	struct hf_addr a, want;
	size_t need;

	assert_int_equal(x224_read(all, &r, &need), 0);
	if (strcmp(c[COOKIE], "-") != 0)
		want_text(c[COOKIE], r.cookie, r.has_cookie, c[FILE_]);
	if (strcmp(c[TOKEN_], "-") != 0)
		want_text(c[TOKEN_], r.token, r.has_token, c[FILE_]);
	if (strcmp(c[VALIDITY], "valid") == 0) /* on rows with an error a column may be empty because the oracle's reader gave up before */
		assert_true(r.has_cookie == (strcmp(c[COOKIE], "-") != 0) && r.has_token == (strcmp(c[TOKEN_], "-") != 0));
	if (strcmp(c[PROTOCOLS], "-") != 0) {
		assert_int_equal(r.negotiates, strcmp(c[PROTOCOLS], "absent") != 0);
		assert_int_equal(r.protocols, number(c[PROTOCOLS]));
		assert_int_equal(r.flags, strcmp(c[FLAGS], "-") == 0 ? 0 : number(c[FLAGS]));
		assert_int_equal(r.correlation.n != 0, strcmp(c[CORRELATION], "yes") == 0);
	}
	if (strcmp(c[TOKEN_ADDR], "-") == 0)
		return;
	assert_int_equal(token_read(r.token, &a), TOKEN_ADDRESS);
	assert_int_equal(hf_addr_read(hf_bytes_str(c[TOKEN_ADDR]), 0, &want), HF_OK);
	assert_true(hf_addr_eq(&a, &want));
}

/* The reason of a close, or what was counted, is one of the oracle's kinds. */
static bool right_reason(char **c, const struct outcome *o)
{
	unsigned r = o->reason ? o->reason : o->counted;
	char name[64];

	if (r == HF_R_CLIENT_CLOSED)
		return listed(c[ERROR], "incomplete");
	if (r == 0)
		return true;
	underscores(hf_rdp_front.reasons[r - HF_REASON_FRONT].name, name, sizeof name);
	for (unsigned i = 0; i < sizeof differ / sizeof differ[0]; i++)
		if (strcmp(differ[i].file, c[FILE_]) == 0 && strcmp(differ[i].reason, name) == 0)
			return true;
	return listed(c[ERROR], name);
}

static bool row(char **c, struct hf_bytes all)
{
	bool fin = strstr(c[SEGMENTS], ";fin") != NULL, ok = true;
	struct outcome whole = run(all, all.n, fin);

	ok = (strcmp(whole.action, strcmp(c[FILE_], SLOW) == 0 ? "route:cookie" : c[ACTION]) == 0 || listed(c[ALSO_OK], whole.action)) && right_reason(c, &whole);
	if (!ok)
		print_error("%s: %s, reason %u counted %u; the oracle has %s (%s) %s\n", c[FILE_], whole.action, whole.reason, whole.counted, c[ACTION],
		            c[ALSO_OK], c[ERROR]);
	for (size_t cut = 0; cut < all.n; cut++) {
		struct outcome o = run(all, cut, fin);

		if (strcmp(o.action, whole.action) != 0 || o.reason != whole.reason || o.counted != whole.counted) {
			print_error("%s cut at %zu: %s\n", c[FILE_], cut, o.action);
			ok = false;
		}
	}
	if (strncmp(whole.action, "route", 5) == 0)
		check_fields(c, all);
	return ok;
}

/* A datagram that opens something is asked for, and goes where a live session is (net's to find); any other ends with a reason of the row's. */
static bool udp_row(char **c, struct hf_bytes all)
{
	bool valid = strcmp(c[VALIDITY], "valid") == 0, id = strcmp(c[CORRELATION], "yes") == 0, ok;
	struct kit *k = kit_new();
	const struct hf_act *a = &k->acts.a[0];
	char name[64] = "none";

	k->ctx.flow = NULL;
	kit_step(k, (struct hf_event){.kind = HF_EV_BYTES, .bytes = all, .transport = HF_UDP});
	if (a->kind == HF_ACT_DROP)
		underscores(hf_rdp_front.reasons[a->end.reason - HF_REASON_FRONT].name, name, sizeof name);
	ok = k->acts.n == 1 && a->kind == (valid ? HF_ACT_ASK : HF_ACT_DROP) && listed(c[ERROR], name);
	if (ok && valid)
		ok = (a->ask.beside[0] != 0) == id && (a->ask.beside[1] != 0) == id && a->ask.beside[2] != 0 && listed(c[ALSO_OK], "route:none") && strcmp(c[ACTION], "drop") == 0;
	if (!ok)
		print_error("%s: %s; the oracle has %s (%s) %s\n", c[FILE_], name, c[ACTION], c[ALSO_OK], c[ERROR]);
	free(k);
	return ok;
}

static unsigned columns(char *line, char **c)
{
	unsigned n = 0;

	line[strcspn(line, "\n")] = 0;
	while (n < COLUMNS) {
		c[n++] = line;
		line = strchr(line, '\t');
		if (!line)
			break;
		*line++ = 0;
	}
	return n;
}

static struct hf_bytes load(const char *dir, const char *file)
{
	char path[1024];

	snprintf(path, sizeof path, "%s/%s", dir, file);
	return hex_of(path);
}

static void whole_set(const char *dir)
{
	char path[1024], line[4096], *c[COLUMNS];
	unsigned rows = 0, bad = 0, datagrams = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/expected.tsv", dir);
	f = fopen(path, "r");
	if (!f || !fgets(line, sizeof line, f))
		fail_msg("%s cannot be read", path);
	while (fgets(line, sizeof line, f)) {
		struct hf_bytes b;

		if (columns(line, c) != COLUMNS)
			fail_msg("%s: a line has not %d columns", path, COLUMNS);
		b = load(dir, c[FILE_]);
		rows++;
		datagrams += strcmp(c[PROTO], "udp") == 0;
		bad += !(strcmp(c[PROTO], "udp") == 0 ? udp_row : row)(c, b);
		done(b);
	}
	fclose(f);
	print_message("%s: %u rows, %u of them datagrams, %u differ\n", dir, rows, datagrams, bad);
	assert_true(rows - datagrams > 80 && datagrams > 10);
	assert_int_equal(bad, 0);
}

static void test_own_set(void **state)
{
	(void)state;
	whole_set(HF_SOURCE_DIR "/tests/data/rdp");
}

static void test_shared_set(void **state)
{
	const char *shared = getenv("HOLDFAST_SHARED");
	char dir[512];

	(void)state;
	if (!shared) {
		print_message("HOLDFAST_SHARED is not set: the shared torture set is skipped\n");
		skip();
	}
	snprintf(dir, sizeof dir, "%s/torture/rdp", shared);
	whole_set(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_own_set), cmocka_unit_test(test_shared_set)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
