/* The cluster secret and the places of a running gateway. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fronts.h"
#include "help.h"

static char dir[64], path[96], why[600];
static struct hf_site site;

#define H "00112233445566778899aabbccddeeff"
#define S "FFEEDDCCBBAA99887766554433221100"

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/holdfast-secret-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/secret", dir);
	return 0;
}

static int drop_dir(void **state)
{
	(void)state;
	unlink(path);
	rmdir(dir);
	return 0;
}

static enum hf_err load(const char *file, bool make)
{
	struct hf_writer w = hf_writer_on(why, sizeof why - 1);
	enum hf_err e;

	memset(&site, 0x5a, sizeof site);
	e = hf_secret_load(file, make, &site, &w);
	why[w.n] = 0;
	return e;
}

static void put(const char *text, size_t n, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_true(f && fwrite(text, 1, n, f) == n);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
}

static void test_reads(void **state)
{
	(void)state;
	put("hash " H "\nsign " S "\n", 76, 0600);
	assert_int_equal(load(path, false), HF_OK);
	assert_string_equal(why, "");
	assert_true(site.n_sign == 1 && site.hash_key[1] == 0x11 && site.sign[0][0] == 0xff && site.boot == 0x5a5a5a5a);
	put("hash " H "\nsign " S "\nsign " H, 113, 0640);
	assert_int_equal(load(path, false), HF_OK);
	assert_string_equal(why, ""); /* a group may be the gateway's own */
	assert_true(site.n_sign == 2 && site.sign[1][15] == 0xff);
	put("hash " H "\nsign " S "\n", 76, 0644);
	assert_int_equal(load(path, false), HF_OK);
	assert_non_null(strstr(why, "chmod 0600"));
}

/* Each fails without its line of read_lines; the site stays as it was. */
static void test_refuses(void **state)
{
	static const struct { const char *text; const char *part; } t[] = {
		{"", "secret:1: hash and 32 hex digits"},
		{"hash " H "\n", "secret:2: sign and 32 hex digits"},
		{"sign " H "\nhash " S "\n", "secret:1: hash"},
		{"hash " H "0\nsign " S "\n", "secret:1: hash"},
		{"hash  " H "\nsign " S "\n", "secret:1: hash"},
		{"hash 0x112233445566778899aabbccddeeff\nsign " S "\n", "secret:1: hash"},
		{"hash " H "\n\nsign " S "\n", "secret:2: sign"},
		{"hash " H "\r\nsign " S "\n", "secret:1: hash"},
		{"hash " H "\nsign " S " \n", "secret:2: sign"},
		{"hash " H "\nsign " S "\nsign " S "\nsign " S "\n", "secret:4: nothing may follow"},
		{"hash " H "\nsign " S "\n# x\n", "secret:3: sign"},
	};
	char big[2000];

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		put(t[i].text, strlen(t[i].text), 0600);
		if (load(path, true) != HF_EINVAL || !strstr(why, t[i].part) || site.n_sign != 0x5a5a5a5a || site.hash_key[0] != 0x5a)
			fail_msg("%u: %s", i, why);
	}
	memset(big, 'x', sizeof big);
	put(big, sizeof big, 0600);
	assert_int_equal(load(path, true), HF_EINVAL);
	assert_non_null(strstr(why, "too long"));
}

/* Made once, for the owner alone, and read back the same; fails when make() is called for a file that is there. */
static void test_makes(void **state)
{
	struct hf_site first;
	struct stat st;

	(void)state;
	assert_int_equal(load(path, false), HF_ENOENT);
	assert_non_null(strstr(why, "no such file"));
	rmdir(dir); /* the last part of the path is made too */
	assert_int_equal(load(path, true), HF_OK);
	assert_string_equal(why, "");
	first = site;
	assert_true(first.n_sign == 1 && memcmp(first.hash_key, first.sign[0], 16) != 0);
	assert_true(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600 && st.st_size == 76);
	assert_int_equal(load(path, true), HF_OK);
	assert_memory_equal(first.hash_key, site.hash_key, 16);
	unlink(path);
	assert_int_equal(rmdir(dir), 0); /* nothing else was left there */
	assert_int_equal(load("/tmp/holdfast-secret-none/a/b", true), HF_EIO);
	assert_non_null(strstr(why, "/tmp/holdfast-secret-none/a: cannot be made: No such file"));
}

/* Fails when a branch of paths.c is taken out of its order. */
static void test_places(void **state)
{
	struct hf_conf_gateway g = {.state_dir = HF_LIT("/var/lib/holdfast")}, other = {.state_dir = HF_LIT("/srv/b")};
	char a[128], b[128], want[64];

	(void)state;
	unsetenv("RUNTIME_DIRECTORY");
	hf_conf_run_dir(&g, a, sizeof a);
	hf_conf_run_dir(&other, b, sizeof b);
	snprintf(want, sizeof want, "/dev/shm/holdfast-%u-", (unsigned)geteuid());
	assert_true(strncmp(a, want, strlen(want)) == 0 && strlen(a) == strlen(want) + 8 && strspn(a + strlen(want), "0123456789abcdef") == 8);
	assert_string_not_equal(a, b);
	setenv("RUNTIME_DIRECTORY", "/run/one:/run/two", 1);
	hf_conf_admin_socket(&g, a, sizeof a);
	assert_string_equal(a, "/run/one/admin.sock");
	g.run_dir = HF_LIT("/run/three");
	hf_conf_admin_socket(&g, a, sizeof a);
	assert_string_equal(a, "/run/three/admin.sock");
	g.admin_socket = HF_LIT("/x.sock");
	hf_conf_admin_socket(&g, a, sizeof a);
	assert_string_equal(a, "/x.sock");
	g.admin_off = true;
	hf_conf_admin_socket(&g, a, sizeof a);
	assert_string_equal(a, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reads, make_dir, drop_dir), cmocka_unit_test_setup_teardown(test_refuses, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_makes, make_dir, drop_dir), cmocka_unit_test(test_places),
	};

	(void)parse;
	return cmocka_run_group_tests(tests, NULL, drop_all);
}
