/* What those who watch are told: what a message is, what goes out in its place, and with what word a call is over. */
#include "front_kit.h"

static struct kit k;

static int setup(void **state) { (void)state; kit_init(&k); return 0; }
static int teardown(void **state) { (void)state; kit_fini(&k); return 0; }

#define PHONE "192.0.2.51:5060"
#define PBX1 "192.0.2.101:5060"

static void feed(const char *from, const char *text)
{
	k.ctx.seen = (struct hf_seen){0};
	kit_feed(&k, from, text);
}

static void seen(const char *name, unsigned code)
{
	assert_true(k.ctx.seen.name > 0 && k.ctx.seen.name <= hf_sip_front.n_names);
	assert_string_equal(hf_sip_front.names[k.ctx.seen.name - 1], name);
	assert_int_equal(k.ctx.seen.code, code);
	assert_true(hf_bytes_eq(k.ctx.seen.session, HF_LIT("c1")));
}

static void sent(const char *name, unsigned code)
{
	assert_int_equal(k.n_sent, 1);
	assert_true(k.send.name > 0);
	assert_string_equal(hf_sip_front.names[k.send.name - 1], name);
	assert_int_equal(k.send.code, code);
}

static void ended(const char *word)
{
	const char *got = k.n_learnt ? k.learnt[0].learn.ended : k.ask.ended;

	if (word)
		assert_true(got && strcmp(got, word) == 0);
	else
		assert_null(got);
}

static void invited(const char *status)
{
	feed(PHONE, kit_request((struct kit_request){.method = "INVITE"}));
	ended(NULL);
	feed(PBX1, kit_answer(&k, status, "b1", NULL));
}

/* The names stand in the order of the scanner's methods. Fails when one is added to either alone, or when an answer loses its code. */
static void what_it_is(void **state)
{
	static const char *const methods[] = {"INVITE", "ACK", "BYE", "CANCEL", "OPTIONS", "REGISTER", "SUBSCRIBE", "NOTIFY", "PUBLISH", "PRACK", "UPDATE", "REFER", "MESSAGE", "INFO"};

	(void)state;
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		feed(PHONE, kit_request((struct kit_request){.method = methods[i], .to_tag = "b1"}));
		seen(methods[i], 0);
		sent(methods[i], 0);
	}
	feed(PHONE, kit_request((struct kit_request){.method = "CONSULT"}));
	seen("other", 0);
	feed(PBX1, kit_answer(&k, "202 Accepted", "b1", NULL));
	seen("other", 202);
	sent("other", 202);
	feed(PHONE, "\r\n\r\n");
	assert_null(k.ctx.seen.octets.p);
	feed(PHONE, "this is nothing\r\n\r\n");
	assert_int_equal(k.ctx.seen.name, 0);
}

/* An answer of our own is not what came. Fails without the code in send_answer. */
static void our_own(void **state)
{
	(void)state;
	feed(PHONE, kit_request((struct kit_request){.method = "INVITE", .extra = "Proxy-Require: nothing-known" CRLF}));
	seen("INVITE", 0);
	sent("INVITE", 420);
}

/* The word for each end of a call; a challenge, a ringing and a re-INVITE end none. Fails with each row of life.c that has another. */
static void how_it_ends(void **state)
{
	(void)state;
	invited("180 Ringing");
	ended(NULL);
	invited("200 OK");
	ended(NULL);
	invited("401 Unauthorized");
	ended(NULL);
	invited("407 Proxy Authentication Required");
	ended(NULL);
	invited("486 Busy Here");
	ended("refused");
	assert_int_equal(k.learnt[0].learn.code, 486);
	invited("487 Request Terminated");
	ended("cancel");
	feed(PHONE, kit_request((struct kit_request){.method = "BYE", .to_tag = "b1"}));
	ended("bye");
	feed(PHONE, kit_request((struct kit_request){.method = "INVITE", .to_tag = "b1"}));
	ended(NULL);
	k.ctx.hash_mode = true;
	invited("200 OK");
	ended("answered");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_it_is, setup, teardown), cmocka_unit_test_setup_teardown(our_own, setup, teardown),
		cmocka_unit_test_setup_teardown(how_it_ends, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
