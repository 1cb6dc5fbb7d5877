/* What lines say together: servers, listeners, pools and services, and what --check warns of. */
#include <stdlib.h>
#include <unistd.h>

#include "confmem.h"
#include "fronts.h"
#include "help.h"

#define SERVICE_B "[service b]\nprotocol = tide\nlisten = 192.0.2.2\npool = pbx\n"

static void test_servers(void **state)
{
	const struct hf_conf_server *s;

	(void)state;
	accepts(GOOD_SERVICE "listen = udp://[2001:db8::9]\n[pool pbx]\nserver = a 192.0.2.11\nserver = b TCP://192.0.2.11:9 weight=0 max-sessions=5 max-cps=7 was=old\n"
		"server = c tls://[2001:db8::1]:7001 weight=256\nserver = d 2001:db8::2\nserver = e udp://[::ffff:192.0.2.9]:8\n");
	s = conf->pools[0].servers;
	assert_int_equal(conf->pools[0].n_servers, 5);
	assert_true(s[0].transport == HF_UDP && s[0].addr.port == 7000 && s[0].weight == 100 && s[0].max_sessions == 0);
	assert_true(s[1].transport == HF_TCP && s[1].addr.port == 9 && s[1].weight == 0 && s[1].max_sessions == 5 && s[1].max_cps == 7 && !strcmp(s[1].was, "old"));
	assert_true(s[2].transport == HF_TLS && s[2].addr.family == 6 && s[2].addr.port == 7001 && s[2].weight == 256 && s[2].line == 9);
	assert_true(s[3].addr.family == 6 && s[3].addr.port == 7000);
	assert_true(s[4].addr.family == 4 && s[4].addr.port == 8);
}

/* Names stand as they were written, with their port; two that are one are refused. Fails without read_host, or when compare() looks at addresses alone. */
static void test_servers_by_name(void **state)
{
	const struct hf_conf_server *s;

	(void)state;
	accepts(GOOD_SERVICE "[pool pbx]\nserver = a PBX1.example.org\nserver = b pbx1.example.org:7002 weight=5\nserver = c tcp://pbx-2:9\nserver = d 192.0.2.11\n");
	s = conf->pools[0].servers;
	assert_true(hf_bytes_eq(s[0].host, HF_LIT("PBX1.example.org")) && s[0].addr.port == 7000 && s[0].addr.family == 0);
	assert_true(hf_bytes_eq(s[1].host, HF_LIT("pbx1.example.org")) && s[1].addr.port == 7002 && s[1].weight == 5);
	assert_true(hf_bytes_eq(s[2].host, HF_LIT("pbx-2")) && s[2].transport == HF_TCP && s[3].host.n == 0);
	refuses(GOOD_SERVICE "[pool pbx]\nserver = a PBX1.example.org\nserver = b pbx1.example.org:7000\n", 7, "the address is that of a in line 6");
}

/* Fails when read_resolver takes what nobody can be asked at. */
static void test_resolver(void **state)
{
	static const char *const wrong[] = {"dns.example.com", "192.0.2.1:0", "0.0.0.0", "[::]:53", "192.0.2.1:65536", "off", "udp://192.0.2.1"};
	char text[300];

	(void)state;
	accepts(GOOD_SERVICE GOOD_POOL);
	assert_int_equal(conf->gateway.resolver.family, 0);
	accepts(GOOD_SERVICE GOOD_POOL "[gateway]\nresolver = 192.0.2.1\n");
	assert_true(conf->gateway.resolver.family == 4 && conf->gateway.resolver.port == 53);
	accepts(GOOD_SERVICE GOOD_POOL "[gateway]\nresolver = [2001:db8::1]:5353\n");
	assert_true(conf->gateway.resolver.family == 6 && conf->gateway.resolver.port == 5353);
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		snprintf(text, sizeof text, GOOD_SERVICE GOOD_POOL "[gateway]\nresolver = %s\n", wrong[i]);
		refuses(text, 8, "system | ADDRESS[:PORT]");
	}
}

/* A snapshot of the same configuration is one more owner. Fails, under a sanitizer, when the first that frees it frees it for all. */
static void test_owners(void **state)
{
	struct hf_conf *c;

	(void)state;
	accepts(GOOD_SERVICE GOOD_POOL);
	c = hf_conf_keep(conf);
	assert_ptr_equal(c, conf);
	hf_conf_free(c);
	assert_string_equal(conf->pools[0].servers[0].name, "a");
}

