/* Options by their rows: values, ranges, names that are nearly right, and where a line belongs. */
#include "fronts.h"
#include "help.h"
#include "nearest.h"
#include "optval.h"

struct field { uint64_t v; struct hf_bytes text; bool yes; };
static const char *const words[] = {"carp", "ring", NULL};
static const struct hf_option rows[] = {
	{"t", HF_OPT_TIME, .min = 100, .max = 600000, .offset = offsetof(struct field, v)},
	{"s", HF_OPT_SIZE, .min = 1024, .max = 1 << 30, .off_ok = true, .offset = offsetof(struct field, v)},
	{"m", HF_OPT_MILLI, .min = 1000, .max = 10000, .off_ok = true, .offset = offsetof(struct field, v)},
	{"u", HF_OPT_UINT, .min = 16, .max = 20, .offset = offsetof(struct field, v)},
	{"b", HF_OPT_BOOL, .offset = offsetof(struct field, yes)},
	{"c", HF_OPT_CHOICE, .words = words, .not_built = "ring", .offset = offsetof(struct field, v)},
	{"x", HF_OPT_TEXT, .min = 2, .max = 4, .offset = offsetof(struct field, text)},
	{"d", HF_OPT_TIME, .max = UINT64_MAX, .offset = offsetof(struct field, v)},
};

static enum hf_err read_value(const char *name, const char *text, struct field *f, char *why)
{
	struct hf_writer w = hf_writer_on(why, 199);
	enum hf_err e = HF_ENOENT;

	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strcmp(rows[i].name, name) == 0)
			e = optval_read(&rows[i], hf_bytes_str(text), f, &w);
	why[w.n] = 0;
	return e;
}

/* Each fails without its unit, point or word in optval.c. */
static void test_values(void **state)
{
	static const struct { const char *name, *text; uint64_t v; } good[] = {
		{"t", "100ms", 100}, {"t", "10m", 600000}, {"t", "007s", 7000}, {"s", "1k", 1024}, {"s", "1024", 1024}, {"s", "1g", 1 << 30},
		{"s", "3m", 3 << 20}, {"s", "off", 0}, {"m", "1", 1000}, {"m", "1.5", 1500}, {"m", "1.05", 1050}, {"m", "9.999", 9999}, {"m", "10.000", 10000},
		{"m", "off", 0}, {"u", "16", 16}, {"c", "carp", 0}, {"d", "2d", 172800000}, {"d", "0ms", 0}, {"d", "213503982334d", 213503982334u * (uint64_t)86400000},
	};
	char why[200];

	(void)state;
	for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
		struct field f = {.v = 99};

		if (read_value(good[i].name, good[i].text, &f, why) != HF_OK || f.v != good[i].v)
			fail_msg("%s = %s: %llu %s", good[i].name, good[i].text, (unsigned long long)f.v, why);
	}
}

