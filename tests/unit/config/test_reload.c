/* What a reload may change. */
#include "fronts.h"
#include "help.h"

static struct hf_conf *before;

static void now(const char *text)
{
	hf_conf_free(before);
	accepts(text);
	before = conf;
	conf = NULL;
}

static void may(const char *text)
{
	accepts(text);
	hf_findings_free(&found);
	if (hf_conf_may_reload(before, conf, &found) != HF_OK || found.n) {
		show();
		fail_msg("%s", text);
	}
}

static void may_not(const char *text, unsigned line, const char *part)
{
	accepts(text);
	hf_findings_free(&found);
	if (hf_conf_may_reload(before, conf, &found) != HF_EINVAL || found.errors != 1 || !has(true, line, part)) {
		show();
		fail_msg("%s\nline %u: %s", text, line, part);
	}
}

#define GATEWAY "[gateway]\nworkers = 2\n"
#define ALL GATEWAY GOOD_SERVICE "label = x\n" GOOD_POOL

/* All that is LIVE or NEW, listeners, servers and whole sections; fails when compare() takes every class. */
static void test_may(void **state)
{
	(void)state;
	now(ALL);
	may(ALL);
	may("[gateway]\nlog-level = debug\nworkers = 2\nstate-dir = /var/lib/holdfast\n" GOOD_SERVICE "label = x\nswell = 5s\nlisten = tcp://192.0.2.9:1\n"
		GOOD_POOL "server = b 192.0.2.12\nload-factor = 3\nprobe = none\ndepth = 9\n[pool q]\nserver = z 192.0.2.1:2\nslots = 20\n");
	may(GATEWAY "[service other]\nprotocol = reef\nlisten = 192.0.2.1\npool = p\n[pool p]\nserver = a 192.0.2.1\n");
	may(ALL "slots = 16\naffinity = auto\n");
	now(ALL "[pool q]\nserver = z 192.0.2.1\n[service r]\nprotocol = reef\nlisten = 192.0.2.2\npool = p\nshore = North q\n[pool p]\nserver = a 192.0.2.1\n");
	may(ALL "[pool q]\nserver = z 192.0.2.1\n[service r]\nprotocol = reef\nlisten = 192.0.2.2\npool = p\n[pool p]\nserver = a 192.0.2.1\n"); /* q is nobody's */
}

/* Each fails without its call of compare() or its branch. */
static void test_may_not(void **state)
{
	(void)state;
	now(ALL);
	may_not("[gateway]\nworkers = 3\n" GOOD_SERVICE "label = x\n" GOOD_POOL, 2, "workers changes only with a restart");
	may_not(GOOD_SERVICE "label = x\n" GOOD_POOL, 1, "workers changes only with a restart");
	may_not("[gateway]\nstate-dir = /srv\nworkers = 2\n" GOOD_SERVICE "label = x\n" GOOD_POOL, 2, "state-dir changes only with a restart");
	may_not("[gateway]\nadmin-socket = off\nworkers = 2\n" GOOD_SERVICE "label = x\n" GOOD_POOL, 2, "admin-socket changes only with a restart");
	may_not(ALL "slots = 17\n", 10, "[pool pbx]: slots changes only with a restart");
	may_not(GATEWAY GOOD_SERVICE "label = y\n" GOOD_POOL, 7, "[service calls]: label changes only with a restart");
	may_not(GATEWAY GOOD_SERVICE GOOD_POOL, 3, "[service calls] (by default): label changes only with a restart");
	may_not(GATEWAY GOOD_SERVICE "label = x\nmoon = full\n" GOOD_POOL, 8, "[service calls]: moon changes only with a restart");
	may_not(GATEWAY "[service calls]\nprotocol = reef\nlisten = 192.0.2.1\npool = q\n[pool q]\nserver = a 192.0.2.1\n", 4, "protocol changes only with a restart");
	may_not(GATEWAY "[service new]\nprotocol = reef\nlisten = 192.0.2.1\npool = pbx\n" GOOD_POOL, 7, "its protocol changes only with a restart");
}

static int drop_before(void **state)
{
	hf_conf_free(before);
	before = NULL;
	return drop_all(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_may, drop_before), cmocka_unit_test_teardown(test_may_not, drop_before)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
