/* The mutator: one of a table of changes, once or a few times. It must not know what is right. */
#include "mutate.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
	struct mutator *m;
	uint8_t *p;
	size_t n, room, from; /* octets before `from` stay */
};

/* xorshift64*: fast, and the same on every machine */
static uint64_t next(struct mutator *m)
{
	m->state ^= m->state >> 12;
	m->state ^= m->state << 25;
	m->state ^= m->state >> 27;
	return m->state * 0x2545f4914f6cdd1dull;
}

uint32_t mutate_random(struct mutator *m, uint32_t below) { return below ? (uint32_t)((next(m) >> 33) % below) : 0; }

static size_t place(struct work *w) { return w->from + mutate_random(w->m, (uint32_t)(w->n - w->from)); }

/* Replaces `cut` octets at `at` by q. */
static void splice(struct work *w, size_t at, size_t cut, const uint8_t *q, size_t k)
{
	if (at + cut > w->n || w->n - cut + k > w->room)
		return;
	memmove(w->p + at + k, w->p + at + cut, w->n - at - cut);
	if (k)
		memcpy(w->p + at, q, k);
	w->n = w->n - cut + k;
}

static void flip(struct work *w)
{
	w->p[place(w)] ^= (uint8_t)(1u << mutate_random(w->m, 8));
}

static void octet(struct work *w)
{
	static const uint8_t odd[] = "\0\r\n\t ,;:<>\"\\%@[]=()\x7f\x80\xff\xc3?&/~!0-+";

	w->p[place(w)] = odd[mutate_random(w->m, sizeof odd - 1)];
}

static void cut_tail(struct work *w) { w->n = place(w); }

static void cut_out(struct work *w)
{
	size_t at = place(w), most = w->n - at;

	splice(w, at, 1 + mutate_random(w->m, (uint32_t)(most > 40 ? 40 : most) - (most > 1)), NULL, 0);
}

static void graft(struct work *w)
{
	const struct piece *s = &w->m->seeds[mutate_random(w->m, w->m->n_seeds)];
	size_t at = place(w), from = mutate_random(w->m, (uint32_t)s->n), k = s->n - from;

	splice(w, at, w->n - at, s->p + from, k);
}

static void insert(struct work *w)
{
	static const char *const odd[] = {"\r\n", "\r\n\r\n", "\r\n ", "\n", "\r", ",", ";;", "\"", "\\\"", "%00", "<sip:", "[::1]", "\0", "sip:", "=?", ";lr", "\xc3\x28", "Cookie: msts=", "\r\nCookie: mstshash=", "\x01\x00\x08\x00\x0b\x00\x00\x00"};
	const char *s = odd[mutate_random(w->m, sizeof odd / sizeof *odd)];

	splice(w, place(w), 0, (const uint8_t *)s, *s == 1 ? 8 : *s ? strlen(s) : 1);
}

/* Values that overflow somewhere. */
static void number(struct work *w)
{
	static const char *const odd[] = {"0", "-1", "1", "00000000001", "255", "256", "65535", "65536", "2147483647", "2147483648", "4294967295", "4294967296", "18446744073709551615",
	                                  "99999999999999999999999999", "3.5", "+7", "0x10", "", " 9", "1e9"};
	size_t at = place(w), end;
	char own[12];
	const char *s = odd[mutate_random(w->m, sizeof odd / sizeof *odd)];

	while (at < w->n && !isdigit(w->p[at]))
		at++;
	for (end = at; end < w->n && isdigit(w->p[end]);)
		end++;
	if (mutate_random(w->m, 2)) {
		snprintf(own, sizeof own, "%u", (unsigned)mutate_random(w->m, 100000));
		s = own;
	}
	splice(w, at, end - at, (const uint8_t *)s, strlen(s));
}

static void longer(struct work *w)
{
	static const uint16_t runs[] = {16, 64, 128, 255, 256, 257, 1024, 4096, 5000, 16500};
	uint8_t run[16500];
	size_t k = runs[mutate_random(w->m, sizeof runs / sizeof *runs)];

	memset(run, "aA0;,:.% \t("[mutate_random(w->m, 11)], k);
	splice(w, place(w), 0, run, k);
}

static void length_octets(struct work *w)
{
	if (w->n > 5 && !w->m->text)
		w->p[2 + mutate_random(w->m, 3)] = (uint8_t)next(w->m);
}

/* ---- lines */

struct line {
	size_t at, n; /* its end included */
};

/* A line behind the first; false: there is none. */
static bool pick(struct work *w, struct line *l)
{
	size_t at = place(w);
	const uint8_t *e;

	while (at > w->from && w->p[at - 1] != '\n')
		at--;
	e = memchr(w->p + at, '\n', w->n - at);
	*l = (struct line){at, e ? (size_t)(e - w->p) - at + 1 : w->n - at};
	return at > 0 && l->n > 0;
}

static void line_twice(struct work *w)
{
	struct line l, to;
	uint8_t copy[2000];

	if (!pick(w, &l) || !pick(w, &to) || l.n > sizeof copy)
		return;
	memcpy(copy, w->p + l.at, l.n);
	splice(w, to.at, 0, copy, l.n);
}

static void line_away(struct work *w)
{
	struct line l;

	if (pick(w, &l))
		splice(w, l.at, l.n, NULL, 0);
}

static void lines_swapped(struct work *w)
{
	struct line l;
	uint8_t copy[2000];
	size_t n;

	if (!pick(w, &l) || l.n > sizeof copy)
		return;
	memcpy(copy, w->p + l.at, n = l.n);
	splice(w, l.at, l.n, NULL, 0);
	if (w->n > w->from && pick(w, &l))
		splice(w, l.at, 0, copy, n);
}