/* Each fails without the check in endpoint.c that says its text. */
static void test_servers_refused(void **state)
{
	static const struct { const char *line; const char *part; } t[] = {
		{"server = z", "server = z: the address is missing: NAME ADDRESS:PORT"},
		{"server = z pbx_1.example.org:7000", "not an address"},
		{"server = z pbx.example.org:70000", "a port is 0..65535"},
		{"server = z pbx.example.org:0", "a port is 1..65535"},
		{"server = z tls://pbx.example.org", "tls needs its port written"},
		{"server = z 192.0.2.300", "not an address"},
		{"server = z [2001:db8::1", "not an address"},
		{"server = z 192.0.2.12:", "not an address"},
		{"server = z udp://", "not an address"},
		{"server = z udp:192.0.2.12:7000", "a transport is written with ://, as in udp://192.0.2.1:PORT"},
		{"server = z 192.0.2.12:65536", "a port is 0..65535"},
		{"server = z tide:192.0.2.12:7000", "not a URI; write [TRANSPORT://]ADDRESS[:PORT]"},
		{"server = z tide:pbx.example.org;transport=tcp", "not a URI; write"},
		{"server = z pbx.example.org:tide", "not a URI; write"},
		{"server = z 2001:db8::12:7000", "with a port an IPv6 address stands in brackets"},
		{"server = z 192.0.2.1:7000", "server z: [service calls] listens there itself"},
		{"server = z 192.0.2.1", "server z: [service calls] listens there itself"},
		{"server = z 192.0.2.12:0", "a port is 1..65535"},
		{"server = z 0.0.0.0", "nobody is at this address"},
		{"server = z ws://192.0.2.12:80", "ws:// is no transport of protocol tide: udp, tcp, tls"},
		{"server = z sctp://192.0.2.12:80", "sctp:// is no transport of protocol tide"},
		{"server = z tls://192.0.2.12", "tls needs its port written"},
		{"server = z 192.0.2.12 weight=257", "weight=257: 0..256"},
		{"server = z 192.0.2.12 weight=-1", "weight=-1: 0..256"},
		{"server = z 192.0.2.12 weight=", "weight=: 0..256"},
		{"server = z 192.0.2.12 max-sessions=4294967296", "max-sessions=4294967296: 0..4294967295"},
		{"server = z 192.0.2.12 max-cps=1000001", "max-cps=1000001: 0..1000000"},
		{"server = z 192.0.2.12 send-proxy=v2", "send-proxy=v2: yes | no"},
		{"server = z 192.0.2.12 send-proxy=yes", "server: send-proxy: protocol tide shares its connections to a server among all clients, so that no header could name one"},
		{"send-proxy = yes", "send-proxy: protocol tide shares its connections"},
		{"server = z 192.0.2.12 agent=65536", "agent=65536: off or a port, 1..65535"},
		{"server = z 192.0.2.12 agent=0", "agent=0: off or a port, 1..65535"},
		{"server = z 192.0.2.12 agent=", "agent=: off or a port, 1..65535"},
		{"server = z 192.0.2.12 wieght=3", "behind the address stand"},
		{"server = z 192.0.2.12 was=", "not a server's name"},
		{"server = z 192.0.2.12 was=z", "its own name"},
		{"server = z 192.0.2.12 was=a", "was=a: that server is still there, in line 6"},
		{"server = z 192.0.2.11", "the address is that of a in line 6"},
		{"server = z [::ffff:192.0.2.11]", "the address is that of a in line 6"},
		{"server = a 192.0.2.12", "the name stands in line 6 already"},
		{"server = -z 192.0.2.12", "a letter or digit first"},
		{"server = z 2001:db8::12", "nothing of [service calls] can send to it: add a listen = udp://... of IPv6"},
		{"server = z tcp://[2001:db8::12]:9", "nothing of [service calls] can send to it: add a listen = udp://... of IPv6"},
	};
	char text[400];

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		snprintf(text, sizeof text, GOOD_SERVICE GOOD_POOL "%s\n", t[i].line);
		refuses(text, 7, t[i].part);
	}
	refuses(GOOD_SERVICE "[pool pbx]\nserver = z 192.0.2.12 was=a\nserver = a 192.0.2.11\n", 6, "was=a: that server is still there, in line 7");
	refuses(GOOD_SERVICE "[pool pbx]\nserver = y 192.0.2.12 was=o\nserver = z 192.0.2.11 was=o\n", 7, "line 6 takes over its sessions already");
	refuses(GOOD_SERVICE "[pool pbx]\nslots = 16\n", 5, "[pool pbx]: has no server line");
	/* nobody eligible: without takes_sessions in endpoint.c it starts, and refuses every caller */
	refuses(GOOD_SERVICE "[pool pbx]\nserver = a 192.0.2.11 weight=0\nserver = b 192.0.2.12 weight=0\n", 5,
		"[pool pbx]: no server may take a new session: give one at least weight=1..256 (to empty them all, drain them at run time)");
}

