/* The commands over a gateway whose workers do not run: what each answers and does. */
#include "gate.h"

/* The members of an object, in order, as "a b c ". */
static void assert_keys(const struct hf_json *in, const char *want)
{
	char t[512];
	struct hf_writer w = hf_writer_on(t, sizeof t);
	struct hf_bytes key;
	struct hf_json v;
	size_t at = 0;

	while (hf_json_next(in, &at, &key, &v)) {
		hf_w_bytes(&w, key);
		hf_w_u8(&w, ' ');
	}
	t[w.n] = 0;
	assert_string_equal(t, want);
}

static struct hf_json item(const struct hf_json *in, const char *list, unsigned n)
{
	struct hf_json l, v = {0};
	size_t at = 0;

	assert_true(hf_json_find(in, list, &l));
	for (unsigned i = 0; i <= n; i++)
		assert_true(hf_json_next(&l, &at, NULL, &v));
	return v;
}

static unsigned length(const struct hf_json *list)
{
	struct hf_json v;
	size_t at = 0;
	unsigned n = 0;

	while (hf_json_next(list, &at, NULL, &v))
		n++;
	return n;
}

static void status_has_its_fields(void **state)
{
	struct gateway g;
	struct hf_json a, v, l;

	(void)state;
	gate_open(&g, TWO_POOLS);
	assert_true(gate_ask(&g, "status", &a));
	assert_keys(&a, "ok version boot pid uptime_s workers config_file config_generation session_log export services pools ");
	gate_assert_raw(&a, "version", HF_VERSION);
	gate_assert_raw(&a, "boot", "0000beef");
	gate_assert_raw(&a, "workers", "1");
	gate_assert_raw(&a, "config_file", gate_file);
	gate_assert_raw(&a, "config_generation", "1");
	v = item(&a, "services", 1);
	assert_keys(&v, "name protocol pool listen sessions max_sessions flows parcels requests answers drops ");
	gate_assert_raw(&v, "name", "b");
	gate_assert_raw(&v, "protocol", "tide");
	gate_assert_raw(&v, "pool", "q");
	gate_assert_raw(&v, "flows", "0");
	gate_assert_raw(&v, "drops", "{}");
	l = item(&v, "listen", 0);
	assert_true(hf_bytes_starts(l.raw, HF_LIT("udp://127.0.0.1:")));
	assert_false(hf_bytes_eq(l.raw, HF_LIT("udp://127.0.0.1:0"))); /* the real port */
	v = item(&a, "pools", 0);
	assert_keys(&v, "name affinity hash slots entries exceptions max_entries store ");
	gate_assert_raw(&v, "affinity", "auto");
	gate_assert_raw(&v, "hash", "carp");
	gate_assert_raw(&v, "slots", "65536");
	gate_close(&g);
}

static void servers_have_their_fields(void **state)
{
	struct gateway g;
	struct hf_json a, v;

	(void)state;
	gate_open(&g, TWO_POOLS);
	assert_true(gate_ask(&g, "servers", &a));
	v = item(&a, "servers", 1);
	assert_keys(&v, "pool name address transport state marks weight file_weight sessions flows connecting queued cap slots fair_slots since_s last_failure last_failure_s agent max_sessions deadline_s removed placed answers ");
	gate_assert_raw(&v, "pool", "p");
	gate_assert_raw(&v, "name", "s2");
	gate_assert_raw(&v, "address", "127.0.0.1:7002");
	gate_assert_raw(&v, "transport", "udp");
	gate_assert_raw(&v, "state", "up");
	gate_assert_raw(&v, "weight", "50");
	gate_assert_raw(&v, "fair_slots", "13107"); /* 50 of 250 of all */
	gate_assert_raw(&v, "cap", "1"); /* load-factor = 1.5 */
	gate_assert_raw(&v, "last_failure", "");
	gate_assert_raw(&v, "removed", "false");
	v = item(&a, "servers", 4);
	gate_assert_raw(&v, "name", "t1");
	gate_assert_raw(&v, "pool", "q");
	gate_close(&g);
}

