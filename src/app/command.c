/* Reads a line of the admin socket; see command.h. It knows the words and their form, not whether a server exists. */
#include "command.h"

#include <stddef.h>

#include "holdfast/config.h"
#include "holdfast/nearest.h"

#define QUOTE_MAX 64 /* octets of what was typed that an error repeats */

typedef enum hf_err args_fn(struct hf_bytes rest, struct command *c, struct hf_writer *why);
static args_fn no_args, where_args, trace_args, server_args, weight_args, explain_args, simulate_args, sessions_args, move_args, token_args;

static const struct word {
	const char *name, *usage;
	enum command_kind kind;
	args_fn *args;
} words[] = {
	{"status", "status", COMMAND_STATUS, no_args},
	{"servers", "servers", COMMAND_SERVERS, no_args},
	{"where", "where [--pool POOL] [KIND:]KEY", COMMAND_WHERE, where_args},
	{"drain", "drain [POOL/]SERVER", COMMAND_DRAIN, server_args},
	{"undrain", "undrain [POOL/]SERVER", COMMAND_UNDRAIN, server_args},
	{"off", "off [POOL/]SERVER", COMMAND_OFF, server_args},
	{"on", "on [POOL/]SERVER", COMMAND_ON, server_args},
	{"weight", "weight [POOL/]SERVER 0..256|file", COMMAND_WEIGHT, weight_args},
	{"reload", "reload", COMMAND_RELOAD, no_args},
	{"explain", "explain [--pool POOL] [KIND:]KEY | explain [--pool POOL] [--service SERVICE] [--from ADDRESS] [--via TRANSPORT] --message HEX", COMMAND_EXPLAIN,
	 explain_args},
	{"simulate", "simulate [--pool POOL] add SERVER [weight=0..256] | remove SERVER | drain SERVER | undrain SERVER | weight SERVER 0..256", COMMAND_SIMULATE,
	 simulate_args},
	{"sessions", "sessions [--pool POOL] [--server SERVER] [--limit 1..10000]", COMMAND_SESSIONS, sessions_args},
	{"move", "move [--pool POOL] [KIND:]KEY SERVER", COMMAND_MOVE, move_args},
	{"forget", "forget [--pool POOL] [KIND:]KEY", COMMAND_FORGET, where_args},
	{"token", "token [--pool POOL] [--user USER] [--server SERVER] [--ttl TIME]", COMMAND_TOKEN, token_args},
	{"metrics", "metrics", COMMAND_METRICS, no_args},
	{"trace", "trace SESSION", COMMAND_TRACE, trace_args},
};
#define N_WORDS (sizeof words / sizeof words[0])

void command_quote(struct hf_writer *why, struct hf_bytes typed)
{
	hf_w_u8(why, '\'');
	hf_w_printable(why, hf_bytes_sub(typed, 0, QUOTE_MAX));
	hf_w_str(why, typed.n > QUOTE_MAX ? "...'" : "'");
}

static enum hf_err too_much(struct hf_bytes rest, struct hf_writer *why)
{
	hf_w_str(why, "there is more than was expected: ");
	command_quote(why, rest);
	return HF_EINVAL;
}

static enum hf_err no_args(struct hf_bytes rest, struct command *c, struct hf_writer *why)
{
	(void)c;
	return rest.n ? too_much(rest, why) : HF_OK;
}

/* [POOL/]SERVER */
static enum hf_err read_server(struct hf_bytes *rest, struct command *c, struct hf_writer *why)
{
	struct hf_bytes w = hf_bytes_word(rest);
	size_t slash = hf_bytes_find(w, '/');

	c->server = w;
	if (slash < w.n) {
		c->pool = hf_bytes_sub(w, 0, slash);
		c->server = hf_bytes_sub(w, slash + 1, SIZE_MAX);
	}
	if (c->server.n && (slash == w.n || c->pool.n))
		return HF_OK;
	hf_w_str(why, "a server is named as SERVER or POOL/SERVER");
	return HF_EINVAL;
}

static enum hf_err server_args(struct hf_bytes rest, struct command *c, struct hf_writer *why)
{
	enum hf_err e = read_server(&rest, c, why);

	return e != HF_OK ? e : no_args(rest, c, why);
}

static enum hf_err weight_args(struct hf_bytes rest, struct command *c, struct hf_writer *why)
{
	enum hf_err e = read_server(&rest, c, why);
	struct hf_bytes w;
	uint64_t v = 0;

	if (e != HF_OK)
		return e;
	w = hf_bytes_word(&rest);
	c->weight_of_file = hf_bytes_eq(w, HF_LIT("file"));
	if (!c->weight_of_file)
		e = hf_read_uint(w, COMMAND_WEIGHT_MAX, &v);
	if (e != HF_OK) {
		hf_w_str(why, "a weight is a number from 0 to 256, or the word file; got ");
		command_quote(why, w);
		return e;
	}
	c->weight = (uint32_t)v;
	return no_args(rest, c, why);
}