/* Whom SRV records name: the name decides that it is such a line, the records all that they can. Each fails without its check in place.c or endpoint.c. */
static void test_service_records(void **state)
{
	static const struct { const char *line, *part; } bad[] = {
		{"_sip._udp.example.com:5060", "SRV records name the ports"}, {"_sip.example.com", "_SERVICE._PROTOCOL.DOMAIN"}, {"_sip._udp", "_SERVICE._PROTOCOL.DOMAIN"},
		{"_._udp.example.com", "_SERVICE._PROTOCOL.DOMAIN"}, {"_sip._udp.", "_SERVICE._PROTOCOL.DOMAIN"}, {"_sip._udp.ex_ample.com", "_SERVICE._PROTOCOL.DOMAIN"},
		{"_sip._udp.example.com weight=5", "weight=5: servers that SRV records name have their weights"}, {"_sip._udp.example.com was=b", "was=b: servers that SRV records name"},
		{"_sip._udp.example.com targets=0", "targets=0: 1..32"}, {"_sip._udp.example.com targets=33", "targets=33: 0..32"}, {"192.0.2.12 targets=3", "behind the address stand"},
	};
	const struct hf_conf_server *s;
	char text[400];

	(void)state;
	accepts(GOOD_SERVICE "listen = tcp://192.0.2.1:7000\n[pool pbx]\nserver = a _sip._udp.example.com\nserver = b tcp://_x-y._tcp.example.org targets=32 max-sessions=7 agent=99\n");
	s = conf->pools[0].servers;
	assert_true(s[0].targets == 16 && hf_bytes_eq(s[0].host, HF_LIT("_sip._udp.example.com")) && s[0].transport == HF_UDP);
	assert_true(s[1].targets == 32 && s[1].transport == HF_TCP && s[1].max_sessions == 7 && s[1].agent == 99);
	accepts(GOOD_SERVICE "[pool pbx]\nserver = a pbx.example.com\nserver = b tls://_sips._tcp.example.com\n"); /* no port is needed */
	assert_true(!conf->pools[0].servers[0].targets && conf->pools[0].servers[1].targets);
	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text, GOOD_SERVICE GOOD_POOL "server = z %s\n", bad[i].line);
		refuses(text, 7, bad[i].part);
	}
	refuses(GOOD_SERVICE "[pool pbx]\nserver = a2345678901234567890123456789012345678901 _sip._udp.example.com\n", 6, "40 characters at most");
	refuses("[service calls]\nprotocol = tide\nlisten = _sip._udp.example.com\npool = pbx\n" GOOD_POOL, 3, "a listener has an address");
}

#define BOUNDED(pool) GOOD_SERVICE "max-sessions = 500\n[pool pbx]\nserver = a 192.0.2.11\n" pool

/* A bound that means nothing is warned of. Fails without check_sessions in confcheck.c. */
static void test_bounded_services(void **state)
{
	(void)state;
	accepts(BOUNDED("max-entries = 500\n"));
	assert_true(conf->services[0].max_sessions == 500 && !has(false, 5, "max-sessions"));
	accepts(GOOD_SERVICE "max-sessions = off\n" GOOD_POOL);
	assert_int_equal(conf->services[0].max_sessions, 0);
	accepts(BOUNDED("max-entries = 499\n"));
	assert_true(has(false, 5, "max-sessions: the pools of [service calls] remember 499 sessions at most (max-entries), so that it is never reached"));
	accepts(BOUNDED("affinity = hash\n"));
	assert_true(has(false, 5, "max-sessions: [pool pbx] has affinity = hash"));
	refuses(GOOD_SERVICE "max-sessions = 0\n" GOOD_POOL, 5, "off | 1..268435456");
	refuses(GOOD_SERVICE "max-sessions = 268435457\n" GOOD_POOL, 5, "off | 1..268435456");
	refuses(GOOD_SERVICE "max-sessions = many\n" GOOD_POOL, 5, "max-sessions");
}

static void test_listens(void **state)
{
	const struct hf_conf_listen *l;

	(void)state;
	accepts("[service calls]\nprotocol = tide\nlisten = udp://0.0.0.0:0 inside tcp://0.0.0.0:7000 advertise=sip.example.org:99 inside 192.0.2.1\n"
		"listen = udp://0.0.0.0:0 tls://[::1]:7001 deny=198.51.100.7 advertise=[2001:db8::1]:5 allow=192.0.2.0/24,2001:db8::/32 deny=203.0.113.0/24\ntls-certificate = c.pem\npool = pbx\n" GOOD_POOL);
	l = conf->services[0].listens;
	assert_int_equal(conf->services[0].n_listens, 5);
	assert_true(l[0].transport == HF_UDP && l[0].addr.port == 0 && l[0].inside && !l[0].advertise.n);
	assert_true(l[1].transport == HF_TCP && l[1].inside && hf_bytes_eq(l[1].advertise, HF_LIT("sip.example.org:99")));
	assert_true(l[2].transport == HF_UDP && l[2].addr.port == 7000 && !l[2].inside);
	assert_true(l[4].transport == HF_TLS && l[4].addr.family == 6 && hf_bytes_eq(l[4].advertise, HF_LIT("[2001:db8::1]:5")) && l[4].line == 4);
	assert_true(!l[3].allow.n && !l[3].deny.n && l[4].allow.n == 2 && l[4].allow.net[1].addr.family == 6 && l[4].allow.net[1].bits == 32);
	assert_true(l[4].deny.n == 2 && l[4].deny.net[0].bits == 32 && l[4].deny.net[1].bits == 24);
}

