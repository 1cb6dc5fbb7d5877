/* The PROXY header (net/proxy.c): both versions, every cut, and what must be refused. Octets as the specification writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proxy.h"

#define V2 "\r\n\r\n\0\r\nQUIT\n"

static struct hf_addr source, local;
static size_t used;

static enum proxy_verdict take(const void *p, size_t n)
{
	source = local = (struct hf_addr){0};
	used = 0;
	return proxy_read(hf_bytes_of(p, n), &used, &source, &local);
}

static void is(const struct hf_addr *a, const char *text)
{
	uint8_t buf[64];
	struct hf_writer w = hf_writer_on(buf, sizeof buf);

	hf_w_addr(&w, a);
	assert_int_equal(w.n, strlen(text));
	assert_memory_equal(buf, text, w.n);
}

/* Fails when a cut header is taken, or more than the header. */
static void whole_and_cut(void **state)
{
	static const struct { const char *p; size_t n; const char *from, *to; } rows[] = {
		{"PROXY TCP4 192.0.2.51 192.0.2.1 51000 3389\r\n", 44, "192.0.2.51:51000", "192.0.2.1:3389"},
		{"PROXY TCP6 2001:db8::51 2001:db8::1 51000 3389\r\n", 48, "[2001:db8::51]:51000", "[2001:db8::1]:3389"},
		{V2 "\x21\x11\0\x0c\xc0\0\2\x33\xc0\0\2\1\xc7\x38\x0d\x3d", 28, "192.0.2.51:51000", "192.0.2.1:3389"},
		{V2 "\x21\x11\0\x10\xc0\0\2\x33\xc0\0\2\1\xc7\x38\x0d\x3d\4\0\1x", 32, "192.0.2.51:51000", "192.0.2.1:3389"},
		{V2 "\x21\x21\0\x24\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x51\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\xc7\x38\x0d\x3d", 52, "[2001:db8::51]:51000", "[2001:db8::1]:3389"},
	};
	char more[80];

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		for (size_t cut = 0; cut < rows[i].n; cut++)
			assert_int_equal(take(rows[i].p, cut), PROXY_MORE);
		memcpy(more, rows[i].p, rows[i].n);
		memcpy(more + rows[i].n, "\3\0\0\x0b", 4);
		assert_int_equal(take(more, rows[i].n + 4), PROXY_GOOD);
		assert_int_equal(used, rows[i].n);
		is(&source, rows[i].from);
		is(&local, rows[i].to);
	}
}

/* A socket of both families names IPv4 clients so: each would be of one and the same /64, and in no list. Fails without hf_addr_unmap. */
static void of_both_families(void **state)
{
	(void)state;
	assert_int_equal(take("PROXY TCP6 ::ffff:192.0.2.51 ::ffff:192.0.2.1 51000 3389\r\n", 58), PROXY_GOOD);
	is(&source, "192.0.2.51:51000");
	is(&local, "192.0.2.1:3389");
	assert_int_equal(take(V2 "\x21\x21\0\x24\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\x33\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\1\xc7\x38\x0d\x3d", 52), PROXY_GOOD);
	is(&source, "192.0.2.51:51000");
	is(&local, "192.0.2.1:3389");
}

/* Fails when LOCAL or UNKNOWN overwrites what the system said. */
static void says_nothing(void **state)
{
	(void)state;
	assert_int_equal(take("PROXY UNKNOWN\r\n", 15), PROXY_GOOD);
	assert_int_equal(used, 15);
	assert_int_equal(source.family, 0);
	assert_int_equal(take("PROXY UNKNOWN ffff::1 x 1 2\r\n", 29), PROXY_GOOD);
	assert_int_equal(take(V2 "\x20\x11\0\x0c\xc0\0\2\x33\xc0\0\2\1\xc7\x38\x0d\x3d", 28), PROXY_GOOD);
	assert_int_equal(used, 28);
	assert_int_equal(source.family, 0);
	assert_int_equal(take(V2 "\x21\x31\0\0", 16), PROXY_GOOD);
}

