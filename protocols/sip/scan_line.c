/* Lines: the one tokenizer for framing, scanning and editing (RFC 3261 7, 7.3.1). A line ends with CRLF that no blank follows;
 * any other CR or LF is a fault, whoever asks, so that no two readers can see two messages. Must not know what headers mean. */
#include "scan_in.h"

/* The first octet below 14 (CR, LF and rare controls), or end. Eight octets at a time: a word minus 14s borrows into the top bit
 * of an octet only when that octet, or one before it, is below 14. */
static const uint8_t *low(const uint8_t *p, const uint8_t *end)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t w, hit;

	for (; end - p >= 8; p += 8) {
		memcpy(&w, p, 8);
		hit = (w - ones * 14) & ~w & ones * 128;
		if (!hit)
			continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		return p + (__builtin_ctzll(hit) >> 3);
#else
		break;
#endif
	}
	while (p < end && *p >= 14)
		p++;
	return p;
}

bool sip_raw_line_next(struct hf_bytes raw, uint32_t pos, struct sip_raw_line *l)
{
	const uint8_t *end = raw.p + raw.n, *at = raw.p + pos, *p = at;

	*l = (struct sip_raw_line){.at = pos};
	while ((p = low(p, end)) < end) {
		uint8_t c = *p++;

		if (c != '\r' || p == end || *p != '\n') {
			l->bare |= c == '\r' || c == '\n';
			continue;
		}
		p++;
		if (p == end || (*p != ' ' && *p != '\t') || p - at == 2) {
			l->end = (uint32_t)(p - raw.p);
			return true;
		}
		l->folded = true;
	}
	return false;
}

bool sip_raw_line_split(struct hf_bytes raw, struct sip_raw_line *l)
{
	struct sip_cur c = {raw.p + l->at, raw.p + l->end - 2};

	l->name = sip_run(&c, C_TOKEN);
	while (c.p < c.end && (*c.p == ' ' || *c.p == '\t'))
		c.p++;
	if (!l->name.n || !sip_take(&c, ':'))
		return false;
	l->value = sip_trim(hf_bytes_of(c.p, (size_t)(c.end - c.p)));
	return true;
}

bool sip_line_next(const struct sip_msg *msg, uint32_t *at, struct sip_line *out)
{
	struct hf_bytes head = hf_bytes_sub(msg->raw, 0, msg->head_end);
	struct sip_raw_line l;

	if (*at < msg->start_end)
		*at = msg->start_end;
	while (*at < head.n && sip_raw_line_next(head, *at, &l)) {
		*at = l.end;
		if (!sip_raw_line_split(head, &l))
			continue;
		out->line = (struct sip_span){l.at, l.end - l.at};
		out->name = sip_span_of(head.p, l.name);
		out->value = sip_span_of(head.p, l.value);
		out->text = l.value;
		out->folded = l.folded;
		out->id = (uint8_t)sip_header_id(l.name);
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
