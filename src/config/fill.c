/* Filling structs from sections; see fill.h. Must not know any option by name. Called by load.c. */
#include "fill.h"

#include "holdfast/log.h"
#include "endpoint.h"
#include "nearest.h"
#include "optval.h"

void fill_defaults(struct optrows rows, unsigned section, void *base, const struct hf_front *front)
{
	uint8_t room[256];

	for (unsigned i = 0; i < rows.n; i++) {
		const struct hf_option *row = &rows.rows[i];
		const char *text = optrows_default(row, front);
		struct hf_writer why = hf_writer_on(room, sizeof room);

		if (text && (row->sections & section) && !optrows_is_special(row))
			HF_BUG_ON(optval_read(row, hf_bytes_str(text), base, &why) != HF_OK);
	}
}

/* Where else does a row of that name stand? Writes advice; false: nowhere. */
static bool elsewhere(struct hf_bytes key, struct hf_writer *w)
{
	static const struct { const struct optrows *rows; const char *where; } common[] = {
		{&optrows_gateway, "[gateway]"}, {&optrows_service, "[service NAME]"}, {&optrows_pool, "[pool NAME]"},
	};
	const struct hf_option *row;

	for (unsigned i = 0; i < 3; i++)
		if (optrows_find(common[i].rows, key)) {
			hf_w_printf(w, "it belongs into %s", common[i].where);
			return true;
		}
	for (unsigned i = 0; hf_fronts[i]; i++) {
		struct optrows rows = optrows_of(hf_fronts[i]);

		row = optrows_find(&rows, key);
		if (row) {
			hf_w_printf(w, "it belongs into %s of protocol %s", row->sections & HF_IN_SERVICE ? "[service NAME]" : "[pool NAME]", hf_fronts[i]->name);
			return true;
		}
	}
	return false;
}

static void unknown(const struct ini_entry *e, const struct fill_target *t, unsigned n, struct finding_to *to)
{
	char text[128] = "";
	struct hf_writer w = hf_writer_on(text, sizeof text - 1);
	struct nearest near = nearest_to(e->key);
	const char *line = endpoint_line_of(e->key);

	if (line) {
		finding_error(to, e->line, "%s: no option of this section; it stands behind the address in a %s line", hf_log_text(e->key), line);
		return;
	}
	if (finding_full(to) || elsewhere(e->key, &w)) {
		finding_error(to, e->line, "%s: no option of this section; %s", hf_log_text(e->key), text);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		for (unsigned r = 0; r < t[i].rows.n; r++)
			if (t[i].rows.rows[r].sections & t[i].section)
				nearest_try(&near, t[i].rows.rows[r].name);
	for (unsigned i = 0; !near.name && hf_fronts[i]; i++)
		for (unsigned r = 0; r < hf_fronts[i]->n_options; r++)
			nearest_try(&near, hf_fronts[i]->options[r].name);
	finding_error(to, e->line, "%s: unknown option%s", hf_log_text(e->key), nearest_text(&near));
}

/* A value that another section gave already must be the same: one pool has one answer. */
static void agree(const struct ini_entry *e, const struct fill_target *t, const struct hf_option *row, unsigned line, struct finding_to *to)
{
	_Alignas(16) char other[sizeof(struct hf_conf_pool)];
	uint8_t room[200];
	struct hf_writer why = hf_writer_on(room, sizeof room);

	HF_BUG_ON(t->size > sizeof other);
	memcpy(other, t->base, t->size);
	if (optval_read(row, e->value, other, &why) != HF_OK)
		finding_error(to, e->line, "%s = %s: %.*s", row->name, hf_log_text(e->value), (int)why.n, (char *)room);
	else if (!optval_same(row, t->base, other))
		finding_error(to, e->line, "%s = %s: line %u says otherwise for the same pool", row->name, hf_log_text(e->value), line);
}

static void fill_one(const struct ini_entry *e, const struct fill_target *t, unsigned r, struct finding_to *to)
{
	const struct hf_option *row = &t->rows.rows[r];
	uint8_t room[200];
	struct hf_writer why = hf_writer_on(room, sizeof room);

	if (t->given && t->given[r]) {
		agree(e, t, row, t->given[r], to);
		return;
	}
	if (optval_read(row, e->value, t->base, &why) != HF_OK)
		finding_error(to, e->line, "%s = %s: %.*s", row->name, hf_log_text(e->value), (int)why.n, (char *)room);
	if (t->given)
		t->given[r] = e->line;
}

/* The target that has the row, or n; *r is its row. */
static unsigned find_target(const struct ini_entry *e, const struct fill_target *t, unsigned n, unsigned *r)
{
	for (unsigned i = 0; i < n; i++) {
		const struct hf_option *row = optrows_find(&t[i].rows, e->key);

		if (row && (row->sections & t[i].section)) {
			*r = (unsigned)(row - t[i].rows.rows);
			return i;
		}
	}
	return n;
}

#define TARGETS_MAX 12

void fill_section(const struct ini_doc *doc, const struct ini_section *s, const struct fill_target *t, unsigned n, struct finding_to *to)
{
	unsigned seen[TARGETS_MAX][FILL_ROWS_MAX] = {{0}}, r = 0;

	HF_BUG_ON(n > TARGETS_MAX);
	for (unsigned i = 0; i < s->n; i++) {
		const struct ini_entry *e = &doc->entries[s->first + i];
		unsigned hit = find_target(e, t, n, &r);

		if (hit == n) {
			unknown(e, t, n, to);
			continue;
		}
		HF_BUG_ON(r >= FILL_ROWS_MAX);
		if (seen[hit][r] && !optrows_repeats(&t[hit].rows.rows[r])) {
			finding_error(to, e->line, "%s: given twice in this section, first in line %u", t[hit].rows.rows[r].name, seen[hit][r]);
			continue;
		}
		seen[hit][r] = e->line;
		if (!optrows_is_special(&t[hit].rows.rows[r]))
			fill_one(e, &t[hit], r, to);
	}
}