static void test_listens_refused(void **state)
{
	static const struct { const char *line; const char *part; } t[] = {
		{"listen = inside udp://192.0.2.3:1", "inside: stands behind the address"},
		{"listen = udp://localhost:1", "a listener has an address"},
		{"listen = tide:127.0.0.1:1", "not a URI; write"},
		{"listen = udp://2001:db8::3:7000", "with a port an IPv6 address stands in brackets"},
		{"inside = yes", "inside: no option of this section; it stands behind the address in a listen line"},
		{"advertise = 192.0.2.9", "advertise: no option of this section; it stands behind the address in a listen line"},
		{"weight = 10", "weight: no option of this section; it stands behind the address in a server line"},
		{"listen = tcp:127.0.0.1:1", "a transport is written with ://"},
		{"listen = *:1", "all addresses of this machine are 0.0.0.0:PORT or [::]:PORT"},
		{"listen = udp://192.0.2.3:1 udp://192.0.2.3:1", "udp://192.0.2.3:1: line 5 listens there already"},
		{"listen = 192.0.2.1", "udp://192.0.2.1:7000: line 3 listens there already"},
		{"listen = tcp://192.0.2.3:1 tls://192.0.2.3:1\ntls-certificate = c.pem", "line 5 listens there already"},
		{"listen = wss://192.0.2.3:1", "wss:// is no transport of protocol tide"},
		{"listen = tls://192.0.2.3", "tls needs its port written"},
		{"listen = udp://192.0.2.3:99999", "a port is 0..65535"},
		{"listen = udp://192.0.2.3:1 outside", "a listener has an address"},
		{"listen = udp://192.0.2.3:1 advertise=", "advertise=HOST or advertise=HOST:PORT"},
		{"listen = allow=192.0.2.0/24 udp://192.0.2.3:1", "allow=192.0.2.0/24: stands behind the address"},
		{"listen = udp://192.0.2.3:1 allow=", "allow=ADDRESS[/BITS],..."},
		{"listen = udp://192.0.2.3:1 deny=,", "deny=ADDRESS[/BITS],..."},
		{"listen = udp://192.0.2.3:1 deny=192.0.2.0/33", "deny=192.0.2.0/33: deny=ADDRESS[/BITS],..."},
		{"listen = udp://192.0.2.3:1 allow=192.0.2.0/24,office", "allow=ADDRESS[/BITS],..."},
		{"listen = udp://192.0.2.3:1 inside=yes", "a listener has an address"},
		{"listen = udp://192.0.2.3:1 advertise=a_b", "advertise=HOST or advertise=HOST:PORT"},
		{"listen = udp://192.0.2.3:1 advertise=a:0", "advertise=HOST or advertise=HOST:PORT"},
		{"listen = udp://192.0.2.3:1 advertise=[::1", "advertise=HOST or advertise=HOST:PORT"},
	};
	char text[400];

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		snprintf(text, sizeof text, GOOD_SERVICE "%s\n" GOOD_POOL, t[i].line);
		refuses(text, 5, t[i].part);
	}
	refuses(GOOD_SERVICE "[service b]\nprotocol = tide\nlisten = 192.0.2.1\npool = pbx\n" GOOD_POOL, 7, "line 3 listens there already");
	accepts(GOOD_SERVICE "listen = tcp://192.0.2.1:7000\n" GOOD_POOL); /* another kind of socket */
	accepts(GOOD_SERVICE "listen = [2001:db8::3]:7001 2001:db8::7 2001:db8::700\n" GOOD_POOL "server = b tcp://192.0.2.1\n"); /* neither a port nor ours */
}

