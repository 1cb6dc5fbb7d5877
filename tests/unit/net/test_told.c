/* What is told to holds (net/told.c, hold.c): notes and parcels reach the hold that they name, here and by letter, and none that has ended. */
#include "rig.h"
#include "udp.h"

#define TAG 0x1122334455667788u

static struct {
	unsigned held, unheld, letters, lost, notes, woken;
	uint8_t note[HF_NOTE], state[HF_HOLD_STATE];
	size_t kept;             /* octets of the hold, as its last event found them */
	struct hf_flow_name name;
	struct hf_addr source, local; /* of what was found to be held */
	bool shed, spare, race;  /* what a note is answered with */
	bool races;              /* what the last datagram was told */
} got;

static struct hf_flow_name to; /* whom a datagram passes itself to, or notes */

static void put_state(struct hf_act *a, uint8_t v) { memset(a->hold.state, v, HF_HOLD_STATE); }

static void saw(const struct hf_event *ev)
{
	got.kept = ev->held->bytes.n;
	memcpy(got.state, ev->hold, HF_HOLD_STATE);
}

/* Datagrams: "hold" is kept under TAG; "find" looks for it; "pass" goes to `to`; "note" tells it; "none" asks for a tag that nobody has. */
static void datagram(const struct hf_event *ev, struct hf_acts *acts)
{
	struct hf_act *a;

	switch (ev->bytes.p[0]) {
	case 'h':
		a = hf_act(acts, HF_ACT_ASK);
		a->ask.key.fp = 5;
		a->ask.holds = true;
		a->ask.tag = TAG;
		break;
	case 'f':
		hf_act(acts, HF_ACT_ASK)->ask.tag = TAG;
		break;
	case 'p':
		hf_act(acts, HF_ACT_PASS)->note.to = to;
		break;
	case 'n':
		a = hf_act(acts, HF_ACT_NOTE);
		a->note.to = to;
		memset(a->note.octets, 'n', HF_NOTE);
		break;
	default:
		fail_msg("a datagram that is none");
	}
}

static void chosen(const struct hf_event *ev, struct hf_acts *acts)
{
	struct hf_act *a = hf_act(acts, HF_ACT_HOLD);

	got.name = ev->chosen->hold;
	a->hold.ms = 60000;
	a->hold.tag = TAG;
	a->hold.keep = hf_bytes_sub(ev->bytes, 0, 4);
	put_state(a, 1);
}

static void step(struct hf_ctx *ctx, const struct hf_event *ev, struct hf_acts *acts)
{
	switch (ev->kind) {
	case HF_EV_BYTES:
		got.races = ctx->races;
		datagram(ev, acts);
		return;
	case HF_EV_CHOICE:
		if (ev->bytes.p[0] == 'h')
			chosen(ev, acts);
		else
			got.unheld++;
		return;
	case HF_EV_HELD:
		got.held++;
		got.source = ev->source;
		got.local = ev->local;
		saw(ev);
		return;
	case HF_EV_LETTER:
		got.lost += !ev->hold;
		got.letters += ev->hold != NULL;
		assert_memory_equal(ev->bytes.p, "pass", 4);
		assert_ptr_equal(ev->listener, &rig.info);
		if (ev->hold)
			saw(ev);
		return;
	case HF_EV_NOTE: {
		struct hf_act *a = hf_act(acts, HF_ACT_HOLD);

		got.notes++;
		saw(ev);
		memcpy(got.note, ev->bytes.p, HF_NOTE);
		a->hold.ms = 60000;
		a->hold.shed = got.shed;
		a->hold.spare = got.spare;
		a->hold.races = got.race;
		put_state(a, 2);
		return;
	}
	case HF_EV_WAKE:
		got.woken++;
		return;
	default:
		fail_msg("event %d", ev->kind);
	}
}

static int up(void **state)
{
	rig_step = step;
	memset(&got, 0, sizeof got);
	return rig_up(state);
}

static void arrive(const char *text)
{
	struct hf_addr from = {.family = 4, .ip = {192, 0, 2, 7}, .port = 5060};

	deliver_datagram(rig.w, &rig.service, 0, hf_bytes_str(text), &from, &rig.info.addr);
}