/* list.c: a cap of UINT32_MAX is null. */
static void no_cap_is_null(void **state)
{
	struct gateway g;
	struct hf_json a, v;

	(void)state;
	gate_open(&g, "[service a]\nprotocol = tide\nlisten = udp://127.0.0.1:0\npool = p\n[pool p]\nload-factor = off\nprobe = none\nserver = s1 127.0.0.1:7001\n");
	assert_true(gate_ask(&g, "servers", &a));
	v = item(&a, "servers", 0);
	gate_assert_raw(&v, "cap", "null");
	gate_close(&g);
}

static void where_answers_and_changes_nothing(void **state)
{
	struct gateway g;
	struct hf_json a;
	struct hf_engine_counts n;

	(void)state;
	gate_open(&g, ONE_POOL);
	assert_true(gate_ask(&g, "where wave:x y", &a));
	assert_keys(&a, "ok pool key fingerprint slot owner server why state expires_s runner_up ");
	gate_assert_raw(&a, "key", "wave:x y");
	gate_assert_raw(&a, "why", "home");
	gate_assert_raw(&a, "state", "up");
	gate_assert_raw(&a, "expires_s", "null");
	hf_engine_counts(hf_net_engine(g.net, "p"), &n);
	assert_int_equal(n.entries, 0);
	gate_close(&g);
}

/* An entry is told with its life, and a server that drains keeps it. */
static void where_tells_of_an_entry(void **state)
{
	struct hf_question q = {.life = HF_LIFE_START, .life_s = 100, .flags = HF_COUNTED};
	struct hf_server_view v;
	struct hf_engine *e;
	struct gateway g;
	struct hf_answer an;
	struct hf_json a;
	char line[100];

	(void)state;
	gate_open(&g, ONE_POOL);
	e = hf_net_engine(g.net, "p");
	q.key.fp = hf_fingerprint(g.site.hash_key, HF_LIT("wave"), HF_LIT("x"), 80);
	hf_engine_choose(e, &q, &an, hf_clock_ms());
	assert_true(hf_engine_server(e, an.server, &v));
	snprintf(line, sizeof line, "drain %s", v.name);
	assert_true(gate_ask(&g, line, &a));
	assert_true(gate_ask(&g, "where x", &a));
	gate_assert_raw(&a, "server", v.name);
	gate_assert_raw(&a, "why", "entry");
	gate_assert_raw(&a, "state", "drain");
	assert_true(hf_json_find(&a, "expires_s", &(struct hf_json){0}));
	gate_close(&g);
}

static void where_refuses(void **state)
{
	struct gateway g;

	(void)state;
	gate_open(&g, TWO_POOLS "[service c]\nprotocol = reef\nlisten = udp://127.0.0.1:0\npool = r\n[pool r]\nprobe = none\nserver = x 127.0.0.1:7006\n");
	gate_refused(&g, "where x", "this can be a key of several pools; say --pool with one of: p, q");
	gate_refused(&g, "where wave:", "'wave:' is a kind, and its key is missing; a key is written as [KIND:]KEY"); /* q would take it for a key */
	gate_refused(&g, "where --pool pp x", "no pool 'pp'; nearest: p, q, r");
	gate_refused(&g, "where user:x", "'user:x' is no key of any pool; a key is written as [KIND:]KEY");
	gate_refused(&g, "where --pool p user:x", "'user:x' is no key of pool 'p'");
	gate_refused(&g, "where --pool r x", "'x' is no key of pool 'r'"); /* its front reads none */
	gate_close(&g);
}

/* Fails without is_typed_kind(): a front that takes any text makes every key ambiguous; and where key_find leaves a word behind. */
static void where_goes_by_the_kind(void **state)
{
	struct gateway g;
	struct hf_json a;

	(void)state;
	gate_open(&g, ONE_POOL "[service c]\nprotocol = rock\nlisten = udp://127.0.0.1:0\npool = r\n[pool r]\nprobe = none\nserver = x 127.0.0.1:7006\n");
	assert_true(gate_ask(&g, "where wave:x", &a));
	gate_assert_raw(&a, "pool", "p");
	assert_true(gate_ask(&g, "where rock:x", &a));
	gate_assert_raw(&a, "pool", "r");
	gate_refused(&g, "forget wave:x", "pool p remembers no session of 'wave:x'"); /* and not a word of the pools that the key might be of */
	assert_true(gate_ask(&g, "where reed:x", &a)); /* nobody's kind: a key of the one that takes any text */
	gate_assert_raw(&a, "key", "rock:reed:x");
	gate_refused(&g, "where rok:x", "no kind of key here: 'rok'; nearest: rock. A key that begins so is written behind its kind: rock:rok:x");
	gate_refused(&g, "where --pool r rok:x", "no kind of key here: 'rok'; nearest: rock. A key that begins so is written behind its kind: rock:rok:x");
	assert_true(gate_ask(&g, "where rock:rok:x", &a));
	gate_refused(&g, "where x", "this can be a key of several pools; say --pool with one of: p, r");
	gate_close(&g);
}

