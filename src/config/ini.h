/* The INI reader: text -> sections of lines (config floor, inside). It knows no section and no option by name.
 *
 * [KIND] or [KIND NAME], then NAME = VALUE lines. Comments are lines that begin with # or ; (after blanks). No quotes, no
 * escapes, no continuation lines. Blanks at the ends of names and values go; LF or CRLF ends a line. */
#ifndef INI_H
#define INI_H

#include "confmem.h"
#include "finding.h"

#define INI_FILE_MAX (1u << 20) /* octets of a file: some ten thousand servers */
#define INI_LINE_MAX 4096       /* octets of a line: some fifty listen addresses */
#define INI_SECTIONS_MAX 4096
#define INI_NAME_MAX 63

struct ini_entry {
	struct hf_bytes key, value;
	unsigned line;
};

struct ini_section {
	struct hf_bytes kind, name; /* name.n == 0: none */
	unsigned line;
	unsigned first, n;          /* its entries */
};

struct ini_doc {
	struct ini_section *sections;
	unsigned n_sections;
	struct ini_entry *entries;
	unsigned n_entries;
};

/* All views point into text, which must outlive doc. What is not of the form is found and left out. */
void ini_read(struct hf_bytes text, struct confmem *mem, struct ini_doc *doc, struct finding_to *to);
/* A name of a section or server: [A-Za-z0-9][A-Za-z0-9._-]{0,62}. */
bool ini_is_name(struct hf_bytes b);
/* The first entry of that key in the section (may be NULL), or NULL. */
const struct ini_entry *ini_find(const struct ini_doc *doc, const struct ini_section *s, const char *key);
/* Takes the next word, up to a blank, off rest; false: there is none. */
bool ini_word(struct hf_bytes *rest, struct hf_bytes *word);

#endif
