/* The opening handshake (RFC 6455 4.2): one HTTP request, read strictly, and its answer. What a browser, or a proxy that passes it on, sends
 * is taken; a request with a body, folded lines or anything that two readers may read in two ways is not. */
#include "ws.h"

/* ---- what it says ---- */

struct head {
	struct hf_bytes method, key, version, origin, host;
	unsigned n_key, n_version, n_origin, n_host;
	bool upgrade, connection, asked; /* tokens that must be there; of the sub-protocols ours */
	bool body;
	const char *protocol;
};

static bool token_char(uint8_t c)
{
	return (c >= '0' && c <= '9') || (hf_lower(c) >= 'a' && hf_lower(c) <= 'z') || (c && memchr("!#$%&'*+-.^_`|~", c, 15));
}

static bool is_token(struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		if (!token_char(b.p[i]))
			return false;
	return b.n > 0;
}

static bool lists(struct hf_bytes list, const char *word)
{
	while (list.n) {
		struct hf_bytes item = hf_bytes_sub(list, 0, hf_bytes_find(list, ','));

		if (hf_bytes_ieq(hf_bytes_trim(item), hf_bytes_str(word)))
			return true;
		list = hf_bytes_sub(list, item.n + 1, list.n);
	}
	return false;
}

static void take_upgrade(struct head *h, struct hf_bytes v) { h->upgrade |= lists(v, "websocket"); }
static void take_connection(struct head *h, struct hf_bytes v) { h->connection |= lists(v, "upgrade"); }
static void take_protocol(struct head *h, struct hf_bytes v) { h->asked |= lists(v, h->protocol); }
static void take_length(struct head *h, struct hf_bytes v) { h->body |= !hf_bytes_eq(v, HF_LIT("0")); }
static void take_coding(struct head *h, struct hf_bytes v) { (void)v, h->body = true; }
static void take_key(struct head *h, struct hf_bytes v) { h->n_key++, h->key = v; }
static void take_version(struct head *h, struct hf_bytes v) { h->n_version++, h->version = v; }
static void take_origin(struct head *h, struct hf_bytes v) { h->n_origin++, h->origin = v; }
static void take_host(struct head *h, struct hf_bytes v) { h->n_host++, h->host = v; }

static const struct { const char *name; void (*take)(struct head *h, struct hf_bytes value); } headers[] = {
	{"Upgrade", take_upgrade}, {"Connection", take_connection}, {"Sec-WebSocket-Protocol", take_protocol}, {"Sec-WebSocket-Key", take_key},
	{"Sec-WebSocket-Version", take_version}, {"Origin", take_origin}, {"Host", take_host}, {"Content-Length", take_length},
	{"Transfer-Encoding", take_coding},
};

static bool header(struct head *h, struct hf_bytes line)
{
	size_t colon = hf_bytes_find(line, ':');
	struct hf_bytes name = hf_bytes_sub(line, 0, colon), value = hf_bytes_trim(hf_bytes_sub(line, colon + 1, line.n));

	if (colon == line.n || !is_token(name))
		return false;
	for (unsigned i = 0; i < sizeof headers / sizeof *headers; i++)
		if (hf_bytes_ieq(name, hf_bytes_str(headers[i].name)))
			headers[i].take(h, value);
	return true;
}

static bool request_line(struct head *h, struct hf_bytes line)
{
	struct hf_bytes target;

	h->method = hf_bytes_sub(line, 0, hf_bytes_find(line, ' '));
	line = hf_bytes_sub(line, h->method.n + 1, line.n);
	target = hf_bytes_sub(line, 0, hf_bytes_find(line, ' '));
	return is_token(h->method) && target.n && hf_bytes_eq(hf_bytes_sub(line, target.n + 1, line.n), HF_LIT("HTTP/1.1"));
}

/* False: not of the form. */
static bool read_head(struct head *h, struct hf_bytes head)
{
	for (bool first = true; head.n; first = false) {
		const uint8_t *end = memmem(head.p, head.n, "\r\n", 2);
		struct hf_bytes line = hf_bytes_sub(head, 0, end ? (size_t)(end - head.p) : head.n);

		for (size_t i = 0; i < line.n; i++)
			if ((line.p[i] < ' ' && line.p[i] != '\t') || line.p[i] == 127)
				return false;
		if (!(first ? request_line(h, line) : header(h, line)))
			return false;
		head = hf_bytes_sub(head, line.n + 2, head.n);
	}
	return true;
}

/* ---- what is answered ---- */

