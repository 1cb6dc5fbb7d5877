/* Who is a server by SRV records (RFC 2782): names, weights, who stands in, and what is left of them in the next run. Literal answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "listed.h"

const struct hf_front *const hf_fronts[] = {NULL};

static struct hf_conf_pool pool;
static struct hf_conf_server line, got[32];
static char texts[32][256];
static struct resolved_srv said;
static struct hf_engine *engine;
static void *tables;
static uint64_t now_ms;

static int up(void **state)
{
	static const struct hf_engine_conf conf = {.slot_bits = 16, .max_entries = 1};

	(void)state;
	tables = calloc(1, hf_engine_need(&conf));
	engine = hf_engine_new(&conf, tables, 0);
	assert_non_null(engine);
	line = (struct hf_conf_server){.name = "pbx", .host = HF_LIT("_sip._udp.example.com"), .weight = 100, .targets = 16, .max_sessions = 9, .transport = HF_TCP};
	now_ms = 10000;
	memset(&said, 0, sizeof said);
	memset(got, 0, sizeof got);
	return 0;
}

static int down(void **state)
{
	(void)state;
	hf_engine_free(engine);
	free(tables);
	return 0;
}

static void says(uint16_t priority, uint16_t weight, const char *host, uint16_t port)
{
	struct srv_target *t = &said.target[said.n++];

	*t = (struct srv_target){.priority = priority, .weight = weight, .port = port};
	snprintf(t->host, sizeof t->host, "%s", host);
}

static unsigned expand(void) { return listed_expand(&pool, &line, &said, engine, now_ms, got, texts); }

/* The engine has them, as after a snapshot. */
static void enact(unsigned n)
{
	struct hf_member_conf m[32];
	uint16_t ids[32];

	for (unsigned i = 0; i < n; i++)
		m[i] = (struct hf_member_conf){.name = hf_bytes_str(got[i].name), .weight = got[i].weight, .at = {4, HF_UDP, 0x10, 0x27, [8] = 192, 0, 2, (uint8_t)(i + 1)}, .at_found = true};
	assert_int_equal(hf_engine_apply(engine, m, n, ids, 1000), HF_OK);
}

static void is_down(const char *name, bool on) { hf_engine_mark(engine, hf_engine_find(engine, hf_bytes_str(name)), HF_MARK_DOWN, on, 1000); }

/* What the line says holds for each; the name is of the line, host and port; a certificate names the domain. Fails when any of it is another. */
static void whom_it_names(void **state)
{
	(void)state;
	says(10, 60, "sip1.example.com", 5060);
	says(10, 0, "sip2.example.com", 5080);
	assert_int_equal(expand(), 2);
	assert_string_equal(got[0].name, "pbx:sip1.example.com:5060");
	assert_true(hf_bytes_eq(got[0].host, HF_LIT("sip1.example.com")) && got[0].addr.port == 5060 && got[0].weight == 60);
	assert_true(got[0].max_sessions == 9 && got[0].transport == HF_TCP && hf_bytes_eq(got[0].tls_name, HF_LIT("example.com")));
	assert_string_equal(got[1].name, "pbx:sip2.example.com:5080");
	assert_int_equal(got[1].weight, 1);
	line.tls_name = HF_LIT("other.example.com");
	assert_int_equal(expand(), 2);
	assert_true(hf_bytes_eq(got[1].tls_name, HF_LIT("other.example.com")));
	line.tls_name = HF_NONE;
	pool.tls_name = HF_LIT("pool.example.com");
	assert_int_equal(expand(), 2);
	assert_int_equal(got[1].tls_name.n, 0); /* the pool's, as for any other */
	pool.tls_name = HF_NONE;
	line.targets = 1;
	assert_int_equal(expand(), 1);
}

/* A name of 63 octets stands as it is, a longer one as a number, which never changes: farms would be reshuffled. */
static void long_names(void **state)
{
	(void)state;
	says(1, 1, "a-host-whose-name-is-of-fifty.three.octets.example.com", 5060);
	says(1, 1, "a-host-whose-name-is-of-fifty-4.octets.or.x.example.com", 5060);
	assert_int_equal(expand(), 2);
	assert_string_equal(got[0].name, "pbx:a-host-whose-name-is-of-fifty.three.octets.example.com:5060");
	assert_int_equal(strlen(got[0].name), 63);
	assert_string_equal(got[1].name, "pbx:53d21fffeea15706");
}