/* Services and their pools; each fails without its line in link.c or fill.c (agree). */
static void test_pools_and_services(void **state)
{
	(void)state;
	refuses("[service a]\nlisten = 192.0.2.1:1\npool = pbx\n" GOOD_POOL, 1, "has no protocol line");
	refuses("[service a]\nprotocol = tide\npool = pbx\n" GOOD_POOL, 1, "has no listen line");
	refuses("[service a]\nprotocol = tide\nlisten = 192.0.2.1:1\n" GOOD_POOL, 1, "has no pool line");
	refuses("[service a]\nprotocol = tied\nlisten = 192.0.2.1:1\npool = pbx\n" GOOD_POOL, 2, "protocol = tied: tide | reef; did you mean tide?");
	refuses("[service a]\nprotocol = tide\nlisten = 192.0.2.1:1\npool = pbxx\n" GOOD_POOL, 4, "there is no [pool pbxx]; did you mean pbx?");
	refuses(GOOD_SERVICE "[service b]\nprotocol = reef\nlisten = 192.0.2.1:1\npool = pbx\n" GOOD_POOL, 8, "a pool has one protocol");
	refuses(GOOD_SERVICE "slots = 17\n" SERVICE_B "slots = 18\n" GOOD_POOL, 10, "slots = 18: line 5 says otherwise for the same pool");
	refuses(GOOD_SERVICE "affinity = hash\n" GOOD_POOL "affinity = auto\n", 5, "affinity = hash: line 8 says otherwise for the same pool");
	refuses(GOOD_SERVICE "affinity = none\n" GOOD_POOL, 5, "affinity = none: protocol tide sends a session in many parcels");
	accepts(GOOD_SERVICE "slots = 17\nload-factor = 2\n" SERVICE_B "slots = 17\n" GOOD_POOL "load-factor = 2.0\n");
	assert_true(conf->pools[0].slots == 17 && conf->pools[0].load_factor == 2000);
	accepts("[service a]\nprotocol = reef\nlisten = 192.0.2.1\npool = p\n[pool p]\nserver = a 192.0.2.2\naffinity = none\n");
	accepts("[service a]\nprotocol = reef\nlisten = 192.0.2.1 udp://192.0.2.1\npool = p\n[pool p]\nserver = a 192.0.2.2\n"); /* datagrams beside connections */
	refuses("[service a]\nprotocol = reef\nlisten = udp://192.0.2.1\npool = p\n[pool p]\nserver = a 192.0.2.2\n", 3,
		"datagrams of protocol reef go beside connections: add a listen = tcp://... to [service a]");
	refuses("[service a]\nprotocol = reef\nlisten = 192.0.2.1\npool = p\n[pool p]\nserver = a udp://192.0.2.2\n", 6, "udp:// is no transport of protocol reef: tcp");
}

#define REEF "[service r]\nprotocol = reef\nlisten = 192.0.2.1\npool = p\n"
#define REEF_POOLS "[pool p]\nserver = a 192.0.2.2\n[pool q]\nserver = a 192.0.2.3\nlinger = 7s\n"

/* Pools by what messages say; each fails without its line in link.c, poolopt.c or load.c (fill_choices). */
static void test_pool_words(void **state)
{
	char many[8192] = REEF;
	const struct reef_conf *own, *other;

	(void)state;
	refuses(REEF "shore = North\n" REEF_POOLS, 5, "shore = North: NAME POOL");
	refuses(REEF "shore =\n" REEF_POOLS, 5, "shore: has no value");
	refuses(REEF "shore = North qq\n" REEF_POOLS, 5, "shore = North qq: there is no [pool qq]");
	refuses(REEF "shore = North q\nshore = nORTH p\n" REEF_POOLS, 6, "this name has a pool already: q");
	refuses(REEF "shore = North pbx\n" REEF_POOLS GOOD_SERVICE GOOD_POOL, 14, "pool = pbx: a service above uses it for protocol reef");
	refuses(GOOD_SERVICE REEF "shore = North pbx\n" REEF_POOLS GOOD_POOL, 9, "shore = North pbx: a service above uses it for protocol tide");
	refuses(GOOD_SERVICE "shore = North pbx\n" GOOD_POOL, 5, "shore: no option of this section; it belongs into [service NAME] of protocol reef");
	for (unsigned i = 0; i <= HF_POOL_WORDS_MAX; i++)
		snprintf(many + strlen(many), sizeof many - strlen(many), "shore = s%u q\n", i);
	snprintf(many + strlen(many), sizeof many - strlen(many), "%s", REEF_POOLS);
	refuses(many, 5 + HF_POOL_WORDS_MAX, "at most 64");
	accepts("[gateway]\ncluster-secret-file = /x\n" REEF "shore =  Far \tNorth  q\nshore = here p\nshore = south q\n" REEF_POOLS);
	assert_int_equal(found.n, 0); /* q has a service */
	assert_true(conf->services[0].n_choices == 2 && conf->services[0].choices[0].pool == &conf->pools[0] && conf->services[0].choices[1].pool == &conf->pools[1]);
	assert_true(conf->pools[1].front == conf->services[0].front && conf->services[0].choices[0].front_conf == conf->services[0].front_conf);
	own = conf->services[0].front_conf;
	other = conf->services[0].choices[1].front_conf;
	assert_true(own->linger == 86400000 && other->linger == 7000);
	assert_true(other->shores.n == 3 && hf_bytes_eq(other->shores.list[0].word, HF_LIT("Far \tNorth")));
	assert_true(other->shores.list[0].pool == 1 && other->shores.list[1].pool == 0 && own->shores.list[2].pool == 1);
}

/* So many servers want more slots, where slots are drawn and decide. */
static void warns_of_few_slots(unsigned servers, const char *more, const char *said)
{
	static char ini[8192];
	int n = snprintf(ini, sizeof ini, GOOD_SERVICE "[pool pbx]\n%s", more);

	for (unsigned i = 0; i < servers; i++)
		n += snprintf(ini + n, sizeof ini - (size_t)n, "server = s%u 192.0.2.%u\n", i, i + 2);
	accepts(ini);
	assert_int_equal(has(false, *more ? 6 : 5, *said == '-' ? "slots" : said), *said != '-');
}