static void keep(void)
{
	arrive("hold and more");
	to = got.name;
	assert_int_not_equal(to.generation, 0);
}

/* What CHOICE promised is the name that it has; only what the front named is kept. Fails when hold_next names another place. */
static void by_name(void **state)
{
	(void)state;
	keep();
	arrive("pass");
	assert_int_equal(got.letters, 1);
	assert_int_equal(got.kept, 4);
	assert_int_equal(got.state[31], 1);
	to.generation++;
	arrive("pass");
	to.generation--;
	to.worker = 7;
	arrive("pass");
	to.worker = 0;
	to.slot = 100000;
	arrive("pass");
	assert_int_equal(got.letters, 1);
	assert_int_equal(got.lost, 3);
}

/* A name of the boot before is of whoever holds the tag now, also on another worker; a parcel that nobody knows comes out at the last one. Fails when
 * hold_find compares the worker of such a name, or told.c tells that worker alone. */
static void over_a_restart(void **state)
{
	struct worker *other = &rig.net->workers[1];
	struct hf_addr from = {.family = 4, .ip = {192, 0, 2, 7}, .port = 5060};

	(void)state;
	deliver_datagram(other, &rig.service, 0, HF_LIT("hold and more"), &from, &rig.info.addr);
	to = got.name;
	assert_int_equal(to.worker, 1);
	to.boot--;
	to.worker = 0;
	arrive("note");
	deliver_letters(other);
	assert_int_equal(got.notes, 1);
	arrive("pass");
	deliver_letters(other);
	assert_true(got.letters == 1 && !got.lost);
	to.worker = 63; /* there were more of them */
	deliver_datagram(other, &rig.service, 0, HF_LIT("pass"), &from, &rig.info.addr);
	deliver_datagram(other, &rig.service, 0, HF_LIT("note"), &from, &rig.info.addr);
	assert_true(got.letters == 2 && got.notes == 2 && !letter_any(&rig.w->box));
	hold_end(other, hold_tagged(other, &rig.rt, TAG));
	arrive("pass");
	assert_int_equal(got.lost, 0);
	deliver_letters(other);
	assert_true(got.lost == 1 && !letter_any(&rig.w->box));
}

/* What is sent again to another worker goes to the one that keeps it, and with it where it came from; what nobody keeps, or when that has ended on its
 * way, is new where it is. Fails when hold_keep does not say who keeps it, hold_end leaves that behind, or ask_engine does not look. */
static void carried(void **state)
{
	struct worker *other = &rig.net->workers[1];
	struct hf_addr from = {.family = 4, .ip = {192, 0, 2, 8}, .port = 5062};

	(void)state;
	keep();
	deliver_datagram(other, &rig.service, 0, HF_LIT("find"), &from, &rig.info.addr);
	assert_int_equal(got.held, 0);
	deliver_letters(rig.w);
	assert_int_equal(got.held, 1);
	assert_int_equal(got.kept, 4);
	assert_true(hf_addr_eq(&got.source, &from) && hf_addr_eq(&got.local, &rig.info.addr));
	deliver_datagram(other, &rig.service, 0, HF_LIT("find"), &from, &rig.info.addr);
	hold_end(rig.w, hold_find(rig.w, &rig.rt, &to));
	deliver_letters(rig.w);
	assert_int_equal(got.unheld, 1);
	deliver_datagram(other, &rig.service, 0, HF_LIT("find"), &from, &rig.info.addr);
	assert_false(letter_any(&rig.w->box));
	assert_int_equal(got.unheld, 2);
}

/* 180 and 486 of a request that another worker holds, in one turn: the first has gone before that one can send the second. Fails without the flush in
 * told_pass; what nothing was told of does not pay for it. */