/* As they stand up to 256, above it in proportion, all 0 alike. Fails without either branch of weight_of. */
static void weights(void **state)
{
	static const struct { uint16_t said[3], is[3]; } t[] = {{{0, 0, 0}, {100, 100, 100}}, {{256, 1, 0}, {256, 1, 1}}, {{257, 128, 1}, {256, 128, 1}}, {{65535, 256, 0}, {256, 1, 1}}, {{1000, 500, 1}, {256, 128, 1}}};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		said.n = 0;
		for (unsigned k = 0; k < 3; k++)
			says(1, t[i].said[k], (const char *[]){"a", "b", "c"}[k], 5060);
		assert_int_equal(expand(), 3);
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(got[k].weight, t[i].is[k]);
	}
}

/* A weight says nothing beside those of another priority. Fails when weight_of looks at all of them: the first two would be alike. */
static void weights_of_a_priority(void **state)
{
	(void)state;
	says(10, 30, "a", 5060);
	says(10, 10, "b", 5060);
	says(20, 60000, "c", 5060);
	assert_int_equal(expand(), 2);
	assert_true(got[0].weight == 30 && got[1].weight == 10);
}

/* Who has a higher number comes when nobody before him is up, all of his number at once, and goes when somebody is; the ones before stay meanwhile, or
 * nobody would see them come up. Fails without any_up, and when drained ones count as up. */
static void who_stands_in(void **state)
{
	(void)state;
	says(10, 1, "a", 5060);
	says(10, 1, "b", 5060);
	says(20, 1, "c", 5060);
	says(20, 1, "d", 5060);
	says(30, 1, "e", 5060);
	assert_int_equal(expand(), 2);
	enact(2);
	is_down("pbx:a:5060", true);
	assert_int_equal(expand(), 2);
	hf_engine_mark(engine, hf_engine_find(engine, HF_LIT("pbx:b:5060")), HF_MARK_DRAIN, true, 1000);
	assert_int_equal(expand(), 4);
	enact(4);
	is_down("pbx:c:5060", true);
	assert_int_equal(expand(), 4);
	is_down("pbx:d:5060", true);
	assert_int_equal(expand(), 5);
	is_down("pbx:a:5060", false);
	assert_int_equal(expand(), 2);
	enact(2); /* c and d are removed, and as good as new ones when they are wanted again */
	is_down("pbx:a:5060", true);
	assert_int_equal(expand(), 4);
}

/* One that went down this moment is no reason yet. Fails without GRACE_MS: while names are looked up at the start, all stand in. */
static void not_at_once(void **state)
{
	(void)state;
	says(10, 1, "a", 5060);
	says(20, 1, "b", 5060);
	enact(expand());
	is_down("pbx:a:5060", true);
	now_ms = 1000 + 2999;
	assert_int_equal(expand(), 1);
	now_ms++;
	assert_int_equal(expand(), 2);
}

/* Before the first answer of a run they are whom the run before had, where these were then; not those that had left, nor another line's. Fails without
 * as_kept, or when it takes any name that begins alike. */
static void before_an_answer(void **state)
{
	struct hf_conf_server other = line;

	(void)state;
	says(10, 7, "a", 5060);
	says(10, 8, "b", 5060);
	enact(expand());
	assert_int_equal(listed_expand(&pool, &line, NULL, engine, now_ms, got, texts), 2);
	assert_string_equal(got[1].name, "pbx:b:5060");
	assert_true(got[1].weight == 8 && got[1].addr.family == 4 && got[1].addr.port == 10000 && got[1].addr.ip[3] == 2 && !got[1].host.n && got[1].transport == HF_TCP);
	snprintf(other.name, sizeof other.name, "pb");
	assert_int_equal(listed_expand(&pool, &other, NULL, engine, now_ms, got, texts), 0);
	enact(expand() - 1);
	assert_int_equal(listed_expand(&pool, &line, NULL, engine, now_ms, got, texts), 1);
	assert_string_equal(got[0].name, "pbx:a:5060");
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(whom_it_names), T(long_names), T(weights), T(weights_of_a_priority), T(who_stands_in), T(not_at_once), T(before_an_answer)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