/* Messages that name a server by address and port: what its line leaves out is a guess, and said to be one. It is taken all the same. Fails without
 * check_ports in confcheck.c; each quiet line when place_has_port or the front is not asked. */
static void test_ports_left_out(void **state)
{
#define BOTTLES(linger) "[gateway]\ncluster-secret-file = /x\n[service s]\nprotocol = reef\nlisten = 192.0.2.1\npool = p\n[pool p]\nlinger = " linger "\n"
#define FIVE "server = a 192.0.2.11\nserver = b 192.0.2.12:8000\nserver = c tcp://desk.example.com\nserver = d tcp://desk.example.com:8001\nserver = e 2001:db8::5\n"
	(void)state;
	accepts(BOTTLES("9s") FIVE);
	assert_true(has(false, 9, "server a: no port is written, so 8000 is taken; a message in a bottle names a server by address and port"));
	assert_true(has(false, 9, "as in 192.0.2.11:8000") && has(false, 11, "as in desk.example.com:8000"));
	assert_int_equal(found.n, 2);
	assert_true(conf->pools[0].servers[0].addr.port == 8000 && !conf->pools[0].servers[0].port_said && conf->pools[0].servers[3].port_said);
	accepts(BOTTLES("9s") "server = a _reef._tcp.example.com\n");
	assert_int_equal(found.n, 0); /* the records name them */
	accepts(BOTTLES("8s") FIVE);
	assert_int_equal(found.n, 0);
}

/* --check's surprises; each fails without its line in confcheck.c. */
static void test_warnings(void **state)
{
	(void)state;
	accepts("[gateway]\ncluster-secret-file = /x\n" GOOD_SERVICE GOOD_POOL);
	assert_int_equal(found.n, 0);
	accepts(GOOD_SERVICE GOOD_POOL "affinity = hash\n");
	assert_true(found.n == 1 && has(false, 1, "no cluster-secret-file"));
	assert_int_equal(conf->pools[0].load_factor, 0); /* 1.5 by default otherwise */
	accepts(GOOD_SERVICE GOOD_POOL "affinity = hash\nload-factor = 1.5\n");
	assert_true(has(false, 8, "load-factor: with affinity = hash"));
	assert_int_equal(conf->pools[0].load_factor, 1500);
	accepts(GOOD_SERVICE GOOD_POOL "max-connecting = 5\nconnecting-queue = 5\n");
	assert_true(has(false, 7, "max-connecting: does nothing, as protocol tide shares its connections to a server among all clients"));
	assert_true(has(false, 8, "connecting-queue: does nothing, as protocol tide shares"));
	accepts(GOOD_SERVICE GOOD_POOL "load-factor = off\nagent = 9\n");
	assert_true(has(false, 8, "agent: percents that agents say lower a server's load-factor bound, and load-factor is off"));
	accepts(GOOD_SERVICE GOOD_POOL "load-factor = 1.5\nagent = 9\nagent-interval = 3s\nagent-send = farm one\nserver = b 192.0.2.12 agent=10\nserver = c 192.0.2.13 agent=off\n");
	assert_true(!has(false, 8, "agent") && conf->pools[0].agent == 9 && conf->pools[0].agent_interval == 3000 && hf_bytes_eq(conf->pools[0].agent_send, HF_LIT("farm one")));
	assert_true(!conf->pools[0].servers[0].agent_said && conf->pools[0].servers[1].agent == 10 && conf->pools[0].servers[2].agent_said && !conf->pools[0].servers[2].agent);
	warns_of_few_slots(64, "", "-");
	warns_of_few_slots(65, "", "slots: 65 servers are many for 2^16 slots, so that their shares are uneven; slots = 17, the same in all gateways, makes them evener");
	warns_of_few_slots(129, "slots = 17\n", "slots: 129 servers are many for 2^17 slots, so that their shares are uneven; slots = 18, the same");
	warns_of_few_slots(129, "slots = 18\n", "-");
	warns_of_few_slots(129, "hash = maglev\n", "-");
	accepts(GOOD_SERVICE GOOD_POOL "hash = maglev\nring-points = 9\n");
	assert_true(has(false, 8, "ring-points: does nothing without hash = ring"));
	accepts(GOOD_SERVICE GOOD_POOL "hash = ring\nring-points = 9\n");
	assert_false(has(false, 8, "ring-points"));
	accepts(GOOD_SERVICE GOOD_POOL "load-factor = off\nslow-start = 1m\n");
	assert_true(has(false, 8, "slow-start: it raises a server's load-factor bound, and load-factor is off"));
	assert_int_equal(conf->pools[0].slow_start, 60000);
	accepts(GOOD_SERVICE GOOD_POOL "affinity = table\nbalance = round-robin\nslow-start = 1m\nload-factor = off\nmax-entries = 3\n");
	assert_true(found.n == 1 && conf->pools[0].balance == 2 && conf->pools[0].source_entries == 1);
	accepts(GOOD_SERVICE GOOD_POOL "max-entries-source = off\n");
	assert_int_equal(conf->pools[0].source_entries, 0);
	accepts(GOOD_SERVICE GOOD_POOL "max-entries-source = 77\n");
	assert_int_equal(conf->pools[0].source_entries, 77);
	accepts(GOOD_SERVICE GOOD_POOL "probe-interval = 500ms\n");
	assert_true(has(false, 5, "probe-timeout is longer than probe-interval"));
	accepts(GOOD_SERVICE GOOD_POOL "probe-program = /x\n");
	assert_true(has(false, 7, "probe-program: it is run with probe = program only"));
	accepts(GOOD_SERVICE GOOD_POOL "probe = program\nprobe-program = /1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 -a={address}:{port}/{server}{pool}\n");
	assert_true(found.n == 1 && conf->pools[0].probe == HF_CONF_PROBE_PROGRAM && hf_bytes_starts(conf->pools[0].probe_program, HF_LIT("/1 2 ")));
	accepts(GOOD_SERVICE GOOD_POOL "[pool spare]\nserver = a 192.0.2.1:4\nlinger = 5s\nprobe = sound\n");
	assert_true(has(false, 7, "[pool spare]: no service uses it"));
	assert_null(conf->pools[1].front);
	refuses(GOOD_SERVICE GOOD_POOL "[pool spare]\nserver = a 192.0.2.1:4\nlinger = 5\ndepth = 5\n", 9, "linger = 5: a time needs its unit"); /* rows of all protocols */
}

