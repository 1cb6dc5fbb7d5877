/* Where names lead (net/leads.c): what is known is found, the table is bounded, and an answer has one order for one asker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "leads.h"

const struct hf_front *const hf_fronts[] = {NULL};

static const uint8_t key[16] = {1, 2, 3};

static struct lead_name name(unsigned i)
{
	struct lead_name n = {.service = 1};

	snprintf(n.host, sizeof n.host, "h%u.example.com", i);
	return n;
}

static struct lead *put(struct leads *t, unsigned i, uint64_t until_ms, bool asked)
{
	struct lead_name n = name(i);
	struct lead *l = leads_add(t, &n);

	if (l) {
		l->until_ms = until_ms;
		l->asked = asked;
	}
	return l;
}

static bool has(struct leads *t, unsigned i)
{
	struct lead_name n = name(i);

	return leads_find(t, &n) != NULL;
}

/* Services and ways are told apart. Fails when leads_find compares the host alone. */
static void found(void **state)
{
	struct leads *t = leads_new(key, 100);
	struct lead_name n = name(1);

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		assert_non_null(put(t, i, 1000, false));
	for (unsigned i = 0; i < 100; i++)
		assert_true(has(t, i));
	assert_false(has(t, 100));
	n.ways = 3;
	assert_null(leads_find(t, &n));
	n.ways = 0;
	n.service = 2;
	assert_null(leads_find(t, &n));
	leads_forget(t);
	assert_true(has(t, 7));
	n = name(7);
	assert_false(lead_is_known(leads_find(t, &n), 999));
	leads_free(t);
}

/* Whose answer ends first gives way, but never one that somebody waits for. Fails when make_room takes the last, or one that is asked for. */
static void bounded(void **state)
{
	struct leads *t = leads_new(key, 4);

	(void)state;
	put(t, 0, 4000, false);
	put(t, 1, 0, true);
	put(t, 2, 2000, false);
	put(t, 3, 3000, false);
	assert_non_null(put(t, 4, 5000, true));
	assert_true(has(t, 0) && has(t, 1) && !has(t, 2) && has(t, 3) && has(t, 4));
	assert_non_null(put(t, 5, 6000, true));
	assert_non_null(put(t, 6, 7000, true));
	assert_null(put(t, 7, 8000, false));
	assert_true(has(t, 1) && has(t, 4) && has(t, 5) && has(t, 6));
	leads_free(t);
}

static struct spot spot(const char *addr, uint16_t priority, uint16_t weight)
{
	struct spot s = {.priority = priority, .weight = weight, .transport = HF_TCP};

	assert_int_equal(hf_addr_read(hf_bytes_str(addr), 0, &s.addr), HF_OK);
	return s;
}

static const char *const addrs[] = {"192.0.2.1:5061", "192.0.2.2:5061", "192.0.2.3:5061", "[2001:db8::1]:5061", "192.0.2.4:5061"};

/* 192.0.2.1 and .2 share 3:1 of priority 1 before an IPv6 address of theirs; .3 and .4 stand behind. In the order of `from`. */
static struct spots answer(const unsigned from[5])
{
	struct spot mixed[5], all[] = {spot(addrs[0], 1, 300), spot(addrs[1], 1, 100), spot(addrs[2], 2, 0), spot(addrs[3], 1, 65535), spot(addrs[4], 3, 0)};
	struct spots s;

	for (unsigned i = 0; i < 5; i++)
		mixed[i] = all[from[i]];
	spots_take(&s, mixed, 5);
	return s;
}

/* By priority, IPv4 in front, weights among equals; the same for the same asker, whatever the order of the answer. Fails when spots_take does not sort, draw()
 * takes no weights, or equals() goes on into the next priority. */
static void order(void **state)
{
	static const unsigned one[] = {0, 1, 2, 3, 4}, other[] = {4, 2, 3, 1, 0};
	struct spots a = answer(one), b = answer(other);
	unsigned first = 0;

	(void)state;
	for (unsigned i = 0; i < 4000; i++) {
		const struct hf_seek q = {.spread = i * 0x123456789abcdefu};
		struct hf_found x, y;

		spots_order(&a, &q, &x);
		spots_order(&b, &q, &y);
		assert_int_equal(x.n, 5);
		for (unsigned k = 0; k < 5; k++)
			assert_true(hf_addr_eq(&x.place[k].addr, &y.place[k].addr));
		first += x.place[0].addr.ip[3] == 1;
		assert_true(x.place[0].addr.ip[3] + x.place[1].addr.ip[3] == 3);
		assert_int_equal(x.place[2].addr.family, 6);
		assert_true(x.place[3].addr.ip[3] == 3 && x.place[4].addr.ip[3] == 4);
		assert_true(x.place[0].addr.port == 5061 && x.place[0].transport == HF_TCP);
	}
	assert_in_range(first, 2880, 3120);
}

/* Of more than can be kept the first ones are. Fails when spots_take cuts before it sorts. */
static void many(void **state)
{
	struct spot all[20];
	struct spots s;

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		all[i] = spot(addrs[0], 1, 0);
		all[i].addr.ip[3] = (uint8_t)(40 - i);
	}
	spots_take(&s, all, 20);
	assert_int_equal(s.n, HF_PLACES_MAX);
	for (unsigned i = 0; i < s.n; i++)
		assert_int_equal(s.spot[i].addr.ip[3], 21 + i);
}

/* A name's own addresses have what the asker says; all are taken in turn by different askers. Without one the reason is said. */
static void its_own(void **state)
{
	struct spots s = {.n = 3};
	const struct spots none = {0};
	unsigned seen[4] = {0};
	struct hf_found out;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		s.spot[i] = spot(addrs[i], 0, 0);
		s.spot[i].transport = HF_TRANSPORTS;
		s.spot[i].addr.port = 0;
	}
	for (unsigned i = 0; i < 300; i++) {
		const struct hf_seek q = {.spread = i * 0x123456789abcdefu, .port = 5080, .transport = HF_UDP};

		spots_order(&s, &q, &out);
		assert_true(out.n == 3 && out.reason == HF_R_NONE && out.place[2].addr.port == 5080 && out.place[2].transport == HF_UDP);
		seen[out.place[0].addr.ip[3]]++;
	}
	for (unsigned i = 1; i < 4; i++)
		assert_in_range(seen[i], 60, 140);
	spots_order(&none, &(struct hf_seek){0}, &out);
	assert_true(out.n == 0 && out.reason == HF_R_UNRESOLVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(found), cmocka_unit_test(bounded), cmocka_unit_test(order), cmocka_unit_test(many), cmocka_unit_test(its_own)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
