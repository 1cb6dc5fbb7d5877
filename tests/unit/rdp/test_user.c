/* One form for the many spellings of a user, and the readers of tokens and options. */
#include "kit.h"

static struct user u;

static const char *name_of(const char *cookie, const char *own, enum user_kind kind)
{
	static char text[USER_MAX + 1];

	user_read(hf_bytes_str(cookie), hf_bytes_str(own), &u);
	assert_int_equal(u.kind, kind);
	if (u.name.n)
		memcpy(text, u.name.p, u.name.n);
	text[u.name.n] = 0;
	return text;
}

/* r21: one name however it is spelled. Fails without fold, or without either half of bare. */
static void r21_spellings(void **state)
{
	(void)state;
	assert_string_equal(name_of("administrator", "", USER_NAME), "administrator");
	assert_string_equal(name_of("CORP\\Administrator", "", USER_NAME), "administrator");
	assert_string_equal(name_of("Administrator@corp.example", "", USER_NAME), "administrator");
	assert_string_equal(name_of("corp.example\\ADMINISTRATOR@x", "", USER_NAME), "administrator");
	assert_string_equal(name_of("Administr", "", USER_NAME), "administr");
	assert_string_equal(name_of("alice@lab", "", USER_NAME), "alice");
	assert_string_equal(name_of("user one", "", USER_NAME), "user one");
	assert_string_equal(name_of("J\xc3\x96RG", "", USER_NAME), "j\xc3\x96rg");
}

/* r24: the name of a cloud's role is one like others, its mark too. Fails when a mark but the two of domains is looked for. */
static void r24_role_name(void **state)
{
	(void)state;
	assert_string_equal(name_of("Role#Role_IN_0", "", USER_NAME), "role#role_in_0");
}

/* A name as the tables show it, typed back, is that name. Fails when the second mark is not looked for: a\b\c was b\c, and that was c. */
static void test_two_marks(void **state)
{
	(void)state;
	assert_string_equal(name_of("a\\b\\c", "", USER_NAME), "b");
	assert_string_equal(name_of("a\\b@c\\d", "", USER_NAME), "b");
	name_of("\\\\host\\user", "", USER_NONE);
}

/* Not a key: nothing, a domain alone, control octets. */
static void test_unusable(void **state)
{
	(void)state;
	name_of("", "", USER_NONE);
	name_of("DOMAIN\\", "", USER_NONE);
	name_of("@corp.example", "", USER_NONE);
	name_of("a\x1b[2J", "", USER_CONTROL);
	name_of("a\tb", "", USER_CONTROL);
}

/* r20: nine octets that a domain or computer name has eaten. Fails without any one test in weak. */
static void r20_weak(void **state)
{
	(void)state;
	assert_string_equal(name_of("CONTOSO\\a", "", USER_WEAK), "contoso\\a");
	assert_string_equal(name_of("DESKTOP-J", "", USER_WEAK), "desktop-j");
	assert_string_equal(name_of("laptop-12", "", USER_WEAK), "laptop-12");
	assert_string_equal(name_of("WIN-ABCDE", "", USER_WEAK), "win-abcde");
	assert_string_equal(name_of("ContosoEu", "fabrikam, contosoeurope", USER_WEAK), "contosoeu");
	assert_string_equal(name_of("ContosoEu", "contosoeu", USER_WEAK), "contosoeu");
	assert_string_equal(name_of("ContosoEu", "contosoe", USER_NAME), "contosoeu");
	assert_string_equal(name_of("ContosoEu", "", USER_NAME), "contosoeu");
	assert_string_equal(name_of("CONTOSO\\al", "", USER_NAME), "al");
	assert_string_equal(name_of("DESKTOP-J1", "", USER_NAME), "desktop-j1");
	assert_string_equal(name_of("LAB\\bob", "lab", USER_NAME), "bob");
}

static const char *perhaps(const char *cookie)
{
	static char text[USER_MAX + 1];
	uint8_t buf[USER_MAX];
	struct hf_bytes b = user_perhaps(hf_bytes_str(cookie), buf);

	memcpy(text, b.p ? b.p : (const uint8_t *)"", b.n);
	text[b.n] = 0;
	return text;
}