/* hf_conf_load: the file itself; fails when read_all takes a directory or a missing file for empty. */
static void test_load(void **state)
{
	static const char text[] = GOOD_SERVICE GOOD_POOL;
	char path[] = "/tmp/holdfast-conf-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
	close(fd);
	hf_conf_free(conf);
	hf_findings_free(&found);
	assert_int_equal(hf_conf_load(path, &conf, &found), HF_OK);
	assert_string_equal(conf->path, path);
	hf_conf_free(conf);
	unlink(path);
	assert_int_equal(hf_conf_load(path, &conf, &found), HF_EIO);
	assert_null(conf);
	assert_true(has(true, 0, "cannot be read: No such file"));
	assert_int_equal(hf_conf_load("/", &conf, &found), HF_EIO);
	assert_true(has(true, 0, "cannot be read: Is a directory"));
}

/* Every allocation fails once: no memory is what comes back, and nothing is left behind (the sanitizer looks). */
static void test_starved(void **state)
{
	static const char good[] = "[gateway]\nworkers = 2\n" GOOD_SERVICE SERVICE_B GOOD_POOL "depth = 13\n[pool spare]\nserver = a 192.0.2.1:4\n";
	static const char bad[] = "[gateway]\nwrokers = 2\nx\n[service a]\nfoo = 2\n[pool c]\nhash = x\n[zz]\n[pool]\n[pool c]\n[pool d]\nserver = a b\nserver = b c\n"
		"server = c d\nserver = d e\nserver = e f\nserver = f g\nserver = g h\nserver = h i\n";
	const char *const texts[] = {good, bad};
	const enum hf_err ends[] = {HF_OK, HF_EINVAL};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		enum hf_err e = HF_ENOMEM;
		long n;

		for (n = 1; e == HF_ENOMEM && n < 1000; n++) {
			confmem_fail_at = n;
			e = parse(texts[i]);
			assert_true(e == HF_OK || !conf);
		}
		confmem_fail_at = 0;
		assert_int_equal(e, ends[i]);
		assert_true(n > 12);
	}
	confmem_fail_at = 1;
	assert_int_equal(hf_conf_load("/dev/null", &conf, &found), HF_ENOMEM);
	confmem_fail_at = 0;
}

/* A file at every cut ends well, and never as something that the whole is not; the sanitizer looks. */
static void test_cuts(void **state)
{
	static const char text[] = "[gateway]\nworkers = 2\n" GOOD_SERVICE "tls-certificate = c k\nlisten = tls://[::1]:70 inside advertise=a:1\nswell = 5s\n" GOOD_POOL "server = b tcp://192.0.2.1:4 weight=3 was=x\nload-factor = 1.25\n";

	(void)state;
	for (size_t n = 0; n < sizeof text; n++) {
		char *copy = malloc(n + 1); /* so that one octet beyond is seen */

		assert_non_null(copy);
		memcpy(copy, text, n);
		assert_true(parse_n(copy, n) == (conf ? HF_OK : HF_EINVAL));
		free(copy);
	}
	assert_non_null(conf);
}

/* WebSockets are listened to and never dialled, and are no way for a server to answer by; pages by their Origin. Fails without may_be (endpoint.c; above,
 * a server at ws:// is refused), has_way's exception, or a check of read_origins. */