static void in_their_order(void **state)
{
	struct hf_addr from = {.family = 4, .ip = {192, 0, 2, 7}, .port = 5060};
	char got_text[8];
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fd), 0);
	deliver_datagram(&rig.net->workers[1], &rig.service, 0, HF_LIT("hold and more"), &from, &rig.info.addr);
	to = got.name;
	udp_pass(rig.w, &rig.rt, fd[0], HF_LIT("180"));
	arrive("pass");
	assert_int_equal(recv(fd[1], got_text, sizeof got_text, 0), -1);
	arrive("note");
	arrive("pass");
	assert_int_equal(recv(fd[1], got_text, sizeof got_text, 0), 3);
	worker_flush(rig.w);
	udp_pass(rig.w, &rig.rt, fd[0], HF_LIT("180"));
	arrive("pass"); /* the next turn has told nothing */
	assert_int_equal(recv(fd[1], got_text, sizeof got_text, 0), -1);
	worker_flush(rig.w);
	deliver_letters(&rig.net->workers[1]);
	assert_true(got.notes == 1 && got.letters == 3);
	close(fd[0]);
	close(fd[1]);
}

static int two(void **state)
{
	rig_workers = 2;
	return up(state);
}

static int one(void **state)
{
	rig_workers = 1;
	return rig_down(state);
}

/* Fails when link_tag or the look at the tag before the engine is taken out. */
static void by_tag(void **state)
{
	(void)state;
	keep();
	arrive("find");
	assert_int_equal(got.held, 1);
	assert_int_equal(got.kept, 4);
	hold_end(rig.w, hold_find(rig.w, &rig.rt, &to));
	assert_null(hold_tagged(rig.w, &rig.rt, TAG));
}

/* A tag is of one service. Fails when hold_tagged or hold_find does not compare it. */
static void tags_of_others(void **state)
{
	struct service_rt other = rig.rt;

	(void)state;
	keep();
	assert_non_null(hold_tagged(rig.w, &rig.rt, TAG));
	assert_null(hold_tagged(rig.w, &other, TAG));
	assert_ptr_equal(hold_find(rig.w, &rig.rt, &to), hold_tagged(rig.w, &rig.rt, TAG));
	assert_null(hold_find(rig.w, &other, &to));
	assert_null(hold_tagged(rig.w, &rig.rt, TAG + 1));
}

/* A note is read at once, its answer is the state from then on, and octets that are let go are gone. Fails when hold_again forgets the state
 * or let_go does not run. */
static void note_here(void **state)
{
	(void)state;
	keep();
	arrive("note");
	assert_int_equal(got.notes, 1);
	assert_int_equal(got.note[31], 'n');
	assert_int_equal(got.kept, 4);
	got.spare = true; /* there is room */
	arrive("note");
	arrive("pass");
	assert_int_equal(got.kept, 4);
	got.shed = true;
	arrive("note");
	assert_int_equal(got.state[0], 2);
	arrive("pass");
	assert_int_equal(got.kept, 0);
	to.generation++;
	arrive("note");
	assert_int_equal(got.notes, 3);
}

/* As long as a hold says that it races all steps know; its end is the end of that. Fails when hold_races does not count, or hold_end forgets it. */
static void races(void **state)
{
	(void)state;
	keep();
	arrive("note");
	assert_false(got.races);
	got.race = true;
	for (int i = 0; i < 2; i++)
		arrive("note");
	assert_true(got.races);
	assert_int_equal(rig.net->races, 1);
	got.race = false;
	arrive("note");
	arrive("note");
	assert_false(got.races);
	got.race = true;
	arrive("note");
	hold_end(rig.w, hold_find(rig.w, &rig.rt, &to));
	assert_int_equal(rig.net->races, 0);
}

/* By letter, as another worker posts it: a note waits until its worker looks, a parcel does not. Fails when letter_post wakes for notes, or when
 * told_take drops either. */
static void by_letter(void **state)
{
	struct letter l = {.kind = LETTER_NOTE, .service = 1, .addr = {.family = 4, .ip = {192, 0, 2, 8}, .port = 5060}, .listener = 7};
	uint8_t note[HF_NOTE];

	(void)state;
	keep();
	l.flow = to;
	memset(note, 'l', sizeof note);
	assert_true(letter_post(rig.w, &l, hf_bytes_of(note, sizeof note)));
	assert_true(letter_any(&rig.w->box));
	assert_false(rig.w->box.rung);
	RIG_UNTIL(got.notes == 1); /* while anything is held the worker looks */
	assert_int_equal(got.note[0], 'l');
	l.kind = LETTER_PASS;
	assert_true(letter_post(rig.w, &l, HF_LIT("pass")));
	assert_true(rig.w->box.rung);
	RIG_UNTIL(got.letters == 1);
	assert_false(letter_any(&rig.w->box));
	hold_end(rig.w, hold_find(rig.w, &rig.rt, &to));
	assert_true(letter_post(rig.w, &l, HF_LIT("pass")));
	RIG_UNTIL(got.lost == 1);
}