static void drain_and_weight_take_hold(void **state)
{
	struct gateway g;
	struct hf_json a;

	(void)state;
	gate_open(&g, TWO_POOLS);
	assert_true(gate_ask(&g, "drain s1", &a));
	assert_keys(&a, "ok pool server state marks weight file_weight ");
	gate_assert_raw(&a, "state", "drain");
	assert_true(gate_ask(&g, "drain p/s1", &a)); /* again is no fault */
	gate_assert_raw(&a, "state", "drain");
	assert_true(gate_ask(&g, "undrain s1", &a));
	gate_assert_raw(&a, "state", "up");
	gate_assert_raw(&a, "marks", "[]");
	assert_true(gate_ask(&g, "off s1", &a));
	gate_assert_raw(&a, "state", "off");
	assert_true(gate_ask(&g, "drain s1", &a));
	gate_assert_raw(&a, "marks", "[\"off\",\"drain\"]");
	assert_true(gate_ask(&g, "on s1", &a));
	gate_assert_raw(&a, "marks", "[\"drain\"]");
	assert_true(gate_ask(&g, "undrain s1", &a));
	gate_assert_raw(&a, "state", "up");
	assert_true(gate_ask(&g, "weight s2 0", &a));
	gate_assert_raw(&a, "state", "drain");
	gate_assert_raw(&a, "marks", "[\"drain\"]");
	gate_assert_raw(&a, "weight", "0");
	gate_assert_raw(&a, "file_weight", "50");
	assert_true(gate_ask(&g, "weight s2 256", &a));
	gate_assert_raw(&a, "state", "up");
	gate_assert_raw(&a, "weight", "256");
	assert_true(gate_ask(&g, "weight s2 file", &a));
	gate_assert_raw(&a, "weight", "50");
	assert_true(gate_ask(&g, "drain q/both", &a));
	gate_assert_raw(&a, "pool", "q");
	gate_close(&g);
}

/* Whoever takes the last server away is told; it is done all the same. Fails without warn_closed. */
static void a_closed_pool_is_told(void **state)
{
	struct hf_json a, v;
	struct gateway g;

	(void)state;
	gate_open(&g, TWO_POOLS);
	assert_true(gate_ask(&g, "drain q/both", &a));
	assert_false(hf_json_find(&a, "warning", &v));
	assert_true(gate_ask(&g, "weight t1 0", &a));
	gate_assert_raw(&a, "state", "drain");
	assert_true(hf_json_find(&a, "warning", &v));
	assert_true(gate_ask(&g, "off t1", &a));
	assert_true(hf_json_find(&a, "warning", &v));
	assert_true(gate_ask(&g, "drain s1", &a)); /* of the other pool */
	assert_false(hf_json_find(&a, "warning", &v));
	assert_true(gate_ask(&g, "undrain q/both", &a));
	assert_false(hf_json_find(&a, "warning", &v));
	gate_close(&g);
}

/* A warning is said when it is new, not at every reload. Fails without report_news. */
static void warnings_are_said_once(void **state)
{
	struct hf_json a, list, v;
	struct gateway g;
	size_t at = 0;

	(void)state;
	gate_open(&g, ONE_POOL);
	assert_true(gate_ask(&g, "reload", &a));
	assert_true(hf_json_find(&a, "findings", &list) && hf_json_next(&list, &at, NULL, &v));
	assert_true(memmem(v.raw.p, v.raw.n, "no cluster-secret-file", 22) != NULL);
	assert_true(gate_ask(&g, "reload", &a));
	gate_assert_raw(&a, "findings", "[]");
	gate_write(ONE_POOL "[pool idle]\nserver = i 127.0.0.1:7009\n");
	assert_true(gate_ask(&g, "reload", &a));
	at = 0;
	assert_true(hf_json_find(&a, "findings", &list) && hf_json_next(&list, &at, NULL, &v));
	assert_true(memmem(v.raw.p, v.raw.n, "no service uses it", 18) != NULL && !hf_json_next(&list, &at, NULL, &v));
	gate_close(&g);
}

