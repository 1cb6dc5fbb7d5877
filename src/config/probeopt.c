/* Values of `probe` and `probe-program`; see probeopt.h. Must not know a protocol: a front brings its own word. */
#include "probeopt.h"

#define PATH_OCTETS 1024

const char *const hf_conf_probe_words[] = {
	[HF_CONF_WORD_ADDRESS] = "address", [HF_CONF_WORD_PORT] = "port", [HF_CONF_WORD_SERVER] = "server", [HF_CONF_WORD_POOL] = "pool", NULL,
};

static bool is_probe_of(const struct hf_front *f, struct hf_bytes text)
{
	return f->probe_name && hf_bytes_eq(text, hf_bytes_str(f->probe_name));
}

static bool is_probe_of_any(struct hf_bytes text)
{
	for (unsigned i = 0; hf_fronts[i]; i++)
		if (is_probe_of(hf_fronts[i], text))
			return true;
	return false;
}

/* The front's own word for its probe is known once the pool has its front; a pool that no service uses may say any front's. */
enum hf_err probeopt_read(struct hf_bytes text, void *pool, struct hf_writer *why)
{
	struct hf_conf_pool *p = pool;

	if (hf_bytes_eq(text, HF_LIT("none")))
		p->probe = HF_CONF_PROBE_NONE;
	else if (hf_bytes_eq(text, HF_LIT("connect")))
		p->probe = HF_CONF_PROBE_CONNECT;
	else if (hf_bytes_eq(text, HF_LIT("program")))
		p->probe = HF_CONF_PROBE_PROGRAM;
	else if (p->front ? is_probe_of(p->front, text) : is_probe_of_any(text))
		p->probe = HF_CONF_PROBE_FRONT;
	else {
		hf_w_str(why, PROBEOPT_FORM);
		if (p->front && p->front->probe_name)
			hf_w_printf(why, " | %s", p->front->probe_name);
		return HF_EINVAL;
	}
	return HF_OK;
}

static bool is_known(struct hf_bytes word)
{
	for (unsigned i = 0; hf_conf_probe_words[i]; i++)
		if (hf_bytes_eq(word, hf_bytes_str(hf_conf_probe_words[i])))
			return true;
	return false;
}

/* Each brace opens one of the words, or closes it. */
static bool braces_good(struct hf_bytes word)
{
	while (word.n) {
		size_t open = hf_bytes_find(word, '{'), close = hf_bytes_find(word, '}');

		if (open == word.n)
			return close == word.n;
		if (close < open || close == word.n || !is_known(hf_bytes_sub(word, open + 1, close - open - 1)))
			return false;
		word = hf_bytes_sub(word, close + 1, word.n);
	}
	return true;
}

enum hf_err probeopt_read_program(struct hf_bytes text, void *field, struct hf_writer *why)
{
	struct hf_bytes rest = text, word = hf_bytes_word(&rest);
	unsigned n = 0;

	if (word.n && word.p[0] == '/' && text.n <= PATH_OCTETS && hf_bytes_find(word, '{') == word.n)
		for (n = 1; n <= HF_CONF_PROBE_ARGS_MAX && (word = hf_bytes_word(&rest)).n && braces_good(word);)
			n++;
	if (n == 0 || n > HF_CONF_PROBE_ARGS_MAX || word.n) {
		hf_w_printf(why, "/PATH [ARGUMENT...], at most %d words and %d octets, with {address}, {port}, {server}, {pool} in arguments", HF_CONF_PROBE_ARGS_MAX, PATH_OCTETS);
		return HF_EINVAL;
	}
	*(struct hf_bytes *)field = text;
	return HF_OK;
}