/* Letters that wait do not keep a parcel's letter from being noticed. Fails when the first letter of a box rings, whatever it is. */
static void behind_notes(void **state)
{
	struct letter l = {.kind = LETTER_NOTE, .service = 1, .listener = 7};
	uint8_t note[HF_NOTE] = {0};

	(void)state;
	assert_true(letter_post(rig.w, &l, hf_bytes_of(note, sizeof note)));
	l.kind = LETTER_PASS;
	assert_true(letter_post(rig.w, &l, HF_LIT("pass")));
	RIG_UNTIL(got.lost == 1);
}

/* More than half a box of notes rings: it never fills while its worker sleeps. */
static void many_notes(void **state)
{
	struct letter l = {.kind = LETTER_NOTE, .service = 1};
	uint8_t note[HF_NOTE] = {0};

	(void)state;
	while (rig.w->box.used <= rig.w->box.cap / 2) {
		assert_false(rig.w->box.rung);
		assert_true(letter_post(rig.w, &l, hf_bytes_of(note, sizeof note)));
	}
	assert_true(rig.w->box.rung);
	RIG_UNTIL(!letter_any(&rig.w->box));
}

/* A name is its tag's, before and after its hold, and finds none that has ended; places grow without losing tags. Fails when a name counts places, or
 * when grow does not link anew. */
static void places(void **state)
{
	uint8_t s[HF_HOLD_STATE] = {0};
	struct parcel p = {.w = rig.w, .service = &rig.service, .rt = &rig.rt};
	struct hf_flow_name first = hold_next(rig.w, 1, 1), again;
	struct hold *x;

	(void)state;
	rig.conf.gateway.max_holds = 1000;
	x = hold_keep(&p, 1000, s, HF_LIT("x"), 1);
	hold_end(rig.w, x);
	assert_null(hold_find(rig.w, &rig.rt, &first));
	again = hold_next(rig.w, 1, 1);
	assert_true(again.slot == first.slot && again.generation == first.generation);
	assert_int_not_equal(hold_next(rig.w, 1, (uint64_t)1 << 32).generation, 0);
	assert_int_equal(hold_next(rig.w, 1, UINT64_MAX).slot, 0xffffff); /* as many bits as fronts write */
	assert_int_equal(hold_next(rig.w, 1, 0).generation, 0);
	for (uint64_t i = 1; i <= 1000; i++)
		assert_non_null(hold_keep(&p, (uint32_t)(1000 + i * 7919 % 1000), s, HF_LIT("x"), i));
	assert_int_equal(hold_next(rig.w, 1, 1).generation, 0);
	for (uint64_t i = 1; i <= 1000; i++) {
		struct hf_flow_name n;

		x = hold_tagged(rig.w, &rig.rt, i);
		assert_non_null(x);
		n = hold_name(rig.w, x);
		assert_ptr_equal(hold_find(rig.w, &rig.rt, &n), x);
		if (i % 3 == 0)
			hold_end(rig.w, x);
	}
	assert_int_not_equal(hold_next(rig.w, 1, 1).generation, 0);
	assert_int_equal(hold_next(rig.w, 17u << 20, 1).generation, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, rig_down)

int main(void)
{
	const struct CMUnitTest tests[] = {T(by_name), cmocka_unit_test_setup_teardown(over_a_restart, two, one), cmocka_unit_test_setup_teardown(carried, two, one), cmocka_unit_test_setup_teardown(in_their_order, two, one), T(by_tag), T(tags_of_others), T(note_here), T(races), T(by_letter), T(behind_notes), T(many_notes), T(places)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