static void names_must_be_known_and_plain(void **state)
{
	struct gateway g;

	(void)state;
	gate_open(&g, TWO_POOLS);
	gate_refused(&g, "drain both", "'both' stands in several pools; say one of: p/both, q/both");
	gate_refused(&g, "undrain both", "'both' stands in several pools; say one of: p/both, q/both");
	gate_refused(&g, "weight both 5", "'both' stands in several pools; say one of: p/both, q/both");
	gate_refused(&g, "drain s3", "no server 's3'; nearest: s1, s2, t1");
	gate_refused(&g, "drain q/s1", "no server 's1'; nearest: t1, both");
	gate_refused(&g, "drain z/s1", "no pool 'z'; nearest: p, q");
	gate_refused(&g, "weight s1 257", "a weight is a number from 0 to 256, or the word file; got '257' (usage: weight [POOL/]SERVER 0..256|file)");
	gate_close(&g);
}

/* A refused reload changes nothing and says every line; a good one counts. */
static void reload_is_whole_or_nothing(void **state)
{
	static const char gone[] = "[service a]\nprotocol = tide\nlisten = udp://127.0.0.1:0\npool = p\n[pool p]\nload-factor = 1.5\nprobe = none\nserver = s1 127.0.0.1:7001\n";
	struct gateway g;
	struct hf_json a, v;

	(void)state;
	gate_open(&g, ONE_POOL);
	gate_write(ONE_POOL "server = s4 127.0.0.1:7009\nsirver = s5 127.0.0.1:7009\nload-factor = 77\n");
	assert_false(gate_ask(&g, "reload", &a));
	gate_assert_raw(&a, "error", "the configuration was refused; nothing has changed");
	v = item(&a, "findings", 1);
	assert_true(hf_bytes_starts(v.raw, hf_bytes_str(gate_file)));
	assert_int_equal(hf_net_generation(g.net), 1);
	assert_int_equal(hf_engine_find(hf_net_engine(g.net, "p"), HF_LIT("s4")), HF_NO_SERVER);
	gate_write(gone);
	assert_true(gate_ask(&g, "reload", &a));
	gate_assert_raw(&a, "config_generation", "2");
	gate_refused(&g, "drain s2", "'s2' was taken out of the file; until its last session has ended only off can be said of it");
	gate_close(&g);
}

static void assert_step(const struct hf_json *story, unsigned n, const char *step, const char *verdict, const char *text)
{
	struct hf_json v = item(story, "steps", n);

	gate_assert_raw(&v, "step", step);
	if (verdict)
		gate_assert_raw(&v, "verdict", verdict);
	gate_assert_raw(&v, "text", text);
}

/* A key: the rules in order, with what each server had; entries and loads stay. Without tell_trace in of_key there is one step. */
static void explains_a_key(void **state)
{
	struct gateway g;
	struct hf_json a, story;

	(void)state;
	gate_open(&g, ONE_POOL);
	assert_true(gate_ask(&g, "explain wave:1", &a));
	story = item(&a, "stories", 0);
	assert_keys(&story, "pool steps server why ");
	gate_assert_raw(&story, "why", "home");
	assert_step(&story, 1, "entry", "missing", "there is no entry of this key");
	assert_true(gate_ask(&g, "drain s1", &a));
	assert_true(gate_ask(&g, "drain both", &a));
	assert_true(gate_ask(&g, "explain --pool p wave:3", &a));
	story = item(&a, "stories", 0);
	gate_assert_raw(&story, "server", "s2");
	gate_close(&g);
}

/* A message: the front's own step runs on it; nothing is made of it. Without the table `looks` in src/net/deliver.c it would be sent, by a worker
 * that is not there; without `look.life` in hf_engine_explain there is an entry. */
