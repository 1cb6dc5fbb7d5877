/* Values of options that name pools; see poolopt.h. Must not know any option by name. Called by link.c, optval.c and load.c. */
#include "poolopt.h"

/* The last word is the pool: no pool has a blank in its name, what messages say may. */
static size_t last_word(struct hf_bytes text)
{
	size_t n = text.n;

	while (n && text.p[n - 1] != ' ' && text.p[n - 1] != '\t')
		n--;
	return n;
}

struct hf_bytes poolopt_name(struct hf_bytes text)
{
	size_t at = last_word(text);

	return at ? hf_bytes_sub(text, at, text.n) : HF_NONE;
}

enum hf_err poolopt_read(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct hf_pool_words *w = field;
	struct hf_bytes word = hf_bytes_trim(hf_bytes_sub(text, 0, last_word(text)));

	if (!word.n) {
		hf_w_str(why, "NAME POOL");
		return HF_EINVAL;
	}
	for (unsigned i = 0; i < w->n; i++)
		if (hf_bytes_ieq(word, w->list[i].word)) {
			hf_w_str(why, "this name has a pool already: ");
			hf_w_printable(why, w->list[i].name);
			return HF_EEXIST;
		}
	if (w->n == HF_POOL_WORDS_MAX) {
		hf_w_printf(why, "at most %u", HF_POOL_WORDS_MAX);
		return HF_ERANGE;
	}
	w->list[w->n++] = (struct hf_pool_word){.word = word, .name = poolopt_name(text)};
	return HF_OK;
}

static unsigned number_of(const struct hf_conf_service *v, struct hf_bytes name)
{
	for (unsigned i = 0; i < v->n_choices; i++)
		if (v->choices[i].pool && hf_bytes_eq(name, hf_bytes_str(v->choices[i].pool->name)))
			return i;
	return 0; /* there is none, which was said: such a file is refused */
}

void poolopt_settle(struct hf_conf_service *v)
{
	for (unsigned r = 0; r < v->front->n_options; r++) {
		const struct hf_option *row = &v->front->options[r];
		struct hf_pool_words *w = row->type == HF_OPT_POOLS ? (void *)((char *)v->front_conf + row->offset) : NULL;

		for (unsigned i = 0; w && i < w->n; i++)
			w->list[i].pool = number_of(v, w->list[i].name);
	}
}
