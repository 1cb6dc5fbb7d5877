/* The SIP front's options: one row each, and what must hold between them. values.c and chain.c read what is no plain value. Called by the configuration, once a service. */
#include "inside.h"

/* Limits. A message: the longest datagram there is. Headers: trunks and IMS cores send 60 to 80; 256 leaves room and keeps the work of
 * one datagram bounded. A header: an Identity or a long Path with tokens has up to 8 KiB. Call-ID: software makes 20 to 100 octets;
 * 4096 takes the odd gateway that nests them. Parameters: a Via or Contact with 64 is already a mistake. */
#define AT(f) .offset = offsetof(struct sip_conf, f)
#define LIVE .sections = HF_IN_SERVICE, .reload = HF_RELOAD_LIVE

static const char *const options_words[] = {"forward", "answer", NULL}, *const tenant_words[] = {"service", "domain", NULL}, *const sips_words[] = {"tls", "trusted", NULL},
	*const path_words[] = {"no", "yes", "always", "required", NULL};

const struct hf_option sip_options[SIP_N_OPTIONS] = {
	{"key", HF_OPT_CUSTOM, LIVE, AT(key), .dflt = "call-id", .read = sip_keys_read,
	 .help = "By what the server of a new session is chosen: call-id, user, domain, from-user, to-user, request-uri, header:NAME, uri-param:NAME, "
		 "source (source/24, source/64, source/24/64: networks), source-port, destination, source-destination or token:OFFSET:LENGTH (octets of the "
		 "Call-ID); of several the first that a message has, and of none the pool's fallback."},
	{"key-length", HF_OPT_UINT, LIVE, AT(key_length), .min = 1, .max = 4096, .unit = "octets", .dflt = "80",
	 .help = "So many octets of the key choose the server; dialogs are told apart by their whole Call-ID all the same."},
	{"tenant", HF_OPT_CHOICE, LIVE, AT(tenant), .dflt = "service", .words = tenant_words,
	 .help = "Who is the same user with key = user: equal names of all domains of this service, or only those of one domain."},
	{"record-route", HF_OPT_BOOL, LIVE, AT(record_route), .dflt = "yes",
	 .help = "Stay in the way of a dialog's later requests; without it they find their server by Call-ID only if they come here at all."},
	{"path", HF_OPT_CHOICE, LIVE, AT(path), .dflt = "yes", .words = path_words,
	 .help = "Add a Path with a signed flow token to registrations that support it, so that servers reach a phone the way it came (RFC 3327). always: to all of them, "
		 "for phones behind NAT that say nothing of it; a strict registrar refuses that with 420. required: as yes, and a registration that does not support it is answered 421."},
	{"udp-to-tcp", HF_OPT_SIZE, LIVE, AT(udp_to_tcp), .min = 256, .max = SIP_DATAGRAM_MAX, .unit = "octets", .dflt = "off", .off_ok = true,
	 .help = "A request that would reach a UDP server as a longer datagram goes to its address over TCP, and as a datagram all the same when no connection "
		 "can be made (RFC 3261 18.1.1, which says 1300). A phone is never dialled for that: what is long takes a connection that it has open."},
	{"failover", HF_OPT_BOOL, LIVE, AT(failover), .dflt = "yes",
	 .help = "Hold an opening request until a server answers it, and try another one when it refuses or, for INVITE and REGISTER, does not answer."},
	{"try-timeout", HF_OPT_TIME, LIVE, AT(try_timeout), .min = 100, .max = 16000, .unit = "s", .dflt = "2s",
	 .help = "So long a server may say nothing to a held INVITE or REGISTER; 100 Trying is enough."},
	{"max-attempts", HF_OPT_UINT, LIVE, AT(max_attempts), .min = 1, .max = 4, .unit = "servers", .dflt = "3",
	 .help = "So many servers are asked for one held request."},
	{"failover-codes", HF_OPT_CUSTOM, LIVE, AT(failover_codes), .dflt = "503", .read = sip_codes_read,
	 .help = "Answers that send a held request to the next server, from 400 up; the last 503 goes to the client as 500 (RFC 3261 16.7)."},
	{"early-expiry", HF_OPT_TIME, LIVE, AT(early_expiry), .min = 32000, .max = 3600000, .unit = "s", .dflt = "200s",
	 .help = "How long a call that is not answered yet keeps its place, from its INVITE or last provisional answer (a proxy waits over 3 minutes, RFC 3261 16.6)."},
	{"session-expiry", HF_OPT_TIME, LIVE, AT(session_expiry), .min = 60000, .max = 86400000, .unit = "s", .dflt = "4h",
	 .help = "How long an answered call is remembered after its last request, when no Session-Expires was agreed."},
	{"options", HF_OPT_CHOICE, LIVE, AT(options), .dflt = "forward", .words = options_words,
	 .help = "What becomes of OPTIONS to the gateway itself: forwarded to a server, so that its answer tells of the pool, or answered here."},
	{"sips", HF_OPT_CHOICE, LIVE, AT(sips), .dflt = "tls", .words = sips_words,
	 .help = "Over what a request to a sips: URI may pass between here and the servers: TLS alone, any other is refused with 416; or anything, where that network is trusted."},
	{"own-names", HF_OPT_TEXT, LIVE, AT(own_names), .max = 4096, .dflt = "",
	 .help = "Host names that mean this gateway in Route and Request-URI, blanks between; its addresses and advertised names are known."},
	{"client-address-header", HF_OPT_CUSTOM, LIVE, AT(source_header), .unit = "off | NAME", .dflt = "off", .read = sip_source_header_read,
	 .help = "A header in which servers read the address that a client's request came from (X-Client-Address; X-AUTH-IP for FreeSWITCH). Copies of it that clients "
		 "send are taken out, and no client gets it; what servers send to servers keeps it."},
	{"deny-user-agent", HF_OPT_CUSTOM, LIVE, AT(deny_agents), .unit = "off | WORD ...", .read = sip_words_read,
	 .dflt = "friendly-scanner friendly-request sipvicious sipcli sip-scan sipscan sundayddr iwar vaxsipuseragent vaxipuseragent pplsip",
	 .help = "Programs that look for holes: a request of a client whose User-Agent begins so, in any case, is dropped without an answer."},
	{"priority-uri", HF_OPT_CUSTOM, LIVE, AT(priority), .unit = "off | USER or URI ...", .dflt = "urn:service:sos 112 911", .read = sip_words_read,
	 .help = "Emergency calls: by the user of the Request-URI, or with a colon by its beginning. No limit of servers nor load-factor holds for them, and of the service's max-cps they have as many of their own."},
	{"max-message", HF_OPT_SIZE, LIVE, AT(max_message), .min = 1024, .max = SIP_MESSAGE_MAX, .unit = "octets", .dflt = "65535",
	 .help = "The longest message."},
	{"max-headers", HF_OPT_UINT, LIVE, AT(max_headers), .min = 16, .max = 4096, .unit = "lines", .dflt = "256",
	 .help = "Header lines of a message."},
	{"max-header", HF_OPT_SIZE, LIVE, AT(max_header), .min = 256, .max = 65535, .unit = "octets", .dflt = "16k",
	 .help = "The longest header line, with its continuation lines."},
	{"max-call-id", HF_OPT_SIZE, LIVE, AT(max_call_id), .min = 32, .max = 65535, .unit = "octets", .dflt = "4k",
	 .help = "The longest Call-ID."},
	{"max-params", HF_OPT_UINT, LIVE, AT(max_params), .min = 8, .max = 4096, .unit = "parameters", .dflt = "64",
	 .help = "Parameters of one value."},
	{"probe-codes", HF_OPT_CUSTOM, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, AT(probe_codes), .dflt = "200-407 409-499", .read = sip_codes_read,
	 .help = "Answers to a probe that mean a server is well; 503 means busy, all others that it is not (408 comes from a proxy between)."},
	{"probe-method", HF_OPT_CUSTOM, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, AT(probe_method), .unit = "METHOD", .dflt = "OPTIONS", .read = sip_probe_method_read,
	 .help = "What a probe is, for servers that do not answer OPTIONS."},
	{"probe-from", HF_OPT_CUSTOM, .sections = HF_IN_POOL, .reload = HF_RELOAD_LIVE, AT(probe_from), .unit = "USER | sip:USER@HOST", .dflt = "holdfast", .read = sip_probe_from_read,
	 .help = "Whom a probe says it is from, for servers that ask who is asking; a user alone stands before the gateway's own address."},
};