/* The field stays as it was, and the text says what would be right. The long ones wrap without the division in read_units. */
static void test_values_refused(void **state)
{
	static const struct { const char *name, *text; enum hf_err e; const char *why; } bad[] = {
		{"t", "30", HF_EINVAL, "a time needs its unit: 30ms, 30s, 30m, 30h or 30d; 100ms..10m"},
		{"t", "99ms", HF_ERANGE, "100ms..10m"}, {"t", "601s", HF_ERANGE, "100ms..10m"}, {"t", "1h30m", HF_EINVAL, "not a time"},
		{"t", "-1s", HF_EINVAL, "not a time"}, {"t", "s", HF_EINVAL, "not a time"}, {"t", "1S", HF_EINVAL, "not a time"}, {"t", "1 s", HF_EINVAL, "not a time"},
		{"t", "0s", HF_ERANGE, "100ms..10m"}, {"t", "off", HF_EINVAL, "not a time"}, {"t", "213503982335d", HF_ERANGE, "100ms..10m"},
		{"d", "213503982335d", HF_ERANGE, ""}, {"d", "18446744073709551616ms", HF_ERANGE, ""},
		{"s", "1", HF_ERANGE, "off | 1k..1g"}, {"s", "2g", HF_ERANGE, "off | 1k..1g"}, {"s", "1kb", HF_EINVAL, "not a size"}, {"s", "17179869184g", HF_ERANGE, "off | 1k..1g"},
		{"m", "0.999", HF_ERANGE, "off | 1.0..10.0"}, {"m", "10.001", HF_ERANGE, "off | 1.0..10.0"}, {"m", "1.", HF_EINVAL, "not a number"}, {"m", ".5", HF_EINVAL, "not a number"},
		{"m", "1.5555", HF_EINVAL, "three behind"}, {"m", "1.0005", HF_EINVAL, "three behind"}, {"m", "1,5", HF_EINVAL, "not a number"}, {"m", "1.5x", HF_EINVAL, "not a number"}, {"m", "99999999999999999999", HF_ERANGE, "1.0..10.0"},
		{"u", "15", HF_ERANGE, "16..20"}, {"u", "21", HF_ERANGE, "16..20"}, {"u", "0x10", HF_EINVAL, "digits only"}, {"u", "+16", HF_EINVAL, "digits only"},
		{"u", "18446744073709551632", HF_ERANGE, "16..20"}, {"b", "true", HF_EINVAL, "yes | no"}, {"b", "YES", HF_EINVAL, "yes | no"},
		{"c", "crap", HF_EINVAL, "carp; did you mean carp?"}, {"c", "ring", HF_EINVAL, "not built yet; carp"}, {"x", "a", HF_ERANGE, "2..4 octets"}, {"x", "abcde", HF_ERANGE, "2..4 octets"},
	};
	char why[200];

	(void)state;
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct field f = {.v = 99, .text = HF_LIT("was")}, was = f;

		if (read_value(bad[i].name, bad[i].text, &f, why) != bad[i].e || !strstr(why, bad[i].why))
			fail_msg("%s = %s: %s", bad[i].name, bad[i].text, why);
		assert_true(f.v == was.v && f.text.p == was.text.p && f.yes == was.yes);
	}
}

/* Fails without the threshold of nearest_to(). */
static void test_nearest(void **state)
{
	static const struct { const char *wanted, *name; } t[] = {
		{"wrokers", "workers"}, {"Workers", "workers"}, {"worker", "workers"}, {"state_dir", "state-dir"}, {"statedir", "state-dir"},
		{"zzzz", NULL}, {"", NULL}, {"x", NULL}, {"hsah", "hash"}, {"probe-intervall", "probe-interval"},
	};
	static const char *const names[] = {"workers", "state-dir", "hash", "probe", "probe-interval"};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct nearest n = nearest_to(hf_bytes_str(t[i].wanted));

		for (unsigned j = 0; j < 5; j++)
			nearest_try(&n, names[j]);
		if (t[i].name ? !n.name || strcmp(n.name, t[i].name) : n.name != NULL)
			fail_msg("%s: %s", t[i].wanted, n.name ? n.name : "none");
	}
}

