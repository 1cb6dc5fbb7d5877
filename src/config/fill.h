/* From the lines of a section to the fields of structs, by option tables (config floor, inside). */
#ifndef FILL_H
#define FILL_H

#include "ini.h"
#include "optrows.h"

#define FILL_ROWS_MAX 128 /* rows of one table */

/* A table, and the struct that its rows fill. */
struct fill_target {
	struct optrows rows;
	unsigned section;   /* only rows with this HF_IN_ bit */
	void *base;
	unsigned *given;    /* rows.n lines: where a value of base was given, shared by all sections that may give it; NULL: they override */
	size_t size;        /* of base, with given */
};

/* Every row of the section bit gets its default, a front's own first. */
void fill_defaults(struct optrows rows, unsigned section, void *base, const struct hf_front *front);
/* The section's lines go to the first target that has the row. Special rows are only checked for being there twice. */
void fill_section(const struct ini_doc *doc, const struct ini_section *s, const struct fill_target *t, unsigned n, struct finding_to *to);

#endif