/* Each row fails when its check is taken out. */
static void refused(void **state)
{
	static const struct { const char *p; size_t n; } rows[] = {
		{"\3\0\0\x0b", 4}, {"PROXX", 5}, {"PROXY TCP4 192.0.2.51 192.0.2.1 51000\r\n", 39}, {"PROXY TCP4 192.0.2.51 192.0.2.1 51000 65536\r\n", 45},
		{"PROXY TCP4 192.0.2.51 192.0.2.1 51000 -1\r\n", 42}, {"PROXY TCP4 2001:db8::51 192.0.2.1 51000 3389\r\n", 46},
		{"PROXY TCP5 192.0.2.51 192.0.2.1 51000 3389\r\n", 44}, {"PROXY TCP4 192.0.2.51 192.0.2.1 51000 3389\n", 43},
		{"PROXY TCP6 [2001:db8::51] 2001:db8::1 51000 3389\r\n", 50}, {"PROXY TCP4 192.0.2.51  192.0.2.1 51000 3389\r\n", 45},
		{V2 "\x11\x11\0\x0c", 16}, {V2 "\x22\x11\0\x0c", 16}, {V2 "\x21\x11\xff\xff", 16}, {V2 "\x21\x11\0\x0b\xc0\0\2\x33\xc0\0\2\1\xc7\x38\x0d", 27},
	};
	char longest[120];

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_int_equal(take(rows[i].p, rows[i].n), PROXY_BAD);
	memset(longest, ' ', sizeof longest);
	memcpy(longest, "PROXY UNKNOWN", 13);
	assert_int_equal(take(longest, 106), PROXY_MORE);
	assert_int_equal(take(longest, 107), PROXY_BAD);
}

/* As the specification writes them; what is written is read. Fails when an address, a port or the length stands elsewhere. */
static void written(void **state)
{
	static const struct { const char *from, *to, *octets; size_t n; } rows[] = {
		{"192.0.2.51:51000", "192.0.2.1:3389", V2 "\x21\x11\0\x0c\xc0\0\2\x33\xc0\0\2\1\xc7\x38\x0d\x3d", 28},
		{"[2001:db8::51]:51000", "[2001:db8::1]:3389", V2 "\x21\x21\0\x24\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x51\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1\xc7\x38\x0d\x3d", 52},
		{"[2001:db8::51]:51000", "192.0.2.1:3389", V2 "\x20\0\0\0", 16},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t octets[PROXY_HEADER_MAX];
		struct hf_writer w = hf_writer_on(octets, sizeof octets);
		struct hf_addr from, to;

		assert_int_equal(hf_addr_read(hf_bytes_str(rows[i].from), 0, &from), HF_OK);
		assert_int_equal(hf_addr_read(hf_bytes_str(rows[i].to), 0, &to), HF_OK);
		proxy_write(&w, &from, &to);
		assert_true(!w.full && w.n == rows[i].n);
		assert_memory_equal(octets, rows[i].octets, w.n);
		assert_int_equal(take(octets, w.n), PROXY_GOOD);
		assert_int_equal(used, w.n);
		if (i < 2)
			is(&source, rows[i].from), is(&local, rows[i].to);
	}
}

/* The gateway's own connection. */
static void local_written(void **state)
{
	uint8_t octets[PROXY_HEADER_MAX];
	struct hf_writer w = hf_writer_on(octets, sizeof octets);

	(void)state;
	proxy_write(&w, NULL, NULL);
	assert_int_equal(w.n, 16);
	assert_memory_equal(octets, V2 "\x20\0\0\0", 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(whole_and_cut), cmocka_unit_test(of_both_families), cmocka_unit_test(says_nothing), cmocka_unit_test(refused), cmocka_unit_test(written),
		cmocka_unit_test(local_written)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