static const char *cut(const char *name, const char *own_domains, bool is_whole)
{
	static char text[USER_MAX + 1];
	uint8_t buf[USER_MAX];
	bool whole = true;
	struct hf_bytes b = user_as_weak(hf_bytes_str(name), hf_bytes_str(own_domains), buf, &whole);

	memcpy(text, b.p ? b.p : (const uint8_t *)"", b.n);
	text[b.n] = 0;
	assert_int_equal(whole, is_whole || !b.n);
	return text;
}

/* What may be whole in nine octets, and which names fit; fails with another least length, or when a domain may be empty. */
static void test_short_names(void **state)
{
	(void)state;
	assert_string_equal(perhaps("CORP\\Anna"), "anna");
	assert_string_equal(perhaps("D\\anneliz"), "anneliz");
	assert_string_equal(perhaps("FIRMA\\max"), "max");
	assert_string_equal(perhaps("CONTOS\\al"), "");
	assert_string_equal(perhaps("CONTOSO\\a"), "");
	assert_string_equal(perhaps("DESKTOP-J"), "");
	assert_string_equal(cut("annelies", "corp", false), "corp\\anne");
	assert_string_equal(cut("anne", "LABORATORY, D0 CORP", true), "corp\\anne");
	assert_string_equal(cut("J\xc3\xb6rgen", "Firma", false), "firma\\j\xc3\xb6");
	assert_string_equal(cut("ann", "corp", true), "");
	assert_string_equal(cut("annelies", "LABORATO", false), "");
	assert_string_equal(cut("annelies", "LABORAT", false), "laborat\\a");
	assert_string_equal(cut("annelies", "", true), "");
	assert_true(user_fits_weak(HF_LIT("max")) && user_fits_weak(HF_LIT("anneliz")));
	assert_false(user_fits_weak(HF_LIT("al")) || user_fits_weak(HF_LIT("annelies")) || user_fits_weak(HF_NONE));
}

struct token_row { const char *line; enum token_kind kind; const char *addr; };

/* V5 to V8, I6, I7 and what surrounds them; r34. Fails when a number wraps, a blank is skipped or the last dot is not asked for. */
static void test_tokens(void **state)
{
	static const struct token_row rows[] = {
		{"Cookie: msts=673059850.15629.0000", TOKEN_ADDRESS, "10.20.30.40:3389"},
		{"Cookie: msts=689837066.15885. ", TOKEN_ADDRESS, "10.20.30.41:3390"},
		{"cookie: MSTS=673059850.15629.", TOKEN_ADDRESS, "10.20.30.40:3389"},
		{"Cookie: msts=158400715.47873.0000", TOKEN_ADDRESS, "203.0.113.9:443"},
		{"Cookie: msts=4294967295.65535.0000", TOKEN_ADDRESS, "255.255.255.255:65535"},
		{"Cookie: msts=0.0.", TOKEN_ADDRESS, "0.0.0.0:0"},
		{"Cookie: msts=4294967296.15629.0000", TOKEN_TEXT, NULL},
		{"Cookie: msts=99999999999.15629.0000", TOKEN_TEXT, NULL},
		{"Cookie: msts=673059850.65536.0000", TOKEN_TEXT, NULL},
		{"Cookie: msts=673059850.15629", TOKEN_TEXT, NULL},
		{"Cookie: msts= 673059850.15629.0000", TOKEN_TEXT, NULL},
		{"Cookie: msts=673059850.15629.0000x", TOKEN_TEXT, NULL},
		{"Cookie: msts=673059850.15629. 0", TOKEN_TEXT, NULL},
		{"Cookie: msts=-1.15629.0000", TOKEN_TEXT, NULL},
		{"Cookie: msts=0x1.0x2.0000", TOKEN_TEXT, NULL},
		{"Cookie: msts=127.0.0.1:22", TOKEN_TEXT, NULL},
		{"Cookie: msts=", TOKEN_TEXT, NULL},
		{"Cookie: msts=hf1.x", TOKEN_SIGNED, NULL},
		{"Cookie: msts=HF1.x", TOKEN_TEXT, NULL}, /* ours is as it was written */
		{"Cookie: msts=2915407823", TOKEN_NUMBER, NULL},
		{"Cookie: msts=4294967296", TOKEN_TEXT, NULL},
		{"tsv://MS Terminal Services Plugin.1.Sales", TOKEN_COLLECTION, NULL},
		{"TSV://VMResource.1.pool", TOKEN_COLLECTION, NULL},
		{"mth://x", TOKEN_COLLECTION, NULL},
		{"free text", TOKEN_LINE, NULL},
		{"Cookie: mst", TOKEN_LINE, NULL},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_bytes b = hf_bytes_str(rows[i].line);
		struct hf_addr a, want = {0};

		if (rows[i].addr)
			assert_int_equal(hf_addr_read(hf_bytes_str(rows[i].addr), 0, &want), HF_OK);
		if (token_read(b, &a) != rows[i].kind || a.family != want.family || (a.family && !hf_addr_eq(&a, &want)))
			fail_msg("%s", rows[i].line);
	}
}