static void explains_a_message(void **state)
{
	struct gateway g;
	struct hf_json a, story, v;
	struct hf_engine_counts before, after;

	(void)state;
	gate_open(&g, TWO_POOLS);
	hf_engine_counts(hf_net_engine(g.net, "p"), &before);
	assert_true(gate_ask(&g, "explain --service a --message 776176653a31", &a)); /* wave:1 */
	story = item(&a, "stories", 0);
	assert_keys(&story, "service protocol pool from transport listen steps server why ");
	gate_assert_raw(&story, "service", "a");
	gate_assert_raw(&story, "from", "192.0.2.1:40000");
	gate_assert_raw(&story, "transport", "udp");
	v = item(&story, "steps", 0);
	gate_assert_raw(&v, "step", "key");
	gate_assert_raw(&v, "key", "wave:1");
	assert_step(&story, 1, "entry", "missing", "there is no entry of this key");
	v = item(&story, "steps", 2);
	gate_assert_raw(&v, "step", "owner");
	gate_assert_raw(&v, "verdict", "taken");
	v = item(&story, "steps", 3);
	gate_assert_raw(&v, "step", "memory");
	gate_assert_raw(&v, "life", "start");
	v = item(&story, "steps", 4);
	gate_assert_raw(&v, "step", "send");
	hf_engine_counts(hf_net_engine(g.net, "p"), &after);
	assert_memory_equal(&before, &after, sizeof before);
	assert_true(gate_ask(&g, "status", &a));
	v = item(&a, "services", 0);
	gate_assert_raw(&v, "parcels", "0");
	gate_assert_raw(&v, "drops", "{}");
	assert_true(gate_ask(&g, "explain --from [2001:db8::7]:9 --message 776176653a31", &a)); /* both services would take it */
	v = item(&a, "stories", 1);
	gate_assert_raw(&v, "service", "b");
	gate_assert_raw(&v, "from", "[2001:db8::7]:9");
	assert_true(gate_ask(&g, "explain --message ff", &a)); /* neither would: both say why */
	v = item(&a, "stories", 1);
	assert_step(&v, 0, "drop", NULL, "it ends here: no eligible server (no-server)");
	gate_refused(&g, "explain --message f", "a message is written as hex digits, two an octet, at most 65536 octets");
	gate_refused(&g, "explain --message fg", "a message is written as hex digits, two an octet, at most 65536 octets");
	gate_refused(&g, "explain --service x --message ff", "no service of that name, pool and transport; holdfastctl status lists them");
	gate_refused(&g, "explain --via tcp --message ff", "no service of that name, pool and transport; holdfastctl status lists them");
	gate_refused(&g, "explain --from x --message ff", "--from wants an address such as 192.0.2.7 or 192.0.2.7:9; got 'x'");
	gate_refused(&g, "explain --via x --message ff", "--via wants udp, tcp, tls, ws or wss; got 'x'");
	gate_close(&g);
}

/* No room to remember it: the reason stands where "remembered" would, for a message and for a key. Without is_kept in explain.c both stand there. */
static void explains_a_full_table(void **state)
{
	struct gateway g;
	struct hf_json a, story, v, list;
	struct hf_lesson l = {.server = 1, .life = HF_LIFE_START, .life_s = 600, .flags = HF_COUNTED};

	(void)state;
	gate_open(&g, ONE_POOL "max-entries = 1\n");
	l.key.fp = hf_fingerprint(g.site.hash_key, HF_LIT("wave"), HF_LIT("other"), 80);
	assert_int_equal(hf_engine_learn(hf_net_engine(g.net, "p"), &l, hf_clock_ms()), HF_OK);
	assert_true(gate_ask(&g, "explain --message 776176653a31", &a));
	story = item(&a, "stories", 0);
	assert_true(hf_json_find(&story, "steps", &list));
	assert_int_equal(length(&list), 5); /* key, entry, owner, this, send */
	v = item(&story, "steps", 3);
	gate_assert_raw(&v, "step", "fact");
	gate_assert_raw(&v, "reason", "entries-full");
	gate_assert_raw(&v, "text", "counted: as many sessions are remembered as may be: it went by the hash alone (entries-full)");
	assert_true(gate_ask(&g, "explain wave:1", &a));
	story = item(&a, "stories", 0);
	v = item(&story, "steps", 3);
	gate_assert_raw(&v, "reason", "entries-full");
	gate_close(&g);
}

#define A_TABLE \
	"[service a]\nprotocol = tide\nlisten = udp://127.0.0.1:0\npool = farm\n" \
	"[pool farm]\naffinity = table\nload-factor = off\nprobe = none\nserver = h1 127.0.0.1:7001\nserver = h2 127.0.0.1:7002\n"

