/* Before a start: the secret and its check value, places, and the verdict of --check. */
#include <sys/stat.h>

#include "gate.h"

static bool is_there(const char *name)
{
	char path[sizeof gate_dir + 40];

	snprintf(path, sizeof path, "%s/%s", gate_dir, name);
	return access(path, F_OK) == 0;
}

static void write_secret(const char *text)
{
	char path[sizeof gate_dir + 40];
	FILE *f;

	snprintf(path, sizeof path, "%s/cluster.secret", gate_dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	chmod(path, 0600);
}

#define SECRET_A "hash 00112233445566778899aabbccddeeff\nsign 000102030405060708090a0b0c0d0e0f\n"
#define SECRET_B "hash 10112233445566778899aabbccddeeff\nsign 000102030405060708090a0b0c0d0e0f\n"
#define SECRET_C "hash 00112233445566778899aabbccddeeff\nsign 100102030405060708090a0b0c0d0e0f\n"

static enum hf_err open_secret(bool write, bool accept, struct hf_site *site, struct hf_findings *f)
{
	struct places p = {.secret_ours = true};

	snprintf(p.state, sizeof p.state, "%s", gate_dir);
	snprintf(p.secret, sizeof p.secret, "%s/cluster.secret", gate_dir);
	hf_findings_free(f);
	memset(f, 0, sizeof *f);
	return secret_open(&p, write, accept, site, f);
}

/* --check makes nothing, a start makes both files; another hash key is refused until it is accepted, and then the old one is. */
static void another_hash_key_is_refused(void **state)
{
	struct hf_site site = {0};
	struct hf_findings f = {0};

	(void)state;
	assert_int_equal(open_secret(false, false, &site, &f), HF_OK);
	assert_false(is_there("cluster.secret"));
	write_secret(SECRET_A);
	assert_int_equal(open_secret(false, false, &site, &f), HF_OK);
	assert_false(is_there("hash.check"));
	assert_int_equal(open_secret(true, false, &site, &f), HF_OK);
	assert_true(is_there("hash.check"));
	assert_false(is_there("hash.check.new"));
	assert_int_equal(open_secret(true, false, &site, &f), HF_OK);
	write_secret(SECRET_C); /* another sign key is fine at a start */
	assert_int_equal(open_secret(true, false, &site, &f), HF_OK);
	write_secret(SECRET_B);
	assert_int_equal(open_secret(false, false, &site, &f), HF_EINVAL);
	assert_int_equal(open_secret(true, false, &site, &f), HF_EINVAL);
	assert_int_equal(f.errors, 1);
	assert_non_null(strstr(f.list[0].text, "--accept-new-hash"));
	assert_int_equal(open_secret(false, true, &site, &f), HF_OK); /* --check accepts for itself alone */
	assert_int_equal(open_secret(true, false, &site, &f), HF_EINVAL);
	assert_int_equal(open_secret(true, true, &site, &f), HF_OK);
	assert_int_equal(open_secret(true, false, &site, &f), HF_OK);
	write_secret(SECRET_A);
	assert_int_equal(open_secret(true, false, &site, &f), HF_EINVAL);
	write_secret("hash 12\n");
	assert_int_equal(open_secret(true, true, &site, &f), HF_EINVAL);
	hf_findings_free(&f);
}

static void a_reload_wants_the_same_secret(void **state)
{
	struct hf_findings f = {0};
	struct places p = {.secret_ours = true};
	struct hf_site site = {0};

	(void)state;
	snprintf(p.secret, sizeof p.secret, "%s/cluster.secret", gate_dir);
	write_secret(SECRET_B);
	assert_int_equal(open_secret(true, true, &site, &f), HF_OK);
	assert_int_equal(secret_same(&p, &site, &f), HF_OK);
	write_secret("hash 10112233445566778899aabbccddeeff\nsign 000102030405060708090a0b0c0d0e0f\nsign 110102030405060708090a0b0c0d0e0f\n");
	assert_int_equal(secret_same(&p, &site, &f), HF_EINVAL);
	assert_non_null(strstr(f.list[0].text, "take hold at a restart"));
	write_secret(SECRET_A);
	assert_int_equal(secret_same(&p, &site, &f), HF_EINVAL);
	assert_non_null(strstr(f.list[1].text, "never changes in service"));
	write_secret("nonsense");
	assert_int_equal(secret_same(&p, &site, &f), HF_EINVAL);
	assert_int_equal(f.errors, 3);
	hf_findings_free(&f);
}

static void places_are_checked(void **state)
{
	struct hf_conf_gateway conf = {.state_dir = HF_LIT("/var/lib/x"), .run_dir = HF_LIT("/r")};
	struct hf_findings f = {0};
	struct places p;
	char text[120];

	(void)state;
	assert_int_equal(places_find(&conf, &p, &f), HF_OK);
	assert_string_equal(p.admin, "/r/admin.sock");
	assert_string_equal(p.secret, "/var/lib/x/cluster.secret");
	assert_true(p.secret_ours);
	conf.cluster_secret_file = HF_LIT("/etc/s");
	assert_int_equal(places_find(&conf, &p, &f), HF_OK);
	assert_string_equal(p.secret, "/etc/s");
	assert_false(p.secret_ours);
	memset(text, 'a', sizeof text);
	conf.admin_socket = hf_bytes_of(text, 108); /* sun_path has 108 with its NUL */
	assert_int_equal(places_find(&conf, &p, &f), HF_EINVAL);
	conf.admin_socket.n = 107;
	assert_int_equal(places_find(&conf, &p, &f), HF_OK);
	conf.admin_off = true;
	conf.admin_socket.n = 108;
	assert_int_equal(places_find(&conf, &p, &f), HF_OK);
	assert_string_equal(p.admin, "");
	conf.user = HF_LIT("no-such-user-here");
	assert_int_equal(places_find(&conf, &p, &f), HF_EINVAL);
	assert_int_equal(f.errors, 2);
	hf_findings_free(&f);
}

/* Fails without check_dir(): --check would take what a start refuses. */
static void dirs_that_cannot_be_made_are_found(void **state)
{
	static const struct { const char *state, *run; unsigned errors; const char *part; } t[] = {
		{"/no-such-dir-here/x", "/r", 1, "state-dir: cannot make /no-such-dir-here/x: the directory above it is missing"},
		{"/no-such-dir-here", "/no-such-dir-here/run", 0, NULL}, /* the one is made in the other */
		{"/no-such-dir-here/", "/no-such-dir-there//run/", 1, "run-dir: cannot make /no-such-dir-there//run/"},
		{"/dev/null", "/r", 1, "state-dir: /dev/null is there and is no directory"},
		{"here", "/r", 0, NULL},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		struct hf_conf_gateway conf = {.state_dir = hf_bytes_str(t[i].state), .run_dir = hf_bytes_str(t[i].run)};
		struct hf_findings f = {0};
		struct places p;

		assert_int_equal(places_find(&conf, &p, &f), t[i].errors ? HF_EINVAL : HF_OK);
		assert_int_equal(f.errors, t[i].errors);
		if (t[i].part && !strstr(f.list[0].text, t[i].part))
			fail_msg("%s", f.list[0].text);
		hf_findings_free(&f);
	}
}

static void dirs_are_made(void **state)
{
	struct places p = {0};
	uint8_t text[1024];
	struct hf_writer why = hf_writer_on(text, sizeof text);
	struct stat st;

	(void)state;
	snprintf(p.state, sizeof p.state, "%s", gate_dir);
	snprintf(p.run, sizeof p.run, "%s/run", gate_dir);
	assert_int_equal(places_make(&p, &why), HF_OK);
	assert_int_equal(stat(p.run, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(places_make(&p, &why), HF_OK); /* there already */
	assert_int_equal(rmdir(p.run), 0);
	snprintf(p.run, sizeof p.run, "%s/no/run", gate_dir);
	assert_int_equal(places_make(&p, &why), HF_EIO);
	snprintf(p.run, sizeof p.run, "%s/cluster.secret", gate_dir); /* a file: S_ISDIR */
	assert_int_equal(places_make(&p, &why), HF_EIO);
}

/* Fails without is_foreign(): what lies in /tmp or /dev/shm may be somebody's trap. */
static void a_dir_of_somebody_else_is_refused(void **state)
{
	char link[sizeof gate_dir + 8];
	struct places p = {0};
	uint8_t text[1024] = "";
	struct hf_writer why = hf_writer_on(text, sizeof text - 1);

	(void)state;
	if (geteuid() != 0)
		skip(); /* only root can give away what it made */
	snprintf(p.state, sizeof p.state, "%s", gate_dir); /* /tmp is everybody's */
	snprintf(p.run, sizeof p.run, "%s", gate_dir);
	snprintf(link, sizeof link, "%s.link", gate_dir);
	assert_int_equal(symlink("/etc", link), 0);
	assert_int_equal(lchown(link, 65534, 65534), 0);
	snprintf(p.run, sizeof p.run, "%s", link);
	assert_int_equal(places_make(&p, &why), HF_EIO);
	assert_int_equal(unlink(link), 0);
	assert_non_null(strstr((char *)text, "belongs to another user"));
	snprintf(p.run, sizeof p.run, "%s", gate_dir);
	assert_int_equal(chown(gate_dir, 65534, 65534), 0);
	assert_int_equal(places_make(&p, &why), HF_EIO);
	snprintf(p.user, sizeof p.user, "nobody");
	p.uid = p.gid = 65534; /* the user that we become */
	assert_int_equal(places_make(&p, &why), HF_OK);
	assert_int_equal(chown(gate_dir, 0, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_hash_key_is_refused), cmocka_unit_test(a_reload_wants_the_same_secret), cmocka_unit_test(places_are_checked),
		cmocka_unit_test(dirs_that_cannot_be_made_are_found), cmocka_unit_test(dirs_are_made), cmocka_unit_test(a_dir_of_somebody_else_is_refused),
	};

	(void)gate_close;
	(void)gate_open;
	(void)gate_ask;
	return cmocka_run_group_tests(tests, gate_dir_up, gate_dir_down);
}
