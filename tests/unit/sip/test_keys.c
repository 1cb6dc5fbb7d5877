/* `key`: what the words of the option mean, what each kind takes out of a literal message, and what an operator types for it. */
#include "front_kit.h"

static struct kit k;
static int setup(void **state) { (void)state; kit_init(&k); return 0; }
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define PHONE "192.0.2.51:5060"

static uint64_t fp(const char *label, const char *octets) { return hf_fingerprint(k.site.hash_key, hf_bytes_str(label), hf_bytes_str(octets), k.conf.key_length); }

static const struct hf_ask *ask(const char *from, struct kit_request r)
{
	kit_feed(&k, from, kit_request(r));
	assert_int_equal(k.n_asked, 1);
	return &k.ask;
}

/* ---- the words ---- */

static enum hf_err reads(const char *text, char said[512])
{
	struct sip_keys keys;
	struct hf_writer why = hf_writer_on(said, 511);
	enum hf_err e = sip_keys_read(hf_bytes_str(text), &keys, &why);

	said[why.n] = 0;
	return e;
}

/* What cannot be is refused, with the nearest name or the range; fails without the row of `want` that says it. */
static void words(void **state)
{
	static const char *const good[] = {"call-id", "user  call-id", "\tUser domain ", "header:X-Tenant", "header:s uri-param:tenant source/24/64 call-id", "source/1",
		"source/32", "source/33", "source/128", "source/8/8", "token:0:1", "token:4095:4096", "source-port destination source-destination",
		"call-id user domain from-user to-user request-uri source source-port"};
	static const struct { const char *text, *said; } bad[] = {
		{"", "at least one key"}, {"callid", "nearest: call-id"}, {"form-user", "nearest: from-user"}, {"call-id:3", "nothing stands behind"},
		{"user/24", "nothing stands behind"}, {"destination/24", "nothing stands behind"}, {"header", "header:X-Tenant"}, {"header:", "1 to 64"},
		{"header:X Y", "no such key"}, {"header:a;b", "token characters"}, {"header/x", "token characters"}, {"uri-param:", "uri-param:tenant"},
		{"header:a234567890123456789012345678901234567890123456789012345678901234x", "1 to 64"}, {"source/0", "/1 to /32"}, {"source/129", "/33 to /128"},
		{"source/33/64", "IPv4 first"}, {"source/24/0", "IPv4 first"}, {"source/24/64/1", "IPv4 first"}, {"source:24", "/1 to /32"}, {"source/", "/1 to /32"},
		{"token", "OFFSET:LENGTH"}, {"token:0", "OFFSET:LENGTH"}, {"token:0:0", "1 to 4096"}, {"token:4096:1", "0 to 4095"}, {"token:0:4097", "1 to 4096"},
		{"token:-1:8", "0 to 4095"}, {"token:0:8:", "OFFSET:LENGTH"}, {"user call-id source domain user user user user user", "more than 8"},
	};
	char said[512];

	(void)state;
	for (unsigned i = 0; i < sizeof good / sizeof *good; i++)
		if (reads(good[i], said) != HF_OK)
			fail_msg("%s: %s", good[i], said);
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		if (reads(bad[i].text, said) == HF_OK || !strstr(said, bad[i].said))
			fail_msg("%s: says: %s", bad[i].text, said);
}

static unsigned warned;
static void warn(void *arg, bool error, const char *option, const char *text) { (void)arg, (void)option, (void)text; assert_false(error); warned++; }

static void warnings(void **state)
{
	static const struct { const char *key; unsigned n; } rows[] = {{"call-id", 0}, {"user call-id", 0}, {"call-id user", 1}, {"source", 1}, {"user source", 0}, {"source call-id user", 2}, {"destination", 1}, {"source-destination", 1},
		{"user destination", 0}};
	static const struct hf_says says = {warn, NULL};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		warned = 0;
		kit_custom(&k, "key", rows[i].key);
		assert_int_equal(hf_sip_front.check(&k.conf, &says), HF_OK);
		assert_int_equal(warned, rows[i].n);
	}
}