static void open_session_at(struct gateway *g, const char *key, const char *server, enum hf_life life, unsigned flags, enum hf_why why, uint64_t now_ms)
{
	struct hf_engine *e = hf_net_engine(g->net, "farm");
	struct hf_lesson l = {.key = {hf_fingerprint_text(g->site.hash_key, hf_bytes_str(key)), hf_bytes_str(key)}, .server = hf_engine_find(e, hf_bytes_str(server)),
		.life = life, .life_s = 600, .flags = flags, .why = why};

	assert_int_equal(hf_engine_learn(e, &l, now_ms), HF_OK);
}

static void open_session(struct gateway *g, const char *key, const char *server, enum hf_life life, unsigned flags)
{
	open_session_at(g, key, server, life, flags, HF_WHY_HOME, hf_clock_ms());
}

/* A long table is listed while sessions come: one that began after the listing did is not of before the clock. Without the test for less than 0 in
 * seconds_since it began 2^64 milliseconds ago. */
static void a_session_of_this_moment_is_listed(void **state)
{
	struct hf_json a, pool, v;
	struct gateway g;

	(void)state;
	gate_open(&g, A_TABLE);
	open_session_at(&g, "wave:alice", "h1", HF_LIFE_OPEN, HF_COUNTED | HF_BOND, HF_WHY_HOME, hf_clock_ms() + 60000);
	assert_true(gate_ask(&g, "sessions", &a));
	pool = item(&a, "pools", 0);
	v = item(&pool, "sessions", 0);
	gate_assert_raw(&v, "since_s", "0");
	gate_assert_raw(&v, "seen_s", "0");
	gate_close(&g);
}

/* Who is connected, who lingers, where; and what an operator does to one. Without `.move = true` in move_to she stays at h1; without HF_LIFE_END
 * in drop he is still there. */
static void sessions_are_listed_moved_and_forgotten(void **state)
{
	struct gateway g;
	struct hf_json a, pool, v;

	(void)state;
	gate_open(&g, A_TABLE);
	open_session(&g, "wave:alice", "h1", HF_LIFE_OPEN, HF_COUNTED | HF_BOND);
	open_session(&g, "wave:bob", "h2", HF_LIFE_START, HF_COUNTED | HF_BOND | HF_TENTATIVE);
	assert_true(gate_ask(&g, "sessions", &a));
	pool = item(&a, "pools", 0);
	assert_keys(&pool, "name sessions matching counted connected ");
	gate_assert_raw(&pool, "matching", "2");
	gate_assert_raw(&pool, "connected", "1");
	assert_true(gate_ask(&g, "sessions --server h1", &a));
	pool = item(&a, "pools", 0);
	assert_keys(&pool, "name sessions matching counted connected server state deadline_s ");
	gate_assert_raw(&pool, "server", "h1");
	gate_assert_raw(&pool, "deadline_s", "null");
	gate_assert_raw(&pool, "matching", "1");
	v = item(&pool, "sessions", 0);
	assert_keys(&v, "key fingerprint server state tentative counted expires_s flows since_s seen_s why ");
	gate_assert_raw(&v, "key", "wave:alice");
	gate_assert_raw(&v, "state", "connected");
	gate_assert_raw(&v, "flows", "1");
	gate_assert_raw(&v, "why", "home");
	assert_true(gate_ask(&g, "sessions --limit 1 --pool farm", &a));
	pool = item(&a, "pools", 0);
	gate_assert_raw(&pool, "matching", "2");
	assert_true(hf_json_find(&pool, "sessions", &v));
	assert_int_equal(length(&v), 1);
	assert_true(gate_ask(&g, "move wave:alice h2", &a));
	gate_assert_raw(&a, "from", "h1");
	gate_assert_raw(&a, "server", "h2");
	gate_assert_raw(&a, "flows", "1");
	assert_true(gate_ask(&g, "where wave:alice", &a));
	gate_assert_raw(&a, "server", "h2");
	assert_true(gate_ask(&g, "forget wave:bob", &a));
	gate_assert_raw(&a, "from", "h2");
	gate_refused(&g, "forget wave:bob", "pool farm remembers no session of 'wave:bob'");
	gate_refused(&g, "move wave:bob h1", "pool farm remembers no session of 'wave:bob'");
	gate_refused(&g, "move wave:alice h3", "no server 'h3'; nearest: h1, h2");
	assert_true(gate_ask(&g, "off h1", &a));
	gate_refused(&g, "move wave:alice h1", "server h1 is off: nothing can be moved there");
	assert_true(gate_ask(&g, "on h1", &a));
	gate_refused(&g, "sessions --pool x", "no pool 'x'; nearest: farm");
	assert_true(gate_ask(&g, "forget wave:alice", &a));
	gate_close(&g);
}

