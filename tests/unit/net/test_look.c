/* Finding members in a snapshot (net/look.c): by id, hash, former hash and exact address; what is not there is not found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "inside.h"

#define N 1000

static struct snap_member members[N];
static uint16_t by_id[HF_SERVERS_MAX + 1];
static struct snap_cell by_hash[4096], by_addr[4096];

/* Hashes that fall on few cells, and addresses that differ in one part only, so that walks are long. */
static struct hf_addr addr_of(unsigned i)
{
	struct hf_addr a = {.family = i % 3 ? 4 : 6, .port = (uint16_t)(3389 + i % 7)};

	a.ip[3] = (uint8_t)(i / 7);
	a.ip[2] = (uint8_t)(i / 7 / 256);
	a.ip[0] = 10;
	return a;
}

static struct snap_pool filled(void)
{
	struct snap_pool p = {.members = members, .n_members = N, .by_id = by_id, .by_hash = by_hash, .by_addr = by_addr, .mask = 4095};

	memset(members, 0, sizeof members);
	memset(by_id, 0, sizeof by_id);
	memset(by_hash, 0, sizeof by_hash);
	memset(by_addr, 0, sizeof by_addr);
	for (unsigned i = 0; i < N; i++) {
		members[i].id = (uint16_t)(i * 4 + 1);
		members[i].hash = (i + 1) * 1024;
		members[i].addr = addr_of(i);
	}
	snap_index(&p);
	return p;
}

/* Fails when a walk ends at the first cell that is taken, or does not go round the end of the table. */
static void all_are_found(void **state)
{
	struct snap_pool p = filled();

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		struct hf_addr a = addr_of(i);

		assert_ptr_equal(snap_by_id(&p, members[i].id), &members[i]);
		assert_ptr_equal(snap_by_hash(&p, members[i].hash), &members[i]);
		assert_ptr_equal(snap_by_addr(&p, &a), &members[i]);
	}
}

/* Fails when only the hashes of addresses are compared, or an id is not checked. */
static void nothing_else_is(void **state)
{
	struct snap_pool p = filled();
	struct hf_addr a = addr_of(3);

	(void)state;
	assert_null(snap_by_id(&p, 0));
	assert_null(snap_by_id(&p, 2));
	assert_null(snap_by_id(&p, UINT16_MAX));
	assert_null(snap_by_hash(&p, 0));
	assert_null(snap_by_hash(&p, 1025));
	a.port = 1;
	assert_null(snap_by_addr(&p, &a));
	assert_true(snap_has_ip(&p, &a));
	a.ip[0] = 11;
	assert_false(snap_has_ip(&p, &a));
	a = (struct hf_addr){0};
	assert_null(snap_by_addr(&p, &a));
}

/* Two addresses of one key are two. Fails when only keys are compared. */
static void one_key(void **state)
{
	struct snap_pool p = filled();
	struct hf_addr a = {.family = 6, .port = 3389, .ip = {8}}, b = {.family = 6, .port = 3389, .ip = {8 ^ 3, 0, 0, 0, 1}};

	(void)state;
	p.n_members = 1;
	memset(by_addr, 0, sizeof by_addr);
	members[0].addr = a;
	snap_index(&p);
	assert_null(snap_by_addr(&p, &b));
	p.n_members = 2;
	members[1].addr = b;
	snap_index(&p);
	assert_ptr_equal(snap_by_addr(&p, &a), &members[0]);
	assert_ptr_equal(snap_by_addr(&p, &b), &members[1]);
}

/* A former name leads to its server, unless a server of that name is there, wherever it stands. Fails when the last or the first one put in wins. */
static void former_names(void **state)
{
	struct snap_pool p = filled();

	(void)state;
	p.n_members = 2;
	memset(by_hash, 0, sizeof by_hash);
	members[1].was_hash[0] = 77;
	snap_index(&p);
	assert_ptr_equal(snap_by_hash(&p, 77), &members[1]);
	memset(by_hash, 0, sizeof by_hash);
	members[0].was_hash[1] = 77; /* longer ago */
	members[0].was_hash[HF_FORMER_MAX - 1] = 78;
	snap_index(&p);
	assert_ptr_equal(snap_by_hash(&p, 77), &members[1]);
	assert_ptr_equal(snap_by_hash(&p, 78), &members[0]);
	for (unsigned i = 0; i < 2; i++) {
		memset(by_hash, 0, sizeof by_hash);
		members[i].was_hash[0] = members[!i].hash;
		snap_index(&p);
		assert_ptr_equal(snap_by_hash(&p, members[!i].hash), &members[!i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_are_found), cmocka_unit_test(nothing_else_is), cmocka_unit_test(one_key), cmocka_unit_test(former_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
