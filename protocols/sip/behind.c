/* Who is reached by its flow alone: a WebSocket; and of those whose first hop we are, whoever says `ob` (RFC 5626 4.3), and a phone that knows itself by
 * another address than the one it is seen from, since its Contact leads nowhere then. Called by edit.c for requests of clients that make dialogs. */
#include "inside.h"

static bool first_contact(const struct sip_msg *m, struct sip_uri *out)
{
	uint32_t at = m->start_end;
	struct sip_line line;

	while (sip_line_next(m, &at, &line)) {
		struct hf_bytes list = line.text, value, uri, params;

		if (!line.folded && hf_bytes_ieq(sip_header_name(hf_bytes_of(m->raw.p + line.name.at, line.name.n)), HF_LIT("contact")))
			return sip_value_next(&list, &value) && sip_addr_split(value, &uri, &params) && sip_uri_read(uri, out);
	}
	return false;
}

bool sip_seen_elsewhere(const struct sip_step *s)
{
	struct hf_addr by = {0};

	return hf_addr_read_ip(s->p->msg.via[0].host, &by) != HF_OK || !hf_addr_ip_eq(&by, &s->ev->source);
}

bool sip_behind(const struct sip_step *s)
{
	bool elsewhere = sip_seen_elsewhere(s);
	struct sip_uri u;

	if (hf_transport_is_web(s->ev->transport))
		return true;
	if (s->p->msg.n_vias != 1 || (!elsewhere && !s->stream) || !first_contact(&s->p->msg, &u)) /* of most datagrams the Contact is not looked for */
		return false;
	return sip_param(u.params, HF_LIT("ob")).p || (elsewhere && hf_bytes_ieq(u.host, s->p->msg.via[0].host));
}
