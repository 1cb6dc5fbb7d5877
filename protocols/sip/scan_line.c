/* Lines: the one tokenizer for framing, scanning and editing (RFC 3261 7, 7.3.1). A line ends with CRLF that no blank follows;
 * any other CR or LF is a fault, whoever asks, so that no two readers can see two messages. Must not know what headers mean. */
#include "scan_in.h"

/* The first octet below 14 (CR, LF and rare controls), or end. */
static inline const uint8_t *low(const uint8_t *p, const uint8_t *end)
{
	for (; end - p >= 16; p += 16) {
		uint64_t a = sip_word_at(p), b = sip_word_at(p + 8), hit = sip_below(a, 14);

		if (!hit && !sip_below(b, 14))
			continue;
		return hit ? p + sip_first(hit) : p + 8 + sip_first(sip_below(b, 14));
	}
	while (p < end && *p >= 14)
		p++;
	return p;
}

/* Are all of the n octets, at most 16, letters and '-'? That is what nearly all names are made of. */
static inline bool is_plain(const uint8_t *p, size_t n)
{
	uint64_t a = sip_word_at(p), b = n > 8 ? sip_word_at(p + n - 8) : SIP_EACH('a');

	if (n < 8)
		a = a << (64 - 8 * n) | SIP_EACH('a') >> 8 * n;
	return ((sip_among(sip_small(a), 'a', 'z') | sip_among(a, '-', '-')) & (sip_among(sip_small(b), 'a', 'z') | sip_among(b, '-', '-')) & ~a & ~b &
		SIP_TOP) == SIP_TOP;
}

/* The name of a header that stands right before its colon, and is of the usual octets. 0: there is none. */
static inline size_t quick_name(const uint8_t *p)
{
	uint64_t colon = sip_equal(sip_word_at(p), ':');

	if (colon)
		return sip_first(colon);
	colon = sip_equal(sip_word_at(p + 8), ':');
	return colon ? 8 + sip_first(colon) : 0;
}

/* Any name, and blanks before the colon. Returns what is behind it; the start of the line when it is no header. Not inlined: it needs
 * memory on the stack, and the usual lines shall not pay for that. */
static __attribute__((noinline)) const uint8_t *slow_name(const uint8_t *at, const uint8_t *end, struct sip_raw_line *l)
{
	uint8_t padded[16] = {0};
	const uint8_t *p = sip_past(at, end, C_TOKEN);

	l->name = hf_bytes_of(at, (size_t)(p - at));
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (!l->name.n || p == end || *p != ':') {
		l->name.n = 0;
		return at;
	}
	memcpy(padded, at, l->name.n < sizeof padded ? l->name.n : sizeof padded);
	l->id = SIP_WORD(l->name, "subscription-state") ? SIP_H_SUBSCRIPTION_STATE : (uint8_t)sip_header_id(padded, l->name.n);
	return p + 1;
}

/* Name and colon; returns as slow_name. */
static inline const uint8_t *name(const uint8_t *at, const uint8_t *end, struct sip_raw_line *l)
{
	size_t n = end - at >= 16 ? quick_name(at) : 0;

	l->id = SIP_H_NONE;
	if (n)
		l->id = (uint8_t)sip_header_id(at, n);
	if (!n || (l->id == SIP_H_NONE && !is_plain(at, n)))
		return slow_name(at, end, l);
	l->name = hf_bytes_of(at, n);
	return at + n + 1;
}

bool sip_raw_line_next(struct hf_bytes raw, uint32_t pos, struct sip_raw_line *l)
{
	const uint8_t *end = raw.p + raw.n, *at = raw.p + pos, *value, *p;

	l->at = pos;
	l->folded = l->bare = false;
	l->value = HF_NONE;
	if (end - at >= 2 && at[0] == '\r' && at[1] == '\n') { /* the empty line, which nothing folds */
		l->name = HF_NONE;
		l->id = SIP_H_NONE;
		l->end = pos + 2;
		return true;
	}
	value = name(at, end, l);
	for (p = value; (p = low(p, end)) < end;) {
		uint8_t octet = *p++;

		if (octet != '\r' || p == end || *p != '\n') {
			l->bare |= octet == '\r' || octet == '\n';
			continue;
		}
		p++;
		if (p == end || (*p != ' ' && *p != '\t')) {
			l->end = (uint32_t)(p - raw.p);
			if (l->name.n)
				l->value = sip_trim(hf_bytes_of(value, (size_t)(p - 2 - value)));
			return true;
		}
		l->folded = true;
	}
	return false;
}

bool sip_line_next(const struct sip_msg *msg, uint32_t *at, struct sip_line *out)
{
	struct hf_bytes head = hf_bytes_sub(msg->raw, 0, msg->head_end);
	struct sip_raw_line l;

	if (*at < msg->start_end)
		*at = msg->start_end;
	while (*at < head.n && sip_raw_line_next(head, *at, &l)) {
		*at = l.end;
		if (!l.name.n)
			continue;
		out->line = (struct sip_span){l.at, l.end - l.at};
		out->name = sip_span_of(head.p, l.name);
		out->value = sip_span_of(head.p, l.value);
		out->text = l.value;
		out->folded = l.folded;
		out->id = l.id;
		out->is_via = out->id == SIP_H_VIA;
		return true;
	}
	return false;
}

unsigned sip_routes_cut(const struct sip_msg *msg, unsigned k, struct sip_span out[SIP_MAX_ROUTES])
{
	unsigned n = 0, i = 0;

	HF_BUG_ON(k > SIP_MAX_ROUTES);
	if (k > msg->n_routes)
		k = msg->n_routes;
	while (i < k) {
		const struct sip_route *first = &msg->route[i], *last = first;

		while (++i < k && msg->route[i].line.at == first->line.at)
			last = &msg->route[i];
		if (last->cut.at == last->value.at) /* a value follows on the line */
			out[n++] = (struct sip_span){first->value.at, last->cut.at + last->cut.n - first->value.at};
		else
			out[n++] = first->line;
	}
	return n;
}