static void word(struct work *w)
{
	struct mutator *m = w->m;
	bool heard = m->n_learnt && mutate_random(m, 2);
	const struct piece *s = heard ? &m->learnt[mutate_random(m, m->n_learnt < LEARNT ? m->n_learnt : LEARNT)] : &m->words[mutate_random(m, m->n_words)];
	struct line l;

	if ((!heard && !m->n_words) || !pick(w, &l))
		return;
	splice(w, l.at, mutate_random(m, 4) ? 0 : l.n, s->p, s->n);
}

size_t mutate_again(struct mutator *m, uint8_t *out, size_t n, size_t room, size_t from)
{
	static void (*const binary[])(struct work *) = {flip, flip, octet, octet, cut_tail, cut_out, graft, insert, insert, number, number, longer, length_octets, word};
	static void (*const text[])(struct work *) = {flip, octet, octet, cut_tail, cut_out, graft, insert, number, number, longer, line_twice, line_away, lines_swapped, word, word, word};
	struct work w = {m, out, n, room, from};

	for (unsigned i = mutate_random(m, 4) + mutate_random(m, 2); i > 0 && w.n > w.from; i--) {
		if (m->text)
			text[mutate_random(m, sizeof text / sizeof *text)](&w);
		else
			binary[mutate_random(m, sizeof binary / sizeof *binary)](&w);
	}
	return w.n;
}

size_t mutate_octet(struct mutator *m, uint8_t *p, size_t n)
{
	if (n && mutate_random(m, 2))
		p[mutate_random(m, (uint32_t)n)] = (uint8_t)next(m);
	return n;
}

size_t mutate(struct mutator *m, uint8_t *out, size_t room)
{
	const struct piece *s = &m->seeds[mutate_random(m, m->n_seeds)];
	size_t n = s->n < room ? s->n : room;

	memcpy(out, s->p, n);
	return mutate_again(m, out, n, room, 0);
}

/* ---- where they come from */

static void keep(struct piece *to, const void *p, size_t n)
{
	free(to->p);
	*to = (struct piece){malloc(n + 1), n};
	if (!to->p)
		abort();
	memcpy(to->p, p, n);
}

static void add(struct mutator *m, const uint8_t *p, size_t n)
{
	if (m->n_seeds < SEEDS && n > 0)
		keep(&m->seeds[m->n_seeds++], p, n);
}

/* The length of the dotted quad, with a port, that begins here; 0: none. */
static size_t quad(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *q = p;
	unsigned dots = 0;

	for (; q < end && (isdigit(*q) || (*q == '.' && dots < 3 && ++dots)); q++)
		;
	if (dots < 3 || !isdigit(q[-1]))
		return 0;
	if (q + 1 < end && *q == ':' && isdigit(q[1]))
		for (q++; q < end && isdigit(*q); q++)
			;
	return (size_t)(q - p);
}

static void add_strange(struct mutator *m, const uint8_t *p, size_t n, const char *stranger)
{
	static uint8_t out[2 * SEED_MAX];
	size_t k = 0, len = strlen(stranger);

	for (size_t i = 0; i < n && k + len < sizeof out;) {
		size_t cut = i && isdigit(p[i - 1]) ? 0 : quad(p + i, p + n);

		if (cut)
			memcpy(out + k, stranger, len);
		else
			out[k] = p[i];
		k += cut ? len : 1;
		i += cut ? cut : 1;
	}
	add(m, out, k < SEED_MAX ? k : SEED_MAX);
}

static size_t from_hex(uint8_t *p, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i + 1 < n && isxdigit(p[i]) && isxdigit(p[i + 1]); i += 2)
		p[k++] = (uint8_t)((isdigit(p[i]) ? p[i] - '0' : (p[i] | 32) - 'a' + 10) * 16 + (isdigit(p[i + 1]) ? p[i + 1] - '0' : (p[i + 1] | 32) - 'a' + 10));
	return k;
}

static bool ends(const char *name, const char *end)
{
	size_t a = strlen(name), b = strlen(end);

	return a > b && !strcmp(name + a - b, end);
}

bool mutate_load(struct mutator *m, const char *folder, const char *stranger)
{
	static uint8_t text[4 * SEED_MAX];
	struct dirent **list;
	char path[1200];
	int n = scandir(folder, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		FILE *f = NULL;

		snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
		if (ends(path, m->text ? ".sip" : ".hex"))
			f = fopen(path, "rb");
		free(list[i]);
		if (!f)
			continue;
		size_t k = fread(text, 1, sizeof text, f);
		fclose(f);
		k = m->text ? k : from_hex(text, k);
		k = k < SEED_MAX ? k : SEED_MAX;
		add(m, text, k);
		if (m->text)
			add_strange(m, text, k, stranger);
	}
	if (n >= 0)
		free(list);
	return m->n_seeds > 0;
}

void mutate_word(struct mutator *m, const char *line)
{
	char text[600];

	if (m->n_words < WORDS) {
		int n = snprintf(text, sizeof text, "%s\r\n", line);

		keep(&m->words[m->n_words++], text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
	}
}

void mutate_learn(struct mutator *m, const uint8_t *p, size_t n)
{
	static const char name[] = "Record-Route:";
	const uint8_t *at = memmem(p, n, name, sizeof name - 1), *end;
	uint8_t line[800];

	if (!at || !(end = memchr(at, '\n', n - (size_t)(at - p))))
		return;
	size_t k = (size_t)(end - at) + 1 - 7; /* without "Record-" */

	if (k <= sizeof line) {
		memcpy(line, at + 7, k);
		keep(&m->learnt[m->n_learnt++ % LEARNT], line, k);
	}
}
