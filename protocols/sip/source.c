/* What servers are told of the client that a request comes from, and which header it stands in (client-address-header). They believe what that header
 * says, so nobody else writes it: a client's own copies go, and outward it goes too, since who is called need not know where the caller is. What servers
 * send to servers keeps it. Called by edit.c. */
#include "inside.h"

/* What has a meaning of its own. Compact forms are refused as such. */
static const char *const taken[] = {"via", "from", "to", "call-id", "cseq", "max-forwards", "contact", "route", "record-route", "path", "service-route", "content-length",
	"content-type", "content-encoding", "expires", "min-expires", "supported", "require", "proxy-require", "unsupported", "allow", "accept", "replaces", "join", "target-dialog",
	"refer-to", "referred-by", "event", "allow-events", "subscription-state", "session-expires", "min-se", "rack", "rseq", "sip-if-match", "sip-etag", "authorization",
	"proxy-authorization", "www-authenticate", "proxy-authenticate", "user-agent", "server", "subject", "date", "timestamp", "identity", "p-asserted-identity",
	"p-preferred-identity", "privacy", "diversion", "history-info", "warning", "retry-after", "reason"};

static bool is_taken(struct hf_bytes name)
{
	for (unsigned i = 0; i < sizeof taken / sizeof *taken; i++)
		if (hf_bytes_ieq(name, hf_bytes_str(taken[i])))
			return true;
	return name.n == 1;
}

enum hf_err sip_source_header_read(struct hf_bytes text, void *field, struct hf_writer *why)
{
	bool off = hf_bytes_eq(text, HF_LIT("off"));

	if (!off && !sip_is_token(text, SIP_KEY_NAME_MAX)) {
		hf_w_str(why, "off, or the name of a header of at most 64 characters, such as X-Client-Address");
		return HF_EINVAL;
	}
	if (is_taken(text)) {
		hf_w_printable(why, text);
		hf_w_str(why, " has a meaning of its own: take a name that nothing else uses, such as X-Client-Address");
		return HF_EINVAL;
	}
	*(struct hf_bytes *)field = off ? HF_NONE : text;
	return HF_OK;
}

bool sip_source_told(const struct sip_step *s, const struct sip_out *o) { return s->conf->source_header.n && o->server && !s->ev->member && !s->ev->from_servers; }

void sip_source_write(const struct sip_step *s, struct hf_writer *w)
{
	hf_w_bytes(w, s->conf->source_header);
	hf_w_str(w, ": ");
	hf_w_ip(w, &s->ev->source, false);
	hf_w_str(w, "\r\n");
}

bool sip_source_next(const struct sip_step *s, const struct sip_out *o, uint32_t *at, struct sip_span *line)
{
	struct sip_line l;

	if (!s->conf->source_header.n || (o->server && !sip_source_told(s, o)))
		return false;
	while (sip_line_next(&s->p->msg, at, &l))
		if (hf_bytes_ieq(hf_bytes_of(s->p->msg.raw.p + l.name.at, l.name.n), s->conf->source_header)) {
			*line = l.line;
			return true;
		}
	return false;
}
