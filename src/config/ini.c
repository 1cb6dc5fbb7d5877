/* The INI reader; see ini.h. Must not know what sections and options there are. Called by load.c. */
#include "ini.h"

#include "holdfast/log.h"

bool ini_is_name(struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++) {
		uint8_t c = b.p[i], l = hf_lower(c);
		bool plain = (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9');

		if (!plain && (i == 0 || (c != '.' && c != '_' && c != '-')))
			return false;
	}
	return b.n >= 1 && b.n <= INI_NAME_MAX;
}

const struct ini_entry *ini_find(const struct ini_doc *doc, const struct ini_section *s, const char *key)
{
	for (unsigned i = 0; s && i < s->n; i++)
		if (hf_bytes_eq(doc->entries[s->first + i].key, hf_bytes_str(key)))
			return &doc->entries[s->first + i];
	return NULL;
}

bool ini_word(struct hf_bytes *rest, struct hf_bytes *word)
{
	*word = hf_bytes_word(rest);
	return word->n > 0;
}

/* One bad octet a line is enough to report. */
static bool clean(struct hf_bytes line, unsigned no, struct finding_to *to)
{
	for (size_t i = 0; i < line.n; i++)
		if ((line.p[i] < 0x20 && line.p[i] != '\t') || line.p[i] == 0x7f) {
			finding_error(to, no, "control octet 0x%02x at column %zu: a line holds text and blanks only", line.p[i], i + 1);
			return false;
		}
	return true;
}

/* Returns the section that the lines from here on belong to, or NULL: they are skipped. */
static struct ini_section *open_section(struct ini_doc *doc, struct hf_bytes line, unsigned no, struct finding_to *to)
{
	struct hf_bytes rest, kind, name, more;
	struct ini_section *s;

	if (line.p[line.n - 1] != ']') {
		finding_error(to, no, "%s: a section's line ends in ]", hf_log_text(line));
		return NULL;
	}
	rest = hf_bytes_sub(line, 1, line.n - 2);
	if (!ini_word(&rest, &kind)) {
		finding_error(to, no, "[]: a section needs a name: [gateway], [service NAME] or [pool NAME]");
		return NULL;
	}
	if (ini_word(&rest, &name) && (ini_word(&rest, &more) || !ini_is_name(name))) {
		finding_error(to, no, "%s: a name is one word of 1 to %u letters, digits, '.', '_' and '-', a letter or digit first",
			hf_log_text(line), INI_NAME_MAX);
		return NULL;
	}
	if (doc->n_sections == INI_SECTIONS_MAX) {
		finding_error(to, no, "more than %u sections", INI_SECTIONS_MAX);
		return NULL;
	}
	s = &doc->sections[doc->n_sections++];
	*s = (struct ini_section){.kind = kind, .name = name, .line = no, .first = doc->n_entries};
	return s;
}

/* What people bring along from other formats, and what is then part of the value. */
static void surprises(struct hf_bytes key, struct hf_bytes v, unsigned no, struct finding_to *to)
{
	for (size_t i = 1; i < v.n; i++)
		if ((v.p[i] == '#' || v.p[i] == ';') && (v.p[i - 1] == ' ' || v.p[i - 1] == '\t')) {
			finding_warn(to, no, "%s: '%c' and what follows are part of the value; a comment stands on a line of its own", hf_log_text(key), v.p[i]);
			break;
		}
	if (v.n > 1 && v.p[0] == v.p[v.n - 1] && (v.p[0] == '"' || v.p[0] == '\''))
		finding_warn(to, no, "%s: the quotes are part of the value", hf_log_text(key));
}

static void entry(struct ini_doc *doc, struct ini_section *s, struct hf_bytes line, unsigned no, struct finding_to *to)
{
	size_t eq = hf_bytes_find(line, '=');
	struct hf_bytes key = hf_bytes_trim(hf_bytes_sub(line, 0, eq)), value = hf_bytes_trim(hf_bytes_sub(line, eq + 1, line.n));

	if (eq == line.n || !ini_is_name(key)) {
		finding_error(to, no, "%s: neither [SECTION] nor NAME = VALUE", hf_log_text(line));
		return;
	}
	if (!s)
		return;
	if (!value.n) {
		finding_error(to, no, "%s: has no value; leave the line out for the default", hf_log_text(key));
		return;
	}
	surprises(key, value, no, to);
	doc->entries[doc->n_entries++] = (struct ini_entry){key, value, no};
	s->n++;
}

/* Room for all that the text can hold: a section takes a '[', an entry a '=', and either takes a line. */
static bool make_room(struct hf_bytes text, struct confmem *mem, struct ini_doc *doc)
{
	size_t lines = 1, sections = 0, entries = 0;

	for (size_t i = 0; i < text.n; i++) {
		lines += text.p[i] == '\n';
		sections += text.p[i] == '[';
		entries += text.p[i] == '=';
	}
	sections = sections < lines ? sections : lines;
	sections = sections < INI_SECTIONS_MAX ? sections : INI_SECTIONS_MAX;
	entries = entries < lines ? entries : lines;
	doc->sections = confmem_alloc(mem, sections * sizeof *doc->sections);
	doc->entries = confmem_alloc(mem, entries * sizeof *doc->entries);
	return doc->sections && doc->entries;
}

void ini_read(struct hf_bytes text, struct confmem *mem, struct ini_doc *doc, struct finding_to *to)
{
	struct ini_section *s = NULL;
	bool any = false;

	if (hf_bytes_starts(text, HF_LIT("\xef\xbb\xbf"))) /* a byte order mark: some editors write one */
		text = hf_bytes_sub(text, 3, text.n);
	if (!make_room(text, mem, doc)) {
		to->no_memory = true;
		return;
	}
	for (unsigned no = 1; text.n; no++) {
		size_t end = hf_bytes_find(text, '\n');
		struct hf_bytes line = hf_bytes_sub(text, 0, end);

		text = hf_bytes_sub(text, end + 1, text.n);
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		if (line.n > INI_LINE_MAX) {
			finding_error(to, no, "a line of %zu octets: at most %u", line.n, INI_LINE_MAX);
			continue;
		}
		if (!clean(line, no, to))
			continue;
		line = hf_bytes_trim(line);
		if (!line.n || line.p[0] == '#' || line.p[0] == ';')
			continue;
		if (line.p[0] == '[') {
			any = true;
			s = open_section(doc, line, no, to);
			continue;
		}
		if (!any)
			finding_error(to, no, "%s: stands before the first [SECTION]", hf_log_text(line));
		else
			entry(doc, s, line, no, to);
	}
}
