/* Cutting and inserting by the scanner's places: what is left must scan as the same message but for the one value, in every layout.
 * Breaks when: via_cut or a route's cut loses its comma, its line or its fold; when via_at is not before the first Via. */
#include "sip_data.h"

#define REST "f: <sip:a@h>;tag=f\r\nt: <sip:b@h>\r\ni: c\r\nCSeq: 1 INVITE\r\nl: 2\r\n\r\n,V"
#define START "INVITE sip:b@h SIP/2.0\r\n"

static const char *const vias[] = {
	START "Via: SIP/2.0/UDP a\r\nVia: SIP/2.0/UDP b\r\n" REST,
	START "Via: SIP/2.0/UDP a,SIP/2.0/UDP b\r\n" REST,
	START "X: y\r\nVia: SIP/2.0/UDP a;x=\"1,2\" ,  SIP/2.0/UDP b , SIP/2.0/UDP c\r\n" REST,
	START "v:SIP/2.0/UDP a\r\nX: y\r\nVIA: SIP/2.0/UDP b,\tSIP/2.0/UDP c\r\nv :SIP/2.0/UDP d\r\n" REST,
	START "Via:\r\n SIP/2.0/UDP a,\r\n SIP/2.0/UDP b\r\nX: y\r\n" REST,
	START "Via: SIP/2.0/UDP\r\n a\r\n ;x=y\r\nX: y\r\nv: SIP/2.0/UDP b\r\n" REST,
	START "v: SIP/2.0/UDP a\r\n\t,SIP/2.0/UDP b\r\n \r\n" REST,
};

static const char *const routes[] = {
	START "v: SIP/2.0/UDP a\r\nRoute: <sip:1>\r\n" REST,
	START "v: SIP/2.0/UDP a\r\nRoute: <sip:1>,<sip:2>\r\n" REST,
	START "v: SIP/2.0/UDP a\r\nRoute: <sip:1>\r\nX: y\r\nroute : <sip:2>\r\n" REST,
	START "v: SIP/2.0/UDP a\r\nRoute: \"a, <b\" <sip:1;x,2>;p=\",\" ,\r\n <sip:2>\r\n ,  <sip:3>\r\nX: y\r\nRoute: <sip:4>, <sip:5>, <sip:6>\r\n" REST,
	START "v: SIP/2.0/UDP a\r\nRoute: <sip:1>, <sip:2>\r\nRoute: <sip:3>\r\nRoute: <sip:4>,<sip:5>\r\n" REST,
	START "v: SIP/2.0/UDP a\r\nRoute: <sip:1>, <sip:2>, <sip:3>, <sip:4>\r\n" REST,
	START "v: SIP/2.0/UDP a\r\nRoute: <sip:1>, <sip:2>, <sip:3>, <sip:4>, <sip:5>\r\n" REST,
};

/* The values of a header in order, each followed by a '|'; and all other lines with the body. */
struct view { uint8_t values[8192], others[1 << 17]; size_t n_values, n_others; };

static void view(const struct sip_msg *m, bool via, struct view *v)
{
	struct hf_writer a = hf_writer_on(v->values, sizeof v->values), b = hf_writer_on(v->others, sizeof v->others);
	struct hf_bytes list, value;
	struct sip_line l;
	uint32_t at = 0;

	while (sip_line_next(m, &at, &l)) {
		struct hf_bytes name = hf_bytes_sub(m->raw, l.name.at, l.name.n);

		if (via ? !l.is_via : !hf_bytes_ieq(name, HF_LIT("Route"))) {
			hf_w_bytes(&b, hf_bytes_sub(m->raw, l.line.at, l.line.n));
			continue;
		}
		for (list = l.text; sip_value_next(&list, &value); hf_w_u8(&a, '|'))
			hf_w_bytes(&a, value);
	}
	hf_w_bytes(&b, hf_bytes_sub(m->raw, m->head_end, m->raw.n));
	assert_false(a.full || b.full);
	v->n_values = a.n, v->n_others = b.n;
}

static struct view before, after;
static uint8_t edited[1 << 17];

/* Scans the message without some places and with `put` at an offset before them. */
static void edit(const struct sip_msg *m, const char *put, uint32_t put_at, const struct sip_span *cut, unsigned n, struct sip_msg *out)
{
	struct hf_writer w = hf_writer_on(edited, sizeof edited);
	uint32_t at = 0;

	if (put) {
		hf_w_bytes(&w, hf_bytes_sub(m->raw, 0, put_at));
		hf_w_str(&w, put);
		at = put_at;
	}
	for (unsigned i = 0; i < n; i++) {
		assert_true(cut[i].at >= at && cut[i].n > 0);
		hf_w_bytes(&w, hf_bytes_sub(m->raw, at, cut[i].at - at));
		at = cut[i].at + cut[i].n;
	}
	hf_w_bytes(&w, hf_bytes_sub(m->raw, at, m->raw.n));
	if (data_scan(hf_writer_view(&w), false, &wide_limits, out) != SIP_GOOD)
		fail_msg("%s in:\n%.*s", out->why, (int)w.n, (const char *)w.p);
}