/* ---- options: words before, among or behind the others ---- */

static const struct option {
	const char *name, *what;
	size_t field; /* of struct command, a struct hf_bytes */
} options[] = {
	{"--pool", "the name of a pool", offsetof(struct command, pool)},
	{"--service", "the name of a service", offsetof(struct command, service)},
	{"--server", "the name of a server", offsetof(struct command, server)},
	{"--user", "a user", offsetof(struct command, user)},
	{"--limit", "a number from 1 to 10000", offsetof(struct command, value)},
	{"--ttl", "a time from 1s to 3650d, with s, m, h or d", offsetof(struct command, value)},
	{"--from", "an address", offsetof(struct command, from)},
	{"--via", "a transport", offsetof(struct command, via)},
	{"--message", "hex digits", offsetof(struct command, message)},
};

/* The option of that name, if it is one of `allowed`. */
static const struct option *option_named(struct hf_bytes word, const char *const *allowed)
{
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
		for (size_t k = 0; allowed[k]; k++)
			if (strcmp(options[i].name, allowed[k]) == 0 && hf_bytes_eq(word, hf_bytes_str(allowed[k])))
				return &options[i];
	return NULL;
}

/* Takes the options that stand at the front of *rest. */
static enum hf_err take_options(struct hf_bytes *rest, const char *const *allowed, struct command *c, struct hf_writer *why)
{
	for (;;) {
		struct hf_bytes behind = *rest, *to;
		const struct option *o = option_named(hf_bytes_word(&behind), allowed);

		if (!o)
			return HF_OK;
		to = (struct hf_bytes *)((uint8_t *)c + o->field);
		*to = hf_bytes_word(&behind);
		*rest = behind;
		if (to->n == 0) {
			hf_w_printf(why, "%s wants %s", o->name, o->what);
			return HF_EINVAL;
		}
	}
}

static const char *const pool_only[] = {"--pool", NULL};

static enum hf_err read_key(struct hf_bytes text, struct command *c, struct hf_writer *why)
{
	c->key = text;
	if (text.n && text.n < COMMAND_KEY_MAX)
		return HF_OK;
	hf_w_printf(why, text.n ? "the key is longer than %u octets" : "the key is missing: [KIND:]KEY", COMMAND_KEY_MAX - 1);
	return text.n ? HF_ERANGE : HF_EINVAL;
}

/* The last word, taken off with the blanks before it. */
static struct hf_bytes last_word(struct hf_bytes *rest)
{
	struct hf_bytes b = hf_bytes_trim(*rest);
	size_t at = b.n;

	while (at && b.p[at - 1] != ' ' && b.p[at - 1] != '\t')
		at--;
	*rest = hf_bytes_trim(hf_bytes_sub(b, 0, at));
	return hf_bytes_sub(b, at, SIZE_MAX);
}

/* --pool before a key or behind it: a key may have blanks, but who ends with this means the option. */
static enum hf_err take_pool(struct hf_bytes *rest, struct command *c, struct hf_writer *why)
{
	enum hf_err e = take_options(rest, pool_only, c, why);
	struct hf_bytes key = *rest, last = last_word(&key), option = hf_bytes_eq(last, HF_LIT("--pool")) ? last : last_word(&key);

	if (e != HF_OK || !key.n || !hf_bytes_eq(option, HF_LIT("--pool")))
		return e;
	*rest = hf_bytes_sub(*rest, (size_t)(option.p - rest->p), SIZE_MAX);
	e = take_options(rest, pool_only, c, why);
	*rest = key;
	return e;
}

static enum hf_err where_args(struct hf_bytes rest, struct command *c, struct hf_writer *why)
{
	enum hf_err e = take_pool(&rest, c, why);

	return e != HF_OK ? e : read_key(rest, c, why);
}

static enum hf_err trace_args(struct hf_bytes rest, struct command *c, struct hf_writer *why) { return read_key(rest, c, why); }

static enum hf_err explain_args(struct hf_bytes rest, struct command *c, struct hf_writer *why)
{
	static const char *const allowed[] = {"--pool", "--service", "--from", "--via", "--message", NULL};
	enum hf_err e = take_options(&rest, allowed, c, why);

	if (e != HF_OK || c->message.n)
		return e != HF_OK ? e : no_args(rest, c, why);
	if (!c->service.n && !c->from.n && !c->via.n)
		return where_args(rest, c, why);
	hf_w_str(why, "--service, --from and --via are of a message: its octets are missing");
	return HF_EINVAL;
}

/* The last word is the server, all before it the key. */
static enum hf_err move_args(struct hf_bytes rest, struct command *c, struct hf_writer *why)
{
	enum hf_err e = take_pool(&rest, c, why);

	c->server = last_word(&rest);
	if (e == HF_OK && !rest.n) {
		hf_w_str(why, "a key and the server that it is to go to are wanted");
		return HF_EINVAL;
	}
	return e != HF_OK ? e : read_key(rest, c, why);
}