/* A session has as many entries as names, and is one; it is connected also where a name that its bond does not know has the connection. `matching` says how
 * many rows there are. Fails without the count in each(), and, at `connected`, without either half of is_connected, or HF_BOND in is_live. */
static void second_names_are_no_sessions(void **state)
{
	static const char *const want[][3] = {{"4", "3", "2"}, {"5", "3", "3"}}; /* matching, counted, connected */
	struct gateway g;
	struct hf_json a, pool;

	(void)state;
	gate_open(&g, A_TABLE);
	open_session(&g, "wave:alice", "h1", HF_LIFE_OPEN, HF_COUNTED | HF_BOND);
	open_session_at(&g, "wave:al", "h1", HF_LIFE_OPEN, HF_BOND, HF_WHY_BOND, hf_clock_ms());
	open_session(&g, "wave:bob", "h2", HF_LIFE_START, HF_COUNTED | HF_BOND);
	open_session(&g, "wave:call", "h2", HF_LIFE_START, HF_COUNTED); /* no bond: it is live as long as it counts */
	for (unsigned i = 0; i < 2; i++) {
		assert_true(gate_ask(&g, "sessions", &a));
		pool = item(&a, "pools", 0);
		gate_assert_raw(&pool, "matching", want[i][0]);
		gate_assert_raw(&pool, "counted", want[i][1]);
		gate_assert_raw(&pool, "connected", want[i][2]);
		open_session_at(&g, "wave:handle of bob's", "h2", HF_LIFE_OPEN, HF_BOND, HF_WHY_DIALOG, hf_clock_ms());
	}
	gate_close(&g);
}

/* A server that the file has no more, but `servers` still lists, is told from a name that nobody knows. Fails without is_removed in target.c. */
static void a_removed_server_can_only_end(void **state)
{
	struct gateway g;
	struct hf_json a;

	(void)state;
	gate_open(&g, A_TABLE);
	open_session(&g, "wave:alice", "h1", HF_LIFE_OPEN, HF_COUNTED | HF_BOND);
	gate_write("[service a]\nprotocol = tide\nlisten = udp://127.0.0.1:0\npool = farm\n"
		   "[pool farm]\naffinity = table\nload-factor = off\nprobe = none\nserver = h2 127.0.0.1:7002\n");
	assert_true(gate_ask(&g, "reload", &a));
	gate_refused(&g, "undrain h1", "'h1' was taken out of the file; until its last session has ended only off can be said of it");
	gate_refused(&g, "drain farm/h1", "'h1' was taken out of the file; until its last session has ended only off can be said of it");
	gate_refused(&g, "drain h3", "no server 'h3'; nearest: h2");
	assert_true(gate_ask(&g, "off h1", &a));
	gate_close(&g);
}

/* Why a port cannot be had, and what to do about it. 192.0.2.1 is nobody's (RFC 5737). Fails without `advice` in src/net/listeners.c. */
static void a_listener_that_cannot_be_had(void **state)
{
	struct gateway g;
	struct hf_json a, v;

	(void)state;
	gate_open(&g, ONE_POOL);
	gate_write("[service a]\nprotocol = tide\nlisten = udp://192.0.2.1:7000\npool = p\n[pool p]\nload-factor = 1.5\nprobe = none\nserver = s1 127.0.0.1:7001\n");
	assert_false(gate_ask(&g, "reload", &a));
	v = item(&a, "findings", 1);
	assert_non_null(memmem(v.raw.p, v.raw.n, "service a, line 6: cannot listen on udp://192.0.2.1:7000: ", 58));
	assert_non_null(memmem(v.raw.p, v.raw.n, "; this machine has no such address: `ip address` lists them", 59));
	gate_close(&g);
}

