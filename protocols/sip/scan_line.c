/* Lines that are not as nearly all are (folded, with odd names, broken, empty, the last ones), and the walk over lines for others than the
 * scanner. Must not know what headers mean. */
#include "scan_line.h"
#include "scan_seek.h"

/* Name, blanks, and the colon behind them. Returns the colon; `at` when it is no header. */
static const uint8_t *name(const uint8_t *at, const uint8_t *end, struct sip_raw_line *l)
{
	uint8_t word[HF_WIDE] = {0};
	const uint8_t *p = sip_past(at, end, C_TOKEN);

	l->name = (uint32_t)(p - at);
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (!l->name || p == end || *p != ':') {
		l->name = 0;
		return at;
	}
	if (l->name >= HF_WIDE) {
		l->id = SIP_WORD(hf_bytes_of(at, l->name), "subscription-state") ? SIP_H_SUBSCRIPTION_STATE : SIP_H_NONE;
		return p;
	}
	memcpy(word, at, l->name);
	word[l->name] = ':';
	l->id = (uint8_t)sip_header_id(hf_wide_at(word), word[0], l->name);
	return p;
}

bool sip_line_any(struct hf_bytes raw, uint32_t pos, struct sip_raw_line *l)
{
	const uint8_t *end = raw.p + raw.n, *at = raw.p + pos, *p, *colon;

	*l = (struct sip_raw_line){.at = pos, .id = SIP_H_NONE};
	if (end - at >= 2 && at[0] == '\r' && at[1] == '\n') { /* the empty line, which nothing folds */
		l->end = pos + 2;
		return true;
	}
	colon = name(at, end, l);
	for (p = colon + (l->name > 0); (p = sip_seek_low(p, end, raw.p)) < end;) {
		uint8_t octet = *p++;

		if (octet != '\r' || p == end || *p != '\n') {
			l->bare |= octet == '\r' || octet == '\n';
			continue;
		}
		p++;
		if (p == end || (*p != ' ' && *p != '\t')) {
			l->end = (uint32_t)(p - raw.p);
			if (l->name)
				l->value = sip_line_value(colon, p - 2);
			return true;
		}
		l->folded = true;
	}
	return false;
}

bool sip_line_read(struct hf_bytes raw, uint32_t pos, struct sip_raw_line *l)
{
	const uint8_t *at = raw.p + pos, *end;
	struct sip_quick q;

	end = raw.n - pos > HF_WIDE + 2 ? sip_line_quick(at, raw.p + raw.n, &q) : NULL;
	if (!end)
		return sip_line_any(raw, pos, l);
	*l = (struct sip_raw_line){.at = pos, .end = (uint32_t)(end - raw.p), .id = (uint8_t)q.id, .name = q.name, .value = sip_line_value(at + q.name, end - 2)};
	return true;
}

bool sip_line_next(const struct sip_msg *msg, uint32_t *at, struct sip_line *out)
{
	struct hf_bytes head = hf_bytes_sub(msg->raw, 0, msg->head_end);
	struct sip_raw_line l;

	if (*at < msg->start_end)
		*at = msg->start_end;
	while (*at < head.n && sip_line_read(head, *at, &l)) {
		*at = l.end;
		if (!l.name)
			continue;
		out->line = (struct sip_span){l.at, l.end - l.at};
		out->name = (struct sip_span){l.at, l.name};
		out->text = l.value;
		out->value = sip_span_of(head.p, out->text);
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