static enum hf_err bad_value(const char *option, const struct command *c, struct hf_writer *why)
{
	hf_w_printf(why, "%s wants %s; got ", option, option_named(hf_bytes_str(option), (const char *const[]){option, NULL})->what);
	command_quote(why, c->value);
	return HF_ERANGE;
}

static enum hf_err sessions_args(struct hf_bytes rest, struct command *c, struct hf_writer *why)
{
	static const char *const allowed[] = {"--pool", "--server", "--limit", NULL};
	uint64_t v = COMMAND_LIMIT;
	enum hf_err e = take_options(&rest, allowed, c, why);

	if (e == HF_OK && c->value.n && (hf_read_uint(c->value, COMMAND_LIMIT_MAX, &v) != HF_OK || !v))
		return bad_value("--limit", c, why);
	c->limit = (uint32_t)v;
	return e != HF_OK ? e : no_args(rest, c, why);
}

static enum hf_err token_args(struct hf_bytes rest, struct command *c, struct hf_writer *why)
{
	static const char *const allowed[] = {"--pool", "--user", "--server", "--ttl", NULL};
	uint64_t ms = COMMAND_TTL_S * 1000ull;
	enum hf_err e = take_options(&rest, allowed, c, why);

	if (e == HF_OK && c->value.n && (hf_time_read(c->value, &ms) != HF_OK || ms < 1000 || ms > COMMAND_TTL_MAX_S * 1000ull))
		return bad_value("--ttl", c, why);
	c->ttl_s = ms / 1000;
	if (e == HF_OK && !c->user.n && !c->server.n) {
		hf_w_str(why, "a token names a user, a server or both");
		return HF_EINVAL;
	}
	return e != HF_OK ? e : no_args(rest, c, why);
}

static enum hf_err simulate_weight(struct hf_bytes *rest, struct command *c, struct hf_writer *why)
{
	bool add = hf_bytes_eq(c->change, HF_LIT("add")), said = !add;
	struct hf_bytes w = hf_bytes_word(rest);
	uint64_t v = 100; /* as a server line without one */

	if (add && hf_bytes_starts(w, HF_LIT("weight="))) {
		w = hf_bytes_sub(w, 7, SIZE_MAX);
		said = true;
	} else if (add && w.n) {
		return too_much(w, why);
	}
	if (said && hf_read_uint(w, COMMAND_WEIGHT_MAX, &v) != HF_OK) {
		hf_w_str(why, "a weight is a number from 0 to 256; got ");
		command_quote(why, w);
		return HF_ERANGE;
	}
	c->weight = (uint32_t)v;
	return HF_OK;
}

static enum hf_err simulate_args(struct hf_bytes rest, struct command *c, struct hf_writer *why)
{
	static const struct { const char *name; bool weight; } changes[] = {{"add", true}, {"remove", false}, {"drain", false}, {"undrain", false}, {"weight", true}};
	enum hf_err e = take_options(&rest, pool_only, c, why);
	size_t i = 0;

	if (e != HF_OK)
		return e;
	c->change = hf_bytes_word(&rest);
	while (i < 5 && !hf_bytes_eq(c->change, hf_bytes_str(changes[i].name)))
		i++;
	if (i == 5) {
		hf_w_str(why, "what can be simulated is add, remove, drain, undrain and weight");
		return HF_EINVAL;
	}
	e = read_server(&rest, c, why);
	if (e == HF_OK)
		e = take_options(&rest, pool_only, c, why);
	if (e == HF_OK && changes[i].weight)
		e = simulate_weight(&rest, c, why);
	if (e == HF_OK)
		e = take_options(&rest, pool_only, c, why);
	return e != HF_OK ? e : no_args(rest, c, why);
}

static enum hf_err unknown(struct hf_bytes typed, struct hf_writer *why)
{
	struct hf_nearest near = {.wanted = typed};

	for (size_t i = 0; i < N_WORDS; i++)
		hf_nearest_add(&near, hf_bytes_str(words[i].name));
	hf_w_str(why, "no command ");
	command_quote(why, typed);
	hf_w_str(why, "; nearest: ");
	hf_w_nearest(why, &near);
	return HF_EINVAL;
}

enum hf_err command_read(struct hf_bytes line, struct command *out, struct hf_writer *why)
{
	struct hf_bytes rest = line, w = hf_bytes_word(&rest);
	enum hf_err e;

	memset(out, 0, sizeof *out);
	for (size_t i = 0; i < N_WORDS; i++) {
		if (!hf_bytes_eq(w, hf_bytes_str(words[i].name)))
			continue;
		out->kind = words[i].kind;
		e = words[i].args(rest, out, why);
		if (e != HF_OK)
			hf_w_printf(why, " (usage: %s)", words[i].usage);
		return e;
	}
	return unknown(w, why);
}