static struct hf_bytes exact(const char *text) /* a sanitizer sees a read past its end */
{
	uint8_t *p = malloc(strlen(text));

	memcpy(p, text, strlen(text));
	return hf_bytes_of(p, strlen(text));
}

/* What a collection's token names; each row fails without its line of token_collection. */
static void test_collections(void **state)
{
	static const struct { const char *line, *name; } rows[] = {
		{"tsv://MS Terminal Services Plugin.1.Sales", "Sales"}, {"TSV://ms terminal services plugin.1.Sales", "Sales"}, {"tsv://VMResource.1.Big Apps", "Big Apps"},
		{"tsv://VMResource.1.Sales  ", "Sales"}, {"tsv://VMResource.1.a.1.b", "a.1.b"}, {"tsv://VMResource.1.", ""}, {"tsv://VMResource.1", "VMResource.1"},
		{"tsv://VMResource.2.x", "VMResource.2.x"}, {"tsv://", ""}, {"tsv://  ", ""}, {"tsv://VMResource.1.VMResource.1.x", "VMResource.1.x"}, {"tsv://VMResource.1.a%20b", "a%20b"},
		{"mth://Sales", "Sales"}, {"mth://VMResource.1.Sales", "VMResource.1.Sales"}, {"MTH://x/y", "x/y"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_bytes b = exact(rows[i].line), name = token_collection(b);

		if (!hf_bytes_eq(name, hf_bytes_str(rows[i].name)) || (name.n && (name.p < b.p || name.p + name.n > b.p + b.n)))
			fail_msg("%s: %.*s", rows[i].line, (int)name.n, (const char *)name.p);
		done(b);
	}
}

static enum hf_err read_row(const char *name, const char *text, void *field)
{
	uint8_t why[256];
	struct hf_writer w = hf_writer_on(why, sizeof why);

	for (unsigned i = 0; i < RDP_OPTIONS; i++)
		if (strcmp(rdp_options[i].name, name) == 0) {
			enum hf_err e = rdp_options[i].read(hf_bytes_str(text), field, &w);

			assert_true(!w.full && (e == HF_OK) == (w.n == 0));
			return e;
		}
	fail();
	return HF_ENOENT;
}

static void test_options(void **state)
{
	struct rdp_chain c;

	(void)state;
	assert_int_equal(read_row("key", " user\tsource ", &c), HF_OK);
	assert_true(c.n == 2 && c.kind[0] == RDP_BY_USER && c.kind[1] == RDP_BY_SOURCE && !rdp_chain_has(&c, RDP_BY_TOKEN));
	assert_int_equal(read_row("key", "", &c), HF_EINVAL);
	assert_int_equal(read_row("key", "user user", &c), HF_EINVAL);
	assert_int_equal(read_row("key", "call-id", &c), HF_EINVAL);
}

/* Every row's field lies in the struct, every CHOICE has words, every default is there. */
static void test_rows(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RDP_OPTIONS; i++) {
		const struct hf_option *o = &rdp_options[i];

		assert_true(o->name && o->help && (o->dflt || o->type == HF_OPT_POOLS) && o->unit && o->offset < sizeof(struct rdp_conf));
		assert_true((o->type == HF_OPT_CUSTOM) == (o->read != NULL));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(r21_spellings), cmocka_unit_test(r24_role_name), cmocka_unit_test(test_two_marks), cmocka_unit_test(test_unusable), cmocka_unit_test(r20_weak), cmocka_unit_test(test_short_names), cmocka_unit_test(test_tokens), cmocka_unit_test(test_collections),
		cmocka_unit_test(test_options), cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