/* What a change would do, with the entries that live now; nothing is done. Without the twin (its own engine changed) the pool has h3 afterwards. */
static void simulates_a_change(void **state)
{
	struct gateway g;
	struct hf_json a, v;
	char key[32];

	(void)state;
	gate_open(&g, A_TABLE);
	for (unsigned i = 0; i < 200; i++) {
		snprintf(key, sizeof key, "wave:%u", i);
		open_session(&g, key, i % 2 ? "h1" : "h2", HF_LIFE_OPEN, HF_COUNTED | HF_BOND);
	}
	assert_true(gate_ask(&g, "simulate add h3 weight=100", &a));
	assert_keys(&a, "ok pool change server slots slots_moved slots_astray entries entries_moved exceptions_before exceptions_after arrivals spilled servers ");
	gate_assert_raw(&a, "entries", "200");
	gate_assert_raw(&a, "entries_moved", "0");
	gate_assert_raw(&a, "slots_astray", "0");
	gate_assert_raw(&a, "arrivals", "2000"); /* a thousand a server; more where more are live, so that all are new in the end */
	v = item(&a, "servers", 2);
	assert_keys(&v, "name state removed weight slots_before slots_after fair_slots sessions_before sessions_after ");
	gate_assert_raw(&v, "name", "h3");
	gate_assert_raw(&v, "slots_before", "0");
	gate_assert_raw(&v, "fair_slots", "21845"); /* of the pool as it would be */
	gate_assert_raw(&v, "sessions_before", "0");
	assert_true(gate_ask(&g, "servers", &a));
	assert_true(hf_json_find(&a, "servers", &v));
	assert_int_equal(length(&v), 2);
	assert_true(gate_ask(&g, "simulate drain h1", &a));
	v = item(&a, "servers", 0);
	gate_assert_raw(&v, "slots_after", "0");
	gate_assert_raw(&v, "fair_slots", "null");
	gate_assert_raw(&v, "removed", "false");
	gate_assert_raw(&v, "state", "drain");
	assert_true(gate_ask(&g, "simulate remove h1", &a));
	v = item(&a, "servers", 0);
	gate_assert_raw(&v, "removed", "true");
	for (unsigned i = 200; i < 2001; i++) {
		snprintf(key, sizeof key, "wave:%u", i);
		open_session(&g, key, i % 2 ? "h1" : "h2", HF_LIFE_OPEN, HF_COUNTED | HF_BOND);
	}
	assert_true(gate_ask(&g, "simulate drain h1", &a));
	gate_assert_raw(&a, "arrivals", "2001");
	gate_refused(&g, "simulate add h1", "pool farm has a server h1 already");
	gate_refused(&g, "simulate add h123456789012345678901234567890123456789012345678901234567890123", "a server's name has 1 to 63 octets");
	gate_refused(&g, "simulate remove h9", "no server 'h9'; nearest: h1, h2");
	for (unsigned i = 0; i < 2001; i++) {
		snprintf(key, sizeof key, "forget wave:%u", i);
		assert_true(gate_ask(&g, key, &a));
	}
	gate_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_has_its_fields), cmocka_unit_test(servers_have_their_fields), cmocka_unit_test(no_cap_is_null),
		cmocka_unit_test(where_answers_and_changes_nothing), cmocka_unit_test(where_tells_of_an_entry), cmocka_unit_test(where_refuses), cmocka_unit_test(where_goes_by_the_kind),
		cmocka_unit_test(drain_and_weight_take_hold), cmocka_unit_test(a_closed_pool_is_told), cmocka_unit_test(a_session_of_this_moment_is_listed), cmocka_unit_test(warnings_are_said_once), cmocka_unit_test(names_must_be_known_and_plain), cmocka_unit_test(reload_is_whole_or_nothing),
		cmocka_unit_test(a_removed_server_can_only_end), cmocka_unit_test(a_listener_that_cannot_be_had),
		cmocka_unit_test(explains_a_key), cmocka_unit_test(explains_a_message), cmocka_unit_test(explains_a_full_table), cmocka_unit_test(sessions_are_listed_moved_and_forgotten), cmocka_unit_test(second_names_are_no_sessions),
		cmocka_unit_test(simulates_a_change),
	};

	return cmocka_run_group_tests(tests, gate_dir_up, gate_dir_down);
}