/* One line of an option that is not right, in the section at hand; each fails without the branch that gives its text. */
static void test_lines_refused(void **state)
{
	static const struct { const char *text; unsigned line; const char *part; } t[] = {
		{"[gateway]\nwrokers = 2\n" GOOD_SERVICE GOOD_POOL, 2, "wrokers: unknown option; did you mean workers?"},
		{"[gateway]\nquux = 2\n" GOOD_SERVICE GOOD_POOL, 2, "quux: unknown option"},
		{"[gateway]\nslots = 16\n" GOOD_SERVICE GOOD_POOL, 2, "slots: no option of this section; it belongs into [pool NAME]"},
		{"[gateway]\nworkers = 65\n" GOOD_SERVICE GOOD_POOL, 2, "workers = 65: auto | 1..64"},
		{"[gateway]\nworkers = 0\n" GOOD_SERVICE GOOD_POOL, 2, "workers = 0: auto | 1..64"},
		{"[gateway]\nhttp = 127.0.0.1\n" GOOD_SERVICE GOOD_POOL, 2, "http = 127.0.0.1: off | ADDRESS:PORT"},
		{"[gateway]\nhttp = on\n" GOOD_SERVICE GOOD_POOL, 2, "http = on: off | ADDRESS:PORT"},
		{"[gateway]\ntrace = 100\n" GOOD_SERVICE GOOD_POOL, 2, "trace = 100: off | 4k..1g"},
		{"[gateway]\nletter-box = 63k\n" GOOD_SERVICE GOOD_POOL, 2, "letter-box = 63k: 64k..1g"},
		{"[gateway]\nlog-level = warning\n" GOOD_SERVICE GOOD_POOL, 2, "error | warn | info | debug"},
		{GOOD_SERVICE "depth = 4\n" GOOD_POOL, 5, "depth: no option of this section; it belongs into [pool NAME] of protocol tide"},
		{GOOD_SERVICE "linger = 4s\n" GOOD_POOL, 5, "linger: no option of this section; it belongs into [pool NAME] of protocol reef"},
		{GOOD_SERVICE "swel = 4s\n" GOOD_POOL, 5, "swel: unknown option; did you mean swell?"},
		{GOOD_SERVICE "swell = 4\n" GOOD_POOL, 5, "swell = 4: a time needs its unit"},
		{GOOD_SERVICE "loud = yes\n" GOOD_POOL, 5, "loud = yes: not built yet; no"},
		{GOOD_SERVICE "moon = half\n" GOOD_POOL, 5, "moon = half: full | new"},
		{GOOD_SERVICE GOOD_POOL "linger = 4s\n", 7, "linger: no option of this section; it belongs into [pool NAME] of protocol reef"},
		{GOOD_SERVICE GOOD_POOL "slots = 15\n", 7, "slots = 15: 16..20"},
		{GOOD_SERVICE GOOD_POOL "slots = 12\n", 7, "slots = 12: 16..20"},
		{GOOD_SERVICE GOOD_POOL "ring-points = 0\n", 7, "ring-points = 0: 1..1024"},
		{GOOD_SERVICE GOOD_POOL "hash = maglef\n", 7, "did you mean maglev?"},
		{GOOD_SERVICE GOOD_POOL "persist = on\n", 7, "did you mean yes?"},
		{GOOD_SERVICE GOOD_POOL "slots = 65536\n", 7, "slots = 65536: 16..20 bits"},
		{GOOD_SERVICE GOOD_POOL "ring-points = 1025\n", 7, "ring-points = 1025: 1..1024"},
		{GOOD_SERVICE GOOD_POOL "balance = random\n", 7, "balance: with affinity = auto the hash places; affinity = table remembers what another balance chose"},
		{GOOD_SERVICE GOOD_POOL "balance = fair\n", 7, "balance = fair: hash | least-sessions | round-robin | random"},
		{GOOD_SERVICE GOOD_POOL "max-connecting = 0\n", 7, "max-connecting = 0: off | 1..65535 connections"},
		{GOOD_SERVICE GOOD_POOL "connecting-queue = 1000001\n", 7, "connecting-queue = 1000001: 0..1000000 connections"},
		{GOOD_SERVICE GOOD_POOL "keep-alive = 999ms\n", 7, "keep-alive = 999ms: off | 1s..2h"},
		{GOOD_SERVICE GOOD_POOL "agent = 65536\n", 7, "agent = 65536: off | 1..65535"},
		{GOOD_SERVICE GOOD_POOL "agent = 0\n", 7, "agent = 0: off | 1..65535"},
		{GOOD_SERVICE GOOD_POOL "agent-interval = 99ms\n", 7, "agent-interval = 99ms: 100ms..1h"},
		{GOOD_SERVICE GOOD_POOL "slow-start = 999ms\n", 7, "slow-start = 999ms: off | 1s..1d"},
		{GOOD_SERVICE GOOD_POOL "slow-start = 60\n", 7, "slow-start = 60: a time needs its unit"},
		{GOOD_SERVICE GOOD_POOL "max-entries-source = 0\n", 7, "max-entries-source = 0: auto | off | 1..268435456"},
		{GOOD_SERVICE GOOD_POOL "load-factor = 0.9\n", 7, "load-factor = 0.9: off | 1.0..10.0"},
		{GOOD_SERVICE GOOD_POOL "affinity = tabel\n", 7, "did you mean table?"},
		{GOOD_SERVICE GOOD_POOL "probe = confirm\n", 7, "probe = confirm: none | connect | program | sound"},
		{GOOD_SERVICE GOOD_POOL "probe-program = check {address}\n", 7, "probe-program = check {address}: /PATH [ARGUMENT...], at most 32 words and 1024 octets"},
		{GOOD_SERVICE GOOD_POOL "probe-program = /{port}\n", 7, "/PATH [ARGUMENT...]"},
		{GOOD_SERVICE GOOD_POOL "probe-program = /x {adress}\n", 7, "with {address}, {port}, {server}, {pool} in arguments"},
		{GOOD_SERVICE GOOD_POOL "probe-program = /x {port\n", 7, "/PATH [ARGUMENT...]"},
		{GOOD_SERVICE GOOD_POOL "probe-program = /x port}\n", 7, "/PATH [ARGUMENT...]"},
		{GOOD_SERVICE GOOD_POOL "probe-program = /x {port}}\n", 7, "/PATH [ARGUMENT...]"},
		{GOOD_SERVICE GOOD_POOL "probe-program = /x {}\n", 7, "/PATH [ARGUMENT...]"},
		{GOOD_SERVICE GOOD_POOL "probe-program = /1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33\n", 7, "at most 32 words"},
		{GOOD_SERVICE GOOD_POOL "probe = program\n", 7, "probe = program: probe-program says which; there is none"},
		{GOOD_SERVICE GOOD_POOL "on-down = hold\n", 7, "on-down = hold: move | hold TIME"},
		{GOOD_SERVICE GOOD_POOL "on-down = hold 60\n", 7, "a time needs its unit"},
		{GOOD_SERVICE GOOD_POOL "on-down = hold 0s\n", 7, "1ms..1d"},
		{GOOD_SERVICE GOOD_POOL "on-down = hold 2d\n", 7, "1ms..1d"},
		{GOOD_SERVICE GOOD_POOL "on-down = hold 1s 2s\n", 7, "not a time"},
		{GOOD_SERVICE GOOD_POOL "on-down = move 1s\n", 7, "move | hold TIME"},
		{GOOD_SERVICE GOOD_POOL "drain-bound = stay\n", 7, "keep | move"},
		{GOOD_SERVICE GOOD_POOL "drain-deadline = 0s\n", 7, "off | 1s..30d"},
		{GOOD_SERVICE GOOD_POOL "max-entries = 268435457\n", 7, "max-entries = 268435457: 1..268435456"},
		{GOOD_SERVICE "swell = 13ms\n" GOOD_POOL, 5, "swell: 13 is no good"},
		{GOOD_SERVICE "swell = 14ms\n" GOOD_POOL, 1, "[service calls]: protocol tide refuses its options"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++)
		refuses(t[i].text, t[i].line, t[i].part);
}

/* The defaults that the rows promise; a front's own come first. Fails without optrows_default's loop or fill_defaults. */
static void test_defaults(void **state)
{
	const struct hf_conf_gateway *g;
	const struct hf_conf_pool *p;
	const struct tide_conf *c;

	(void)state;
	accepts(GOOD_SERVICE GOOD_POOL "[service s]\nprotocol = reef\nlisten = 192.0.2.1\npool = r\n[pool r]\nserver = a 192.0.2.11\n");
	g = &conf->gateway;
	assert_true(g->workers == 0 && hf_bytes_eq(g->state_dir, HF_LIT("/var/lib/holdfast")) && !g->run_dir.n && !g->cluster_secret_file.n);
	assert_true(!g->admin_socket.n && !g->admin_off && g->letter_box == 4 << 20 && g->log_level == 2 && !g->log_to && !g->log_identities && !g->user.n);
	p = &conf->pools[0];
	c = conf->services[0].front_conf;
	assert_true(p->front == &tide && p->affinity == 0 && p->load_factor == 1500 && p->probe == HF_CONF_PROBE_FRONT && p->slots == 16 && p->max_entries == 1048576);
	assert_true(p->source_entries == 262144 && p->slow_start == 0 && p->balance == 0);
	assert_true(p->probe_interval == 10000 && p->probe_timeout == 1000 && p->probe_rise == 2 && p->probe_fall == 3 && p->dial_timeout == 10000);
	assert_true(p->on_down == 0 && p->drain_bound == HF_CONF_DRAIN_MOVES && p->drain_deadline == 0 && p->removed_expiry == 86400000);
	assert_true(p->servers[0].transport == HF_UDP && p->servers[0].addr.port == 7000 && p->servers[0].weight == 100 && !p->servers[0].was[0]);
	assert_true(c->swell == 2000 && c->depth == 7 && !c->loud && !c->label.n && c->moon == 0);
	assert_true(conf->services[0].handshake_timeout == 10000 && conf->services[0].receive_buffer == 1 << 20);
	p = &conf->pools[1];
	assert_true(p->front == &reef && p->affinity == 1 && p->load_factor == 1250 && p->probe == HF_CONF_PROBE_CONNECT && p->servers[0].addr.port == 8000);
	assert_true(((struct reef_conf *)conf->services[1].front_conf)->linger == 86400000 && conf->services[1].listens[0].transport == HF_TCP);
}

/* What becomes of who is bound to a server that goes. Fails when read_on_down keeps no time. */
static void test_going(void **state)
{
	const struct hf_conf_pool *p;

	(void)state;
	accepts(GOOD_SERVICE GOOD_POOL "on-down = hold 90s\ndrain-bound = keep\ndrain-deadline = 2h\nremoved-expiry = off\n");
	p = &conf->pools[0];
	assert_true(p->on_down == 90000 && p->drain_bound == HF_CONF_DRAIN_KEEPS && p->drain_deadline == 7200000 && p->removed_expiry == 0);
	accepts(GOOD_SERVICE GOOD_POOL "on-down = move\n");
	assert_int_equal(conf->pools[0].on_down, 0);
}

/* A front's rows of the pool reach every service of it; the service's own line wins. Fails without the memcpy in fill_service. */
static void test_front_rows(void **state)
{
	const struct tide_conf *a, *b;

	(void)state;
	accepts(GOOD_SERVICE "swell = 5s\nlabel = x y\nmoon = full\n[service b]\nprotocol = tide\nlisten = 192.0.2.2\npool = pbx\n" GOOD_POOL "depth = 13\nloud = no\n");
	a = conf->services[0].front_conf;
	b = conf->services[1].front_conf;
	assert_true(a->swell == 5000 && a->depth == 13 && a->moon == 15 && hf_bytes_eq(a->label, HF_LIT("x y")));
	assert_true(b->swell == 2000 && b->depth == 13 && b->moon == 0 && !b->label.n);
	assert_true(has(false, 14, "depth: sailors will not like it"));
	assert_int_equal(found.n, 2); /* said once though two services have it; and the secret */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_values_refused), cmocka_unit_test(test_nearest),
		cmocka_unit_test_teardown(test_lines_refused, drop_all), cmocka_unit_test_teardown(test_defaults, drop_all), cmocka_unit_test_teardown(test_going, drop_all),
		cmocka_unit_test_teardown(test_front_rows, drop_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
