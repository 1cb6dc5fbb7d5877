/* The writer of the admin socket's answers; see json.h. Knows no command. */
#include "json.h"

#include <stdlib.h>

static const char *const names[HF_F_COUNT] = {
#define X(e, name) name,
	HF_FIELDS(X)
#undef X
};

struct json json_new(void) { return (struct json){.w = hf_writer_on(NULL, 0)}; }

void json_free(struct json *j)
{
	free(j->w.p);
	*j = json_new();
}

bool json_failed(const struct json *j) { return j->w.full; }

/* Makes place for n more octets. */
static void grow(struct json *j, size_t n)
{
	size_t want = j->w.cap ? j->w.cap : 4096;
	uint8_t *p;

	if (j->w.full || n <= j->w.cap - j->w.n)
		return;
	while (want < JSON_MAX && want - j->w.n < n)
		want *= 2;
	p = want - j->w.n < n ? NULL : realloc(j->w.p, want);
	if (!p) {
		j->w.full = true;
		return;
	}
	j->w.p = p;
	j->w.cap = want;
}

/* Comma and name, with place for a value of n octets. An octet of text takes at most six: \u00XX. */
static void begin(struct json *j, struct hf_bytes name, size_t n)
{
	grow(j, n + name.n * 6 + 8);
	if (j->comma)
		hf_w_u8(&j->w, ',');
	j->comma = true;
	if (name.p) {
		hf_w_json(&j->w, name);
		hf_w_u8(&j->w, ':');
	}
}

static void field_begin(struct json *j, enum hf_field field, size_t n)
{
	begin(j, field < HF_F_COUNT ? hf_bytes_str(names[field]) : HF_NONE, n);
}

void json_open(struct json *j, enum hf_field field, char bracket)
{
	field_begin(j, field, 1);
	hf_w_u8(&j->w, (uint8_t)bracket);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	grow(j, 2); /* and the end of the line */
	hf_w_u8(&j->w, (uint8_t)bracket);
	j->comma = true;
}

void json_text(struct json *j, enum hf_field field, struct hf_bytes v)
{
	field_begin(j, field, v.n * 6 + 2);
	hf_w_json(&j->w, v);
}

void json_str(struct json *j, enum hf_field field, const char *v) { json_text(j, field, hf_bytes_str(v)); }

void json_uint(struct json *j, enum hf_field field, uint64_t v)
{
	field_begin(j, field, 20);
	hf_w_dec(&j->w, v);
}

void json_hex(struct json *j, enum hf_field field, uint64_t v, int digits)
{
	field_begin(j, field, 18);
	hf_w_printf(&j->w, "\"%0*llx\"", digits, (unsigned long long)v);
}

void json_bool(struct json *j, enum hf_field field, bool v)
{
	field_begin(j, field, 5);
	hf_w_str(&j->w, v ? "true" : "false");
}

void json_null(struct json *j, enum hf_field field)
{
	field_begin(j, field, 4);
	hf_w_str(&j->w, "null");
}

void json_count(struct json *j, const char *name, uint64_t v)
{
	begin(j, hf_bytes_str(name), 20);
	hf_w_dec(&j->w, v);
}