/* ---- what each kind takes ---- */

struct row { const char *key; struct kit_request r; const char *label, *octets; /* label NULL: it is absent */ };

static void look_at(const struct row *row)
{
	kit_custom(&k, "key", row->key);
	ask(PHONE, row->r);
	if (row->label && (k.ask.place != fp(row->label, row->octets) || k.ask.unplaced))
		fail_msg("%s: the key is not %s:%s", row->key, row->label, row->octets);
	if (!row->label && (k.ask.place || !k.ask.unplaced || !k.ask.spread))
		fail_msg("%s: there is a key", row->key);
}

#define INVITE(u) {.method = "INVITE", .uri = u}
#define WITH(lines) {.method = "INVITE", .extra = lines}
#define REGISTER(u) {.method = "REGISTER", .uri = u}

/* Each kind: as it stands, in its other spellings, and absent. Every row fails without its line of octets_of. */
static void kinds(void **state)
{
	static const struct row rows[] = {
		{"domain", INVITE("sip:bob@Example.COM:5080"), "domain", "example.com"},
		{"domain", INVITE("sip:[2001:DB8::1]"), "domain", "[2001:db8::1]"},
		{"domain", REGISTER("sip:192.0.2.1"), "domain", "example.com"}, /* of To */
		{"domain", INVITE("tel:+15551234"), NULL, NULL},
		{"from-user", INVITE(NULL), "from-user", "alice"},
		{"to-user", INVITE(NULL), "to-user", "bob"},
		{"request-uri", INVITE("sip:%62ob:pw@Example.COM:5060;transport=udp"), "request-uri", "bob@example.com"},
		{"request-uri", INVITE("sip:b@h:5070"), "request-uri", "b@h:5070"},
		{"header:X-Tenant", WITH("x-tenant:  Acme" CRLF), "header:x-tenant", "Acme"},
		{"header:X-Tenant", WITH("X-TENANT: one" CRLF "X-Tenant: two" CRLF), "header:x-tenant", "one"},
		{"header:X-Tenant", WITH("X-Tenant: a" CRLF " b" CRLF), "header:x-tenant", "a b"},
		{"header:X-Tenant", WITH("X-Tenant: " CRLF), NULL, NULL},
		{"header:X-Tenant", WITH("X-Tenants: a" CRLF), NULL, NULL},
		{"header:Subject", WITH("s: lunch" CRLF), "header:subject", "lunch"},
		{"header:s", WITH("Subject: lunch" CRLF), "header:subject", "lunch"},
		{"header:P-Charging-Vector", INVITE(NULL), NULL, NULL},
		{"uri-param:tenant", INVITE("sip:bob@example.com;lr;Tenant=A%63me"), "uri-param:tenant", "acme"},
		{"uri-param:tenant", INVITE("sip:bob@example.com;tenant"), NULL, NULL},
		{"uri-param:tenant", INVITE("sip:bob@example.com"), NULL, NULL},
		{"source", INVITE(NULL), "source", "192.0.2.51"},
		{"source/24", INVITE(NULL), "source", "192.0.2.0/24"},
		{"source/31/64", INVITE(NULL), "source", "192.0.2.50/31"},
		{"source/64", INVITE(NULL), "source", "192.0.2.51"}, /* says nothing of IPv4 */
		{"source-port", INVITE(NULL), "source-port", "192.0.2.51:5060"},
		{"destination", INVITE(NULL), "destination", "192.0.2.1"},
		{"source-destination", INVITE(NULL), "source-destination", "192.0.2.1-192.0.2.51"},
		{"token:0:4", {.method = "INVITE", .call_id = "0123456789"}, "token", "0123"},
		{"token:8:4", {.method = "INVITE", .call_id = "0123456789"}, "token", "89"},
		{"token:10:4", {.method = "INVITE", .call_id = "0123456789"}, NULL, NULL},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		look_at(&rows[i]);
}

/* IPv6 prefixes, and one key for both ends of a pair of addresses, whoever speaks; not symmetric without the swap. */
static void addresses(void **state)
{
	static const struct { const char *key, *from, *local, *label, *octets; } rows[] = {
		{"source", "[2001:db8:1:2:3::51]:5060", "[2001:db8::1]:5060", "source", "2001:db8:1:2:3::51"},
		{"source/64", "[2001:db8:1:2:3::51]:5060", "[2001:db8::1]:5060", "source", "2001:db8:1:2::/64"},
		{"source/24/47", "[2001:db8:1:2:3::51]:5060", "[2001:db8::1]:5060", "source", "2001:db8::/47"},
		{"source/24", "[2001:db8::51]:5060", "[2001:db8::1]:5060", "source", "2001:db8::51"}, /* says nothing of IPv6 */
		{"source/24", "[::ffff:192.0.2.51]:5060", "[::ffff:192.0.2.1]:5060", "source", "192.0.2.0/24"},
		{"source-port", "[2001:db8::51]:5062", "[2001:db8::1]:5060", "source-port", "[2001:db8::51]:5062"},
		{"destination", "192.0.2.51:5060", "192.0.2.9:5060", "destination", "192.0.2.9"},
		{"source-destination", "192.0.2.51:5060", "192.0.2.9:5062", "source-destination", "192.0.2.9-192.0.2.51"},
		{"source-destination", "192.0.2.9:5060", "192.0.2.51:5062", "source-destination", "192.0.2.9-192.0.2.51"},
		{"source-destination", "[2001:db8::51]:5060", "[2001:db8::1]:5060", "source-destination", "2001:db8::1-2001:db8::51"},
		{"source-destination", "[2001:db8::1]:5060", "[2001:db8::51]:5060", "source-destination", "2001:db8::1-2001:db8::51"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hf_event ev = {.kind = HF_EV_BYTES, .bytes = hf_bytes_str(kit_request((struct kit_request){.method = "INVITE"})), .listener = k.at,
				      .source = kit_addr(rows[i].from), .local = kit_addr(rows[i].local)};

		kit_custom(&k, "key", rows[i].key);
		kit_run(&k, &ev);
		assert_int_equal(k.n_asked, 1);
		if (k.ask.place != fp(rows[i].label, rows[i].octets))
			fail_msg("row %u: the key is not %s:%s", i, rows[i].label, rows[i].octets);
	}
}

/* The next of the chain where a key is absent, and the session's own key where that is call-id. */
static void chains(void **state)
{
	static const struct row rows[] = {
		{"header:X-Tenant uri-param:t from-user", WITH("X-Tenant: acme" CRLF), "header:x-tenant", "acme"},
		{"header:X-Tenant uri-param:t from-user", INVITE("sip:b@h;t=x"), "uri-param:t", "x"},
		{"header:X-Tenant uri-param:t from-user", INVITE(NULL), "from-user", "alice"},
		{"header:X-Tenant uri-param:t", INVITE(NULL), NULL, NULL},
		{"token:40:4 domain", INVITE(NULL), "domain", "example.com"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		look_at(&rows[i]);
	kit_custom(&k, "key", "header:X-Tenant call-id source");
	ask(PHONE, (struct kit_request)INVITE(NULL));
	assert_true(k.ask.place == 0 && !k.ask.unplaced);
}

/* key-length cuts every kind, and only what places: the dialog stays its whole Call-ID. Without place_of's cap the two differ. */
static void lengths(void **state)
{
	uint64_t place, key;

	(void)state;
	k.conf.key_length = 3;
	kit_custom(&k, "key", "header:X-Tenant call-id");
	place = ask(PHONE, (struct kit_request)WITH("X-Tenant: abcd" CRLF))->place;
	assert_int_equal(place, hf_fingerprint(k.site.hash_key, HF_LIT("header:x-tenant"), HF_LIT("abc"), 3));
	assert_int_equal(ask(PHONE, (struct kit_request)WITH("X-Tenant: abce" CRLF))->place, place);
	assert_int_not_equal(ask(PHONE, (struct kit_request)WITH("X-Tenant: abX" CRLF))->place, place);
	place = ask(PHONE, (struct kit_request){.method = "INVITE", .call_id = "abcd"})->place;
	key = k.ask.key.fp;
	assert_int_equal(place, hf_fingerprint(k.site.hash_key, HF_LIT("call-id"), HF_LIT("abc"), 3));
	assert_int_equal(ask(PHONE, (struct kit_request){.method = "INVITE", .call_id = "abce"})->place, place);
	assert_int_not_equal(k.ask.key.fp, key);
}

/* The default looks at no header and no address: its work is that of the Call-ID alone, one allocation. */
static void the_default_is_cheap(void **state)
{
	size_t used;

	(void)state;
	ask(PHONE, (struct kit_request)WITH("X-Tenant: a" CRLF));
	used = k.arena.n;
	assert_true(k.ask.place == 0 && k.ask.place_else == 0 && !k.ask.unplaced && !k.ask.renews);
	kit_custom(&k, "key", "header:X-Tenant");
	ask(PHONE, (struct kit_request)WITH("X-Tenant: a" CRLF));
	assert_int_equal(k.arena.n, used); /* nor does a header that is not folded cost memory */
}

/* ---- users ---- */

/* REGISTER and PUBLISH by To; all else by whoever has a bond: the user called before the one who calls. */
static void users(void **state)
{
	const struct hf_ask *q;

	(void)state;
	kit_custom(&k, "key", "user source");
	q = ask(PHONE, (struct kit_request){.method = "REGISTER", .uri = "sip:example.com"});
	assert_true(q->place == fp("user", "bob") && !q->place_else && q->renews && q->key.fp == fp("register", "c1 1"));
	q = ask(PHONE, (struct kit_request){.method = "REGISTER", .uri = "sip:example.com", .cseq = "0002"});
	assert_true(q->key.fp == fp("register", "c1 2")); /* each for itself: the bond leads the next one */
	q = ask(PHONE, (struct kit_request){.method = "PUBLISH", .uri = "sip:example.com"});
	assert_true(q->key.fp == fp("call-id", "c1") && q->place == fp("user", "bob") && !q->place_else && !q->renews);
	q = ask(PHONE, (struct kit_request){.method = "INVITE", .uri = "sip:%62ob:pw@other.example.com;user=phone"});
	assert_true(q->place == fp("user", "bob") && q->place_else == fp("user", "alice") && !q->renews);
	q = ask(PHONE, (struct kit_request){.method = "INVITE", .uri = "tel:+1-555-(12)34"});
	assert_true(q->place == fp("user", "+15551234") && q->place_else == fp("user", "alice"));
	q = ask(PHONE, (struct kit_request){.method = "OPTIONS", .uri = "sip:example.com"});
	assert_true(q->place == fp("user", "alice") && !q->place_else);
	q = ask(PHONE, (struct kit_request){.method = "INVITE", .uri = "sip:Bob@example.com"}); /* users are told apart by case (RFC 3261 19.1.4) */
	assert_true(q->place == fp("user", "Bob"));
	k.conf.tenant = SIP_TENANT_DOMAIN;
	q = ask(PHONE, (struct kit_request){.method = "INVITE", .uri = "sip:bob@Other.example.com:5070"});
	assert_true(q->place == fp("user", "bob@other.example.com") && q->place_else == fp("user", "alice@example.com"));
}

/* A request without any user: the next of the chain. */
static void no_user(void **state)
{
	static const char text[] = "OPTIONS sip:example.com SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bK1" CRLF "Max-Forwards: 70" CRLF "From: <sip:a.example.com>;tag=1" CRLF
				   "To: <sip:example.com>" CRLF "Call-ID: c1" CRLF "CSeq: 1 OPTIONS" CRLF "Content-Length: 0" CRLF CRLF;
	static const char nobodys[] = "REGISTER sip:example.com SIP/2.0" CRLF "Via: SIP/2.0/UDP 192.0.2.51;branch=z9hG4bK2" CRLF "Max-Forwards: 70" CRLF "From: <sip:a.example.com>;tag=1" CRLF
				      "To: <sip:example.com>" CRLF "Call-ID: c1" CRLF "CSeq: 1 REGISTER" CRLF "Content-Length: 0" CRLF CRLF;

	(void)state;
	kit_custom(&k, "key", "user source");
	kit_feed(&k, PHONE, text);
	assert_int_equal(k.ask.place, fp("source", "192.0.2.51"));
	kit_custom(&k, "key", "user");
	kit_feed(&k, PHONE, text);
	assert_true(k.ask.unplaced && !k.ask.renews);
	kit_feed(&k, PHONE, nobodys);
	assert_true(k.ask.unplaced && k.ask.key.fp == fp("call-id", "c1")); /* nobody's bond would lead the next one */
}

/* ---- what an operator types ---- */

/* What looks like a kind and is none here is not taken for a part of the key; behind its kind every octet is. */
static void slips(void)
{
	static const struct { const char *key, *text, *meant; } rows[] = {
		{"user call-id", "usr:alice", "user"}, {"user call-id", "cal-id:a", "call-id"}, {"user", "Call_ID:a", "call-id"}, {"source", "sorce:192.0.2.51", "source"},
		{"call-id", "user:alice", "call-id"}, {"call-id header:Subject", "header:Subjct:Acme", "header:subject"}, {"call-id header:Subject", "heder:Subject:Acme", "header:subject"},
		{"token:0:8 call-id", "token:ab:c", NULL}, {"user", "user:usr:alice", NULL}, {"user", "sip:alice@h", NULL}, {"user", "alice", NULL}, {"call-id", "us:1", NULL},
		{"call-id", "a:b", NULL}, {"call-id", ":", NULL}, {"call-id", "call-id:user:alice", NULL},
	};
	struct hf_key key;

	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		enum hf_err e;

		kit_custom(&k, "key", rows[i].key);
		hf_arena_reset(&k.arena);
		e = hf_sip_front.key_read(&k.ctx, hf_bytes_str(rows[i].text), &key);
		if (e != (rows[i].meant ? HF_ENOENT : HF_OK) || (rows[i].meant && !hf_bytes_eq(key.text, hf_bytes_str(rows[i].meant))))
			fail_msg("%s with key = %s: %.*s", rows[i].text, rows[i].key, (int)key.text.n, (const char *)key.text.p);
	}
}

static void typed(void **state)
{
	static const struct { const char *key, *text, *label, *octets; } rows[] = {
		{"user source/24/64", "alice", "user", "alice"}, {"user source", "user:alice", "user", "alice"}, {"user", "USER:alice@example.com", "user", "alice"},
		{"user", "sip:%61lice@h", "user", "alice"}, {"user", "tel:+1-555", "user", "+1555"}, {"user", "call-id:x", "call-id", "x"},
		{"user source/24/64", "source:192.0.2.77", "source", "192.0.2.0/24"}, {"source/24/64", "2001:db8:1:2::9", "source", "2001:db8:1:2::/64"},
		{"source", "192.0.2.7", "source", "192.0.2.7"}, {"user source", "source:example", NULL, NULL},
		{"source/24", "source:192.0.2.0/24", "source", "192.0.2.0/24"}, {"source/24", "192.0.2.0/x", NULL, NULL}, {"source/24", "192.0.2.0:7/24", NULL, NULL},
		{"source-port", "192.0.2.7:5062", "source-port", "192.0.2.7:5062"}, {"source-port", "192.0.2.7", NULL, NULL},
		{"source-port source", "source:192.0.2.7", "source", "192.0.2.7"}, {"destination", "192.0.2.1", "destination", "192.0.2.1"},
		{"source-destination", "192.0.2.51-192.0.2.1", "source-destination", "192.0.2.1-192.0.2.51"}, {"source-destination", "192.0.2.51", NULL, NULL},
		{"source-destination", "192.0.2.51-", NULL, NULL}, {"domain", "Example.COM", "domain", "example.com"},
		{"domain request-uri", "request-uri:bob@H:5060", "request-uri", "bob@h"}, {"request-uri", "sips:bob@h:5061", "request-uri", "bob@h"},
		{"request-uri", "bob@h@h", NULL, NULL}, {"header:X-Tenant call-id", "Acme", "header:x-tenant", "Acme"}, {"call-id header:s", "header:Subject:Acme:1", "header:subject", "Acme:1"},
		{"uri-param:tenant", "A%63me", "uri-param:tenant", "acme"}, {"token:3:2", "ab", "token", "ab"}, {"from-user", "alice", "from-user", "alice"},
		{"user", "user:", NULL, NULL}, {"user", "", NULL, NULL},
	};
	struct hf_key key;

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[128];
		enum hf_err e;

		kit_custom(&k, "key", rows[i].key);
		hf_arena_reset(&k.arena);
		e = hf_sip_front.key_read(&k.ctx, hf_bytes_str(rows[i].text), &key);
		snprintf(text, sizeof text, "%s:%s", rows[i].label ? rows[i].label : "", rows[i].label ? rows[i].octets : "");
		if (rows[i].label ? e != HF_OK || key.fp != fp(rows[i].label, rows[i].octets) || !hf_bytes_eq(key.text, hf_bytes_str(text)) : e != HF_EINVAL)
			fail_msg("%s with key = %s: %.*s", rows[i].text, rows[i].key, (int)key.text.n, (const char *)key.text.p);
	}
	slips();
	kit_custom(&k, "key", "user");
	k.conf.tenant = SIP_TENANT_DOMAIN;
	assert_int_equal(hf_sip_front.key_read(&k.ctx, HF_LIT("user:alice@Example.COM"), &key), HF_OK);
	assert_int_equal(key.fp, fp("user", "alice@example.com"));
	assert_int_equal(hf_sip_front.key_read(&k.ctx, HF_LIT("user:alice"), &key), HF_EINVAL); /* of which domain? */
}

/* A new call is placed as its INVITE would be: by the octets of its Call-ID that `key` takes, or by nothing in it. Without the cap by key_length the call of
 * `where` goes to another server than the call itself. */
static void placed_by(void **state)
{
	static const struct { const char *key, *text, *place; } rows[] = { /* NULL: by itself; empty: by the fallback */
		{"call-id", "12345678", NULL}, {"call-id", "123456789", "call-id:12345678"}, {"call-id", "call-id:123456789", "call-id:12345678"},
		{"user call-id", "call-id:123456789", "call-id:12345678"}, {"source call-id", "call-id:12", NULL}, {"token:2:3", "call-id:abcdef", "token:cde"},
		{"token:4:2 call-id", "call-id:abc", NULL}, {"header:X-Tenant token:0:20", "call-id:123456789", "token:12345678"}, {"token:4:2", "call-id:abc", ""},
		{"user", "call-id:a", ""}, {"user", "alice", NULL}, {"header:X-Tenant", "acme", NULL}, {"source", "192.0.2.7", NULL},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hf_key place;
		bool other;

		kit_custom(&k, "key", rows[i].key);
		k.conf.key_length = 8;
		hf_arena_reset(&k.arena);
		other = hf_sip_front.key_place(&k.ctx, hf_bytes_str(rows[i].text), &place);
		if (other != (rows[i].place != NULL) || (other && (!hf_bytes_eq(place.text, hf_bytes_str(rows[i].place)) || !place.fp != !*rows[i].place)))
			fail_msg("%s with key = %s: %.*s", rows[i].text, rows[i].key, (int)place.text.n, (const char *)place.text.p);
		if (other && place.fp)
			assert_true(place.fp == hf_fingerprint_text(k.ctx.site->hash_key, place.text));
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {T(words), T(warnings), T(kinds), T(addresses), T(chains), T(lengths), T(the_default_is_cheap), T(users), T(no_user), T(typed), T(placed_by)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