/* Keys that many share: in front they decide alone. */
static const struct { enum sip_key_kind kind; const char *text; } herds[] = {
	{SIP_KEY_SOURCE, "key = source: all phones behind one address share one server"},
	{SIP_KEY_SOURCE_DESTINATION, "key = source-destination: all phones behind one address share one server"},
	{SIP_KEY_DESTINATION, "key = destination: all that comes to one address of this gateway shares one server"},
};

enum hf_err sip_options_check(void *conf, const struct hf_says *says)
{
	struct sip_conf *c = conf;

	c->limits = (struct sip_limits){.message = (uint32_t)c->max_message, .headers = (uint32_t)c->max_headers, .line = (uint32_t)c->max_header,
					.call_id = (uint32_t)c->max_call_id, .params = (uint32_t)c->max_params};
	for (unsigned i = 0; i < c->failover_codes.n; i++)
		if (c->failover_codes.range[i].lo < 400) {
			says->say(says->arg, true, "failover-codes", "an answer below 400 is no failure");
			return HF_EINVAL;
		}
	for (unsigned i = 0; i < sizeof herds / sizeof *herds; i++)
		if (c->key.n && c->key.key[0].kind == herds[i].kind)
			says->say(says->arg, false, "key", herds[i].text);
	for (unsigned i = 0; i + 1 < c->key.n; i++)
		if (c->key.key[i].kind == SIP_KEY_CALL_ID)
			says->say(says->arg, false, "key", "every message has a call-id: what stands behind it in key is never used");
	return HF_OK;
}
