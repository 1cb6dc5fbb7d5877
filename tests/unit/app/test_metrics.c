/* Counters as text (app/metrics.c), the pages of HTTP, and the answers of `metrics` and `trace` (app/trace.c). */
#include "gate.h"

#include "metrics.h"

static char page[1 << 17];

static unsigned get(struct gateway *g, const char *path, const char **type)
{
	struct hf_writer w = {0};
	unsigned status;

	*type = "";
	status = metrics_page(g, hf_bytes_str(path), type, &w);
	assert_true(w.n < sizeof page);
	if (w.p)
		memcpy(page, w.p, w.n);
	page[w.n] = 0;
	free(w.p);
	return w.p ? status : 0;
}

static unsigned count(const char *what)
{
	unsigned n = 0;

	for (const char *p = page; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* Every line is a comment or NAME{LABELS} NUMBER, and each family has its help and type once. Fails with a sample that is cut or a family without a type. */
static void well_formed(void **state)
{
	struct gateway g;
	const char *type;
	char name[128];
	unsigned families = 0;

	(void)state;
	gate_open(&g, TWO_POOLS);
	assert_int_equal(get(&g, "/metrics", &type), 200);
	assert_string_equal(type, "text/plain; version=0.0.4; charset=utf-8");
	for (char *line = page, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		if (strncmp(line, "# HELP ", 7) == 0) {
			families++;
			snprintf(name, sizeof name, "%.*s", (int)strcspn(line + 7, " "), line + 7);
			assert_int_equal(strncmp(end + 1, "# TYPE ", 7), 0);
			assert_int_equal(strncmp(end + 8, name, strlen(name)), 0);
			continue;
		}
		if (*line == '#')
			continue;
		assert_int_equal(strncmp(line, name, strlen(name)), 0);
		assert_true(line[strlen(name)] == '{' || line[strlen(name)] == ' ');
		assert_true(end[-1] >= '0' && end[-1] <= '9');
	}
	assert_true(families > 20);
	assert_int_equal(count("# TYPE "), families);
	assert_int_equal(count("holdfast_server_state{pool=\"p\",server=\"s1\",state=\"up\"} 1\n"), 1);
	assert_int_equal(count("holdfast_server_state{pool=\"q\",server=\"both\",state=\"drain\"} 0\n"), 1);
	assert_int_equal(count("holdfast_messages_total{service=\"b\"} 0\n"), 1);
	assert_int_equal(count("holdfast_info{version=\"" HF_VERSION "\"} 1\n"), 1);
	gate_close(&g);
}

/* Ready is who has a server for new sessions in every pool; alive is who answers. Fails without the look at each pool. */
static void ready(void **state)
{
	struct gateway g;
	struct hf_json a;
	const char *type;

	(void)state;
	gate_open(&g, TWO_POOLS);
	assert_int_equal(get(&g, "/healthz", &type), 200);
	assert_int_equal(get(&g, "/readyz", &type), 200);
	assert_true(gate_ask(&g, "drain q/both", &a));
	assert_true(gate_ask(&g, "drain t1", &a));
	assert_int_equal(get(&g, "/readyz", &type), 503);
	assert_string_equal(page, "pool q: no server takes new sessions\n");
	assert_int_equal(get(&g, "/healthz", &type), 200);
	assert_int_equal(get(&g, "/metric", &type), 0);
	assert_int_equal(get(&g, "/", &type), 200); /* who opens it in a browser is told what there is */
	assert_true(strncmp(page, "holdfast " HF_VERSION "\n", sizeof "holdfast " HF_VERSION) == 0 && count("\n/metrics ") && count("\n/healthz ") && count("\n/readyz "));
	gate_close(&g);
}

/* The command says the same text. */
static void the_command(void **state)
{
	struct gateway g;
	struct hf_json a, text;

	(void)state;
	gate_open(&g, ONE_POOL);
	assert_true(gate_ask(&g, "metrics", &a));
	assert_true(hf_json_find(&a, "text", &text));
	assert_true(hf_bytes_starts(text.raw, HF_LIT("# HELP holdfast_info 1; the version is its label.\\n# TYPE holdfast_info gauge\\n")));
	gate_close(&g);
}

/* A session that did not pass, and no memory of any. */
static void trace_refuses(void **state)
{
	struct gateway g;

	(void)state;
	gate_open(&g, ONE_POOL);
	hf_net_trace(g.net, 4096);
	gate_refused(&g, "trace a\tb", "no message with this key among the last ones that passed: 'a\\\\x09b'");
	gate_refused(&g, "trace", "the key is missing: [KIND:]KEY (usage: trace SESSION)");
	gate_close(&g);
	gate_open(&g, "trace = off\n" ONE_POOL);
	gate_refused(&g, "trace x", "trace = off: messages are not kept, not those of 'x'");
	gate_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_formed), cmocka_unit_test(ready), cmocka_unit_test(the_command), cmocka_unit_test(trace_refuses),
	};

	return cmocka_run_group_tests(tests, gate_dir_up, gate_dir_down);
}
