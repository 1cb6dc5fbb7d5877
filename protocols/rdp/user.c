/* The canonical user; see user.h. ASCII letters are folded, all other octets are left alone: clients send UTF-8 raw. */
#include "user.h"

/* As much as there is room for. */
static struct hf_bytes fold(struct hf_bytes b, uint8_t *buf, size_t room)
{
	size_t n = b.n < room ? b.n : room;

	for (size_t i = 0; i < n; i++)
		buf[i] = hf_lower(b.p[i]);
	return hf_bytes_of(buf, n);
}

/* `DOMAIN\user` and `user@suffix`. The first mark counts, since a cut may have taken a later one; neither may stand in a name,
 * so that ends at the next one, and a name that was read is read again as itself. */
static struct hf_bytes bare(struct hf_bytes b)
{
	size_t slash = hf_bytes_find(b, '\\');

	if (slash < b.n)
		b = hf_bytes_sub(b, slash + 1, b.n);
	b = hf_bytes_sub(b, 0, hf_bytes_find(b, '\\'));
	return hf_bytes_sub(b, 0, hf_bytes_find(b, '@'));
}

struct hf_bytes user_canonical(struct hf_bytes text, uint8_t buf[USER_MAX])
{
	return fold(bare(text), buf, USER_MAX);
}

static bool control(struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] < 0x20)
			return true;
	return false;
}

/* The next word of a list, taken off it; empty at the end. */
static struct hf_bytes next_word(struct hf_bytes *list)
{
	struct hf_bytes b = *list;
	size_t i = 0, from;

	while (i < b.n && (b.p[i] == ' ' || b.p[i] == '\t' || b.p[i] == ','))
		i++;
	for (from = i; i < b.n && b.p[i] != ' ' && b.p[i] != '\t' && b.p[i] != ',';)
		i++;
	*list = hf_bytes_sub(b, i, b.n);
	return hf_bytes_sub(b, from, i - from);
}

/* Could these nine octets be a domain or computer name, cut before the user began? */
static bool maybe_domain(struct hf_bytes b, struct hf_bytes own_domains)
{
	static const char *const computers[] = {"DESKTOP-", "LAPTOP-", "WIN-"}; /* what Windows calls a machine by itself */
	struct hf_bytes domain;

	for (size_t i = 0; i < sizeof computers / sizeof computers[0]; i++)
		if (hf_bytes_istarts(b, hf_bytes_str(computers[i])))
			return true;
	while ((domain = next_word(&own_domains)).n)
		if (hf_bytes_istarts(domain, b))
			return true;
	return false;
}

static bool weak(struct hf_bytes b, struct hf_bytes own_domains)
{
	return b.n == USER_NINE && (hf_bytes_find(b, '\\') < b.n || maybe_domain(b, own_domains));
}

void user_read(struct hf_bytes cookie, struct hf_bytes own_domains, struct user *u)
{
	u->name = HF_NONE;
	if (control(cookie)) {
		u->kind = USER_CONTROL;
	} else if (weak(cookie, own_domains)) {
		u->kind = USER_WEAK;
		u->name = fold(cookie, u->buf, USER_MAX);
	} else {
		u->name = user_canonical(cookie, u->buf);
		u->kind = u->name.n ? USER_NAME : USER_NONE;
	}
}

/* One or two octets are the beginning of too many names. */
#define PERHAPS_MIN 3u

struct hf_bytes user_perhaps(struct hf_bytes cookie, uint8_t buf[USER_MAX])
{
	size_t slash = hf_bytes_find(cookie, '\\');
	struct hf_bytes name = slash < cookie.n ? user_canonical(cookie, buf) : HF_NONE;

	return name.n >= PERHAPS_MIN ? name : HF_NONE;
}

bool user_fits_weak(struct hf_bytes name) { return name.n >= PERHAPS_MIN && name.n + sizeof "d\\" - 1 <= USER_NINE; }

struct hf_bytes user_as_weak(struct hf_bytes name, struct hf_bytes own_domains, uint8_t buf[USER_MAX], bool *whole)
{
	struct hf_bytes domain;
	size_t at;

	while ((domain = next_word(&own_domains)).n)
		if (domain.n + 1 < USER_NINE && domain.n + 1 + name.n >= USER_NINE) {
			at = fold(domain, buf, USER_NINE - 1).n;
			buf[at++] = '\\';
			*whole = fold(name, buf + at, USER_NINE - at).n == name.n;
			return hf_bytes_of(buf, USER_NINE);
		}
	return HF_NONE;
}