static void test_web(void **state)
{
	static const char *const wrong[] = {"*", "phones.example.com", "https://", "https:phones.example.com", "https://phones.example.com/", "any https://phones.example.com"};
	char text[500];

	(void)state;
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		snprintf(text, sizeof text, GOOD_SERVICE "ws-origin = %s\n" GOOD_POOL, wrong[i]);
		refuses(text, 5, "any | SCHEME://HOST[:PORT] ...");
	}
	refuses("[service calls]\nprotocol = tide\nlisten = ws://192.0.2.1:80\npool = pbx\n[pool pbx]\nserver = a tcp://192.0.2.11:1\n", 6, "add a listen = udp://... of IPv4");
	accepts(GOOD_SERVICE "listen = ws://192.0.2.1:80\nws-origin = https://phones.example.com http://localhost:8080\nws-ping = off\n" GOOD_POOL);
	assert_int_equal(conf->services[0].listens[1].transport, HF_WS);
	assert_true(hf_bytes_eq(conf->services[0].web_origins, HF_LIT("https://phones.example.com http://localhost:8080")));
	assert_int_equal(conf->services[0].web_ping, 0);
	accepts(GOOD_SERVICE "ws-origin = any\n" GOOD_POOL);
	assert_int_equal(conf->services[0].web_origins.n, 0);
}

/* Certificates, the names that servers must have, and what one without the other would mean. Each line of `wrong` fails without its check. */
static void test_tls(void **state)
{
	static const struct { const char *service, *pool; unsigned line; const char *part; } wrong[] = {
		{"listen = tls://192.0.2.3:1", "", 5, "listen: tls:// shows a certificate: add tls-certificate = FILE to [service calls]"},
		{"tls-client-certificate = required", "", 5, "add tls-client-ca = FILE"},
		{"tls-client-certificate = must", "", 5, "off | optional | required"},
		{"tls-certificate = a b c", "", 5, "CERTIFICATE-FILE [KEY-FILE]"},
		{"tls-min-version = 1.1", "", 5, "1.2 | 1.3"},
		{"", "tls-name = a_b", 8, "a host name or an address"},
		{"", "server = b 192.0.2.1:9 tls-name=", 8, "a host name or an address"},
		{"", "tls-certificate = a\ntls-certificate = b", 9, "given twice"},
	};
	char text[500];

	(void)state;
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		snprintf(text, sizeof text, GOOD_SERVICE "%s\n" GOOD_POOL "%s\n", wrong[i].service, wrong[i].pool);
		refuses(text, wrong[i].line, wrong[i].part);
	}
	accepts(GOOD_SERVICE "listen = tls://192.0.2.3:1\ntls-certificate = a.pem\ntls-certificate = b.pem  b.key\ntls-client-certificate = optional\ntls-client-ca = ca.pem\n"
		"tls-min-version = 1.3\n" GOOD_POOL "tls-name = PBX.example.com\ntls-ca = ca.pem\ntls-certificate = c.pem\nserver = b tls://192.0.2.1:9 tls-name=b.example.com\n");
	assert_int_equal(conf->services[0].tls_certificates.n, 2);
	assert_true(!conf->services[0].tls_certificates.pair[0].key.n && hf_bytes_eq(conf->services[0].tls_certificates.pair[1].key, HF_LIT("b.key")));
	assert_true(conf->services[0].tls_client_certificate == HF_CONF_TLS_OPTIONAL && conf->services[0].tls_min_version == 1);
	assert_true(conf->pools[0].tls_verify && conf->pools[0].tls_min_version == 0);
	assert_true(hf_bytes_eq(conf->pools[0].tls_certificate.certificate, HF_LIT("c.pem")));
	assert_true(!conf->pools[0].servers[0].tls_name.n && hf_bytes_eq(conf->pools[0].servers[1].tls_name, HF_LIT("b.example.com")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_web, drop_all), cmocka_unit_test_teardown(test_tls, drop_all),
		cmocka_unit_test_teardown(test_servers, drop_all), cmocka_unit_test_teardown(test_servers_by_name, drop_all), cmocka_unit_test_teardown(test_resolver, drop_all),
		cmocka_unit_test_teardown(test_owners, drop_all), cmocka_unit_test_teardown(test_servers_refused, drop_all),
		cmocka_unit_test_teardown(test_listens, drop_all), cmocka_unit_test_teardown(test_listens_refused, drop_all), cmocka_unit_test_teardown(test_bounded_services, drop_all),
		cmocka_unit_test_teardown(test_service_records, drop_all),
		cmocka_unit_test_teardown(test_pools_and_services, drop_all), cmocka_unit_test_teardown(test_pool_words, drop_all), cmocka_unit_test_teardown(test_warnings, drop_all), cmocka_unit_test_teardown(test_ports_left_out, drop_all),
		cmocka_unit_test_teardown(test_load, drop_all), cmocka_unit_test_teardown(test_starved, drop_all), cmocka_unit_test_teardown(test_cuts, drop_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