/* 16 octets in base64 (RFC 6455 4.2.1). */
static bool is_key(const struct head *h)
{
	if (h->n_key != 1 || h->key.n != WS_KEY_LEN || memcmp(h->key.p + 22, "==", 2) != 0)
		return false;
	for (size_t i = 0; i < 22; i++)
		if (!(h->key.p[i] == '+' || h->key.p[i] == '/' || (h->key.p[i] >= '0' && h->key.p[i] <= '9') || (hf_lower(h->key.p[i]) >= 'a' && hf_lower(h->key.p[i]) <= 'z')))
			return false;
	return memchr("AQgw", h->key.p[21], 4);
}

static bool welcome(const struct head *h, struct hf_bytes origins)
{
	struct hf_bytes word;

	if (!origins.n || !h->n_origin)
		return true;
	while ((word = hf_bytes_word(&origins)).n)
		if (h->n_origin == 1 && hf_bytes_ieq(word, h->origin))
			return true;
	return false;
}

enum why { WELL, MALFORMED, METHOD, NO_UPGRADE, VERSION, NO_KEY, NO_PROTOCOL, ORIGIN, LONG };
static const struct { const char *status, *header, *text; } answers[] = {
	[MALFORMED] = {"400 Bad Request", "", "This is not an HTTP/1.1 request that opens a WebSocket."},
	[METHOD] = {"405 Method Not Allowed", "Allow: GET\r\n", "A WebSocket is opened by GET."},
	[NO_UPGRADE] = {"426 Upgrade Required", "Upgrade: websocket\r\n", "There is only a WebSocket here."},
	[VERSION] = {"426 Upgrade Required", "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n", "Only version 13 of WebSocket is spoken here."},
	[NO_KEY] = {"400 Bad Request", "", "Sec-WebSocket-Key must be 16 octets in base64, once."},
	[NO_PROTOCOL] = {"400 Bad Request", "", "Sec-WebSocket-Protocol must name the protocol that is spoken here: "},
	[ORIGIN] = {"403 Forbidden", "", "Pages of this Origin may not connect."},
	[LONG] = {"431 Request Header Fields Too Large", "", "The request is too long."},
};

static enum why judge(const struct head *h, struct hf_bytes origins)
{
	if (!hf_bytes_eq(h->method, HF_LIT("GET")))
		return METHOD;
	if (h->body || h->n_host != 1 || !h->host.n)
		return MALFORMED;
	if (!h->upgrade || !h->connection)
		return NO_UPGRADE;
	if (h->n_version != 1 || !hf_bytes_eq(h->version, HF_LIT("13")))
		return VERSION;
	if (!is_key(h))
		return NO_KEY;
	if (!h->asked)
		return NO_PROTOCOL;
	return welcome(h, origins) ? WELL : ORIGIN;
}

static enum ws_opening refuse(enum why why, const char *protocol, struct hf_writer *w)
{
	const char *more = why == NO_PROTOCOL ? protocol : "";

	hf_w_printf(w, "HTTP/1.1 %s\r\n%sConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n%s%s\n", answers[why].status, answers[why].header,
		    strlen(answers[why].text) + strlen(more) + 1, answers[why].text, more);
	return WS_HEAD_BAD;
}

static enum ws_opening accept(const struct head *h, struct hf_writer *w)
{
	uint8_t accepted[WS_ACCEPT_LEN];

	ws_accept(h->key.p, accepted);
	hf_w_str(w, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ");
	hf_w_mem(w, accepted, sizeof accepted);
	hf_w_printf(w, "\r\nSec-WebSocket-Protocol: %s\r\n\r\n", h->protocol);
	return WS_HEAD_GOOD;
}

enum ws_opening ws_open(struct hf_bytes got, const struct ws_policy *policy, size_t *used, struct hf_writer *w)
{
	struct hf_bytes seen = hf_bytes_sub(got, 0, WS_HEAD_MAX);
	const uint8_t *end = seen.n ? memmem(seen.p, seen.n, "\r\n\r\n", 4) : NULL;
	struct head h = {.protocol = policy->protocol};
	enum why why;

	if (got.n && !token_char(got.p[0]))
		return refuse(MALFORMED, NULL, w); /* TLS, as a rule */
	if (!end)
		return got.n < WS_HEAD_MAX ? WS_HEAD_MORE : refuse(LONG, NULL, w);
	why = read_head(&h, hf_bytes_sub(seen, 0, (size_t)(end - seen.p))) ? judge(&h, policy->origins) : MALFORMED;
	*used = (size_t)(end - seen.p) + 4;
	return why == WELL ? accept(&h, w) : refuse(why, policy->protocol, w);
}
