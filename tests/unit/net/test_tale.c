/* What is told of sessions (net/tale.c, tell.c): one line each, whole, whatever the order of what fronts say; nothing is kept where nobody listens. */
#include "rig.h"

#include <stdio.h>

#include "holdfast/json.h"
#include "holdfast/lines.h"
#include "tell.h"

static char path[64], text[16384];
static struct hf_lines *lines;

static void quiet(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts) { (void)ctx, (void)ev, (void)acts; }

static int up(void **state)
{
	int fd;

	rig_step = quiet;
	if (rig_up(state))
		return -1;
	snprintf(path, sizeof path, "/tmp/hf-tale-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	lines = hf_lines_new("test-log");
	assert_int_equal(hf_lines_open(lines, hf_bytes_str(path)), HF_OK);
	assert_int_equal(hf_lines_start(lines), HF_OK);
	rig.net->lines = lines;
	memcpy(rig.pool_rt.name, "farm", 5);
	return 0;
}

/* All lines so far, as one text. */
static const char *told(void)
{
	size_t n;
	FILE *f;

	if (lines)
		assert_true(hf_lines_stop(lines));
	lines = rig.net->lines = NULL;
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	return text;
}

static int down(void **state)
{
	told();
	unlink(path);
	return rig_down(state);
}

static unsigned count(const char *what)
{
	unsigned n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* ---- sessions by key ---- */

static struct parcel parcel(void)
{
	return (struct parcel){.w = rig.w, .service = &rig.service, .rt = &rig.rt, .pool = &rig.pool_rt,
		.ev = {.source = {.family = 4, .ip = {192, 0, 2, 51}, .port = 5070}}};
}

static void ask(uint64_t fp, enum hf_life life, unsigned flags, bool again, const char *ended, uint16_t server, enum hf_why why)
{
	struct parcel p = parcel();
	struct hf_ask a = {.key = {fp, HF_LIT("key:a\"b\n")}, .life = life, .life_s = 10, .flags = flags, .again = again, .ended = ended};
	struct hf_answer answer = {.server = server, .why = why};

	tale_asked(&p, &a, &answer);
}

static void learn(uint64_t fp, enum hf_life life, unsigned flags, const char *ended, uint16_t code)
{
	struct parcel p = parcel();
	struct hf_act a = {.kind = HF_ACT_LEARN, .learn = {.key = {.fp = fp}, .life = life, .life_s = 100, .flags = flags, .why = HF_WHY_ENTRY, .ended = ended, .code = code}};

	tale_learnt(&p, &a, flags & HF_COUNTED ? 1 : 0);
}

#define OPENS HF_LIFE_START, HF_COUNTED | HF_TENTATIVE

/* The whole line, but for its date. Fails with any field that is lost, with the second of two ends told again, and when another server that answered too
 * ends it (is_others). */
static void a_call(void **state)
{
	const char *got;

	(void)state;
	rig.w->now_ms = 1000;
	ask(0x123, OPENS, false, NULL, 1, HF_WHY_HOME);
	rig.w->now_ms = 1200;
	learn(0x123, HF_LIFE_START, HF_COUNTED, NULL, 200);
	ask(0x123, HF_LIFE_LINGER, 0, false, "bye", 2, HF_WHY_COOKIE);
	rig.w->now_ms = 4500;
	ask(0x123, HF_LIFE_LINGER, 0, false, "bye", 1, HF_WHY_COOKIE);
	ask(0x123, HF_LIFE_LINGER, 0, false, "bye", 1, HF_WHY_COOKIE); /* sent again */
	got = told();
	assert_int_equal(strncmp(got, "{\"begin\":\"20", 12), 0);
	assert_string_equal(strchr(got, 'Z'), "Z\",\"duration_ms\":3500,\"service\":\"s\",\"pool\":\"farm\",\"fingerprint\":\"000000000000123\",\"source\":\"192.0.2.51:5070\","
		"\"server\":\"ts1\",\"why\":\"home\",\"failovers\":0,\"answered_ms\":200,\"code\":200,\"ended\":\"bye\"}\n");
}

/* A challenge ends nothing, the call that follows is the same; another server is a failover, and its why counts. Fails when an end without a word ends. */
static void challenged_and_moved(void **state)
{
	(void)state;
	ask(7, OPENS, false, NULL, 1, HF_WHY_HOME);
	learn(7, HF_LIFE_LINGER, 0, NULL, 401);
	ask(7, OPENS, false, NULL, 1, HF_WHY_ENTRY);
	ask(7, OPENS, true, NULL, 2, HF_WHY_FAILOVER);
	learn(7, HF_LIFE_LINGER, 0, "refused", 486);
	told();
	assert_int_equal(count("\n"), 1);
	assert_non_null(strstr(text, "\"server\":null,\"why\":\"failover\",\"failovers\":1,\"code\":486,\"ended\":\"refused\"}"));
}

/* Only what counts begins, and only what has begun ends: strangers write no lines. Fails without begins(). */
static void strangers(void **state)
{
	(void)state;
	ask(1, HF_LIFE_START, 0, false, NULL, 1, HF_WHY_HOME);
	learn(1, HF_LIFE_LINGER, 0, "refused", 404);
	ask(2, HF_LIFE_LINGER, 0, false, "bye", 1, HF_WHY_ENTRY);
	ask(3, OPENS, false, NULL, 0, HF_WHY_NONE); /* no server: refused, and no session */
	learn(3, HF_LIFE_LINGER, 0, "refused", 503);
	learn(4, HF_LIFE_START, HF_COUNTED, NULL, 200); /* of a session that began before */
	learn(4, HF_LIFE_LINGER, 0, "bye", 0);
	assert_string_equal(told(), "");
}

/* A session of which nothing more is heard is over when its life is. Fails without the look at until_ms, or when prolonging does not count. */
static void expired(void **state)
{
	(void)state;
	rig.w->now_ms = 1000;
	ask(5, OPENS, false, NULL, 1, HF_WHY_HOME);
	ask(6, OPENS, false, NULL, 1, HF_WHY_HOME);
	learn(6, HF_LIFE_START, HF_COUNTED, NULL, 0);
	for (int i = 0; i < 16; i++)
		tales_sweep(rig.net, 10999);
	for (int i = 0; i < 16; i++)
		tales_sweep(rig.net, 11000);
	told();
	assert_int_equal(count("\n"), 1);
	assert_non_null(strstr(text, "\"fingerprint\":\"000000000000005\""));
	assert_non_null(strstr(text, "\"duration_ms\":10000,"));
	assert_non_null(strstr(text, "\"ended\":\"expired\"}"));
}

/* Names stand there where they are asked for, escaped; a line is JSON whatever they hold. Fails without the option, and without the escapes. */
static void named(void **state)
{
	struct hf_json line, key;
	uint8_t plain[64];
	struct hf_writer w = hf_writer_on(plain, sizeof plain);

	(void)state;
	rig.conf.gateway.log_identities = true;
	ask(8, OPENS, false, NULL, 1, HF_WHY_HOME);
	ask(8, HF_LIFE_LINGER, 0, false, "bye", 1, HF_WHY_COOKIE);
	told();
	assert_int_equal(count("\n"), 1);
	assert_int_equal(hf_json_read(hf_bytes_of(text, strlen(text) - 1), &line), HF_OK);
	assert_true(hf_json_find(&line, "key", &key));
	hf_w_json_text(&w, key.raw);
	assert_true(hf_bytes_eq(hf_writer_view(&w), HF_LIT("key:a\"b\n")));
}

/* Nobody listens: nothing is kept, and what was is let go of. Fails without wanted(), and without the look in the sweep. */
static void unwanted(void **state)
{
	struct hf_lines_view v;

	(void)state;
	ask(10, OPENS, false, NULL, 1, HF_WHY_HOME);
	assert_int_equal(hf_lines_open(lines, HF_NONE), HF_OK);
	for (int i = 0; i < 16; i++)
		tales_sweep(rig.net, rig.w->now_ms + 10000); /* what began before is over now */
	ask(9, OPENS, false, NULL, 1, HF_WHY_HOME);
	assert_null(tale_flow(rig.w));
	assert_int_equal(hf_lines_open(lines, hf_bytes_str(path)), HF_OK);
	ask(9, HF_LIFE_LINGER, 0, false, "bye", 1, HF_WHY_COOKIE);
	hf_lines_view(lines, &v);
	assert_int_equal(v.lost + v.waiting, 0);
	assert_string_equal(told(), "");
}

/* ---- flows ---- */

/* The client's first octet: 'a' asks and dials; 'f' counts a fact first; 'x' is no protocol of ours. */
static void desk(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	struct hf_act *a;

	(void)ctx;
	if (ev->kind == HF_EV_BYTES && ev->side == HF_CLIENT && ev->bytes.p[0] == 'x') {
		hf_act(acts, HF_ACT_CLOSE)->end.reason = HF_R_TOO_BIG;
	} else if (ev->kind == HF_EV_BYTES && ev->side == HF_CLIENT) {
		if (ev->bytes.p[0] == 'f') {
			a = hf_act(acts, HF_ACT_DROP);
			a->end.reason = HF_R_LOOP;
			a->end.count_only = true;
		}
		hf_act(acts, HF_ACT_ASK)->ask = (struct hf_ask){.hint = RIG_MEMBER, .hint_why = HF_WHY_TOKEN, .key = {.fp = 0xabc}};
	} else if (ev->kind == HF_EV_CHOICE) {
		a = hf_act(acts, HF_ACT_SEND);
		a->send.to = HF_TO_SERVER;
		a->send.server = ev->chosen->server;
	} else if (ev->kind == HF_EV_BYTES) {
		a = hf_act(acts, HF_ACT_RELAY);
		a->relay.client_used = 1;
		a->relay.mark = 4;
	}
}

/* A whole visit: say, answer, as many octets both ways, the end. */
static void visit(const char *opening, const char *more)
{
	uint64_t before = rig_count(HF_R_DONE);
	int c = rig_client(), h;

	rig_say(c, opening);
	h = rig_accept();
	rig_hear(h, opening);
	rig_say(h, "hi");
	rig_hear(c, "hi");
	if (*more) {
		rig_say(c, more);
		rig_say(h, more);
		rig_hear(c, more);
		rig_hear(h, more);
		RIG_UNTIL(!rig_flow(0) || rig_flow(0)->mark == 0);
	}
	close(c);
	close(h);
	RIG_UNTIL(rig_count(HF_R_DONE) > before);
	RIG_UNTIL(rig_open() == 0);
}

/* Who asked has a line with both counts, facts and the reason; who said nothing of use has none. Fails without `asked`. */
static void a_desktop(void **state)
{
	int c;

	(void)state;
	rig_step = desk;
	visit("f", "12345");
	c = rig_client();
	rig_say(c, "x");
	RIG_UNTIL(rig_count(HF_R_TOO_BIG) == 1);
	close(c);
	told();
	assert_int_equal(count("\n"), 1);
	assert_non_null(strstr(text, "\"service\":\"s\",\"pool\":\"farm\",\"fingerprint\":\"000000000000abc\",\"source\":\"127.0.0.1:"));
	assert_non_null(strstr(text, "\"server\":\"ts1\",\"why\":\"token\",\"failovers\":0,\"octets_up\":6,\"octets_down\":7,\"proved\":true,\"facts\":[\"loop\"],\"reason\":\"done\"}"));
}

/* A short one is followed by the next of its source, and those in a row are counted; one that proves itself ends the row. */
static void legs(void **state)
{
	char *line;

	(void)state;
	rig_step = desk;
	visit("a", "");
	visit("a", "12345");
	visit("a", "12345");
	told();
	assert_int_equal(count("\n"), 3);
	line = strtok(text, "\n");
	assert_non_null(strstr(line, "\"proved\":false"));
	assert_null(strstr(line, "follows"));
	line = strtok(NULL, "\n");
	assert_non_null(strstr(line, "\"follows\":\"ts1\""));
	assert_non_null(strstr(line, "\"legs\":2,"));
	assert_non_null(strstr(line, "\"proved\":true"));
	line = strtok(NULL, "\n");
	assert_null(strstr(line, "follows"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_call, up, down), cmocka_unit_test_setup_teardown(challenged_and_moved, up, down),
		cmocka_unit_test_setup_teardown(strangers, up, down), cmocka_unit_test_setup_teardown(expired, up, down),
		cmocka_unit_test_setup_teardown(named, up, down), cmocka_unit_test_setup_teardown(unwanted, up, down),
		cmocka_unit_test_setup_teardown(a_desktop, up, down), cmocka_unit_test_setup_teardown(legs, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