/* after's values are before's without the one that begins at octet `from` of the list, and all else is the same. */
static void without(size_t from, unsigned count)
{
	size_t to = from;

	while (count--)
		to += hf_bytes_find(hf_bytes_of(before.values + to, before.n_values - to), '|') + 1;
	assert_int_equal(after.n_others, before.n_others);
	assert_memory_equal(after.others, before.others, before.n_others);
	assert_int_equal(after.n_values, before.n_values - (to - from));
	assert_memory_equal(after.values, before.values, from);
	assert_memory_equal(after.values + from, before.values + to, before.n_values - to);
}

static void via_edits(struct hf_bytes raw)
{
	struct sip_msg m, e;

	if (data_scan(raw, false, &wide_limits, &m) != SIP_GOOD)
		return;
	view(&m, true, &before);
	if (m.n_vias > 1) {
		edit(&m, NULL, 0, &m.via_cut, 1, &e);
		assert_int_equal(e.n_vias, m.n_vias - 1);
		view(&e, true, &after);
		without(0, 1);
	}
	edit(&m, "Via: SIP/2.0/UDP new;branch=z9hG4bK-new\r\n", m.via_at, NULL, 0, &e);
	assert_int_equal(e.n_vias, m.n_vias + 1);
	assert_true(hf_bytes_eq(e.via[0].host, HF_LIT("new")));
	view(&m, true, &after);
	view(&e, true, &before);
	without(0, 1);
}

static void route_edits(struct hf_bytes raw)
{
	struct sip_msg m, e;
	struct sip_span cuts[SIP_MAX_ROUTES];
	size_t from = 0;

	if (data_scan(raw, false, &wide_limits, &m) != SIP_GOOD || m.n_routes == 0)
		return;
	view(&m, false, &before);
	for (unsigned i = 0; i < m.n_routes && i < SIP_MAX_ROUTES; i++) {
		edit(&m, NULL, 0, &m.route[i].cut, 1, &e);
		view(&e, false, &after);
		without(from, 1);
		from += hf_bytes_find(hf_bytes_of(before.values + from, before.n_values - from), '|') + 1;
		edit(&m, NULL, 0, cuts, sip_routes_cut(&m, i + 1, cuts), &e);
		assert_int_equal(e.n_routes, m.n_routes - i - 1);
		view(&e, false, &after);
		without(0, i + 1);
	}
	for (from = before.n_values - 1; from && before.values[from - 1] != '|';)
		from--;
	edit(&m, NULL, 0, &m.route_last.cut, 1, &e);
	view(&e, false, &after);
	without(from, 1);
	assert_int_equal(m.route_last.uri.host.n > 0, true);
}

static void layouts(void **state)
{
	struct sip_msg m;

	(void)state;
	for (size_t i = 0; i < sizeof vias / sizeof vias[0]; i++) {
		assert_int_equal(data_scan(hf_bytes_str(vias[i]), false, &wide_limits, &m), SIP_GOOD);
		assert_true(m.n_vias >= 2);
		via_edits(hf_bytes_str(vias[i]));
	}
	for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
		if (data_scan(hf_bytes_str(routes[i]), false, &wide_limits, &m) != SIP_GOOD || !m.n_routes)
			fail_msg("%s: %s", m.why, routes[i]);
		route_edits(hf_bytes_str(routes[i]));
	}
}

/* Cutting the two topmost of a line together is one place, not two that overlap. */
static void together(void **state)
{
	struct sip_span cuts[SIP_MAX_ROUTES];
	struct sip_msg m;

	(void)state;
	data_scan(hf_bytes_str(routes[4]), false, &wide_limits, &m);
	assert_int_equal(sip_routes_cut(&m, 2, cuts), 1);
	assert_int_equal(sip_routes_cut(&m, 3, cuts), 2);
	assert_int_equal(sip_routes_cut(&m, 4, cuts), 3);
	assert_int_equal(cuts[2].n, strlen("<sip:4>,"));
	assert_int_equal(sip_routes_cut(&m, 0, cuts), 0);
}

static void set(const char *dir)
{
	struct table t = table_open(dir);
	struct row r;

	while (table_next(&t, &r)) {
		via_edits(data_read(dir, r.file));
		route_edits(data_read(dir, r.file));
	}
	table_close(&t);
}

static void torture(void **state)
{
	char dir[512];

	(void)state;
	set(HF_SOURCE_DIR "/tests/data/sip/extra");
	if (shared_dir("torture/sip", dir, sizeof dir))
		set(dir);
	else
		print_message("HOLDFAST_SHARED is not set: the RFCs' messages are skipped\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(layouts), cmocka_unit_test(together), cmocka_unit_test(torture)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
