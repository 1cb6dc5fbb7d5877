/* holdfast-rdp-probe: is an RDP host well? A connection as a client makes it, by libfreerdp: the negotiation, TLS, and there it ends, where a password
 * would be needed next; with a file of credentials on to the desktop. One line on standard output says what it saw; exit code 0: well, 1: not, 2: it
 * was called wrongly. A process of its own, for `probe = program`: the library is large, waits without a limit, and is no part of the gateway.
 * Leaves nothing on the machine it runs on. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <freerdp/freerdp.h>

#include "holdfast/bytes.h"

#define TIMEOUT_S 10 /* as long as a client's patience; the gateway's probe-timeout is shorter as a rule */
#define SECRETS_MAX 4096

enum { WELL, NOT_WELL, USAGE };

struct call {
	uint64_t timeout_s, port;
	const char *credentials, *host;
};

struct seen {
	rdpContext context; /* first: the library makes it */
	bool tls, log_on;
	uint32_t protocol;
};

static volatile sig_atomic_t tls_stands;

static int say(int code, const char *text, const char *more)
{
	printf("%s%s\n", text, more);
	return code;
}

/* ---- what the library asks us ---- */

static BOOL yes(freerdp *f)
{
	(void)f;
	return TRUE;
}

/* TLS stands, and the protocol is agreed on (MS-RDPBCGR 2.2.1.2.1). Whose certificate it is decides nothing: the gateway passes it on as it is, and
 * clients judge it. Without credentials this is the end. */
static int see_certificate(freerdp *f, const BYTE *pem, size_t n, const char *host, UINT16 port, DWORD flags)
{
	struct seen *s = (struct seen *)f->context;

	(void)pem, (void)n, (void)host, (void)port, (void)flags;
	s->tls = true;
	tls_stands = 1;
	s->protocol = freerdp_settings_get_uint32(f->context->settings, FreeRDP_SelectedProtocol);
	return s->log_on ? 1 : -1;
}

/* ---- credentials: lines of `user NAME`, `password TEXT` and `domain NAME` ---- */

static bool take_line(struct hf_bytes line, rdpSettings *to)
{
	static const struct { const char *word; size_t id; } words[] = {{"user", FreeRDP_Username}, {"password", FreeRDP_Password}, {"domain", FreeRDP_Domain}};
	struct hf_bytes rest = line, word = hf_bytes_word(&rest);
	char value[512];

	if (!word.n || word.p[0] == '#')
		return true;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (hf_bytes_eq(word, hf_bytes_str(words[i].word)) && rest.n && rest.n < sizeof value) {
			memcpy(value, rest.p, rest.n);
			value[rest.n] = 0;
			return freerdp_settings_set_string(to, words[i].id, value);
		}
	return false;
}

static bool take_credentials(const char *path, rdpSettings *to)
{
	uint8_t text[SECRETS_MAX];
	FILE *f = fopen(path, "r");
	struct stat st;
	struct hf_bytes rest;
	bool good = f && fstat(fileno(f), &st) == 0 && !(st.st_mode & S_IRWXO);

	rest = hf_bytes_of(text, good ? fread(text, 1, sizeof text, f) : 0);
	good = good && rest.n < sizeof text;
	while (good && rest.n) {
		size_t end = hf_bytes_find(rest, '\n');

		good = take_line(hf_bytes_sub(rest, 0, end), to);
		rest = hf_bytes_sub(rest, end + 1, rest.n);
	}
	if (f)
		fclose(f);
	return good && freerdp_settings_get_string(to, FreeRDP_Username) && freerdp_settings_get_string(to, FreeRDP_Password);
}

/* ---- the connection ---- */

static void out_of_time(int signo)
{
	static const char *const text[] = {"no answer in time\n", "TLS stands, then no answer in time\n"};
	const char *t = text[tls_stands != 0];
	ssize_t n = write(STDOUT_FILENO, t, strlen(t));

	(void)signo, (void)n; /* nobody reads it: the exit code says enough */
	_exit(NOT_WELL);
}

static bool set(freerdp *f, const struct call *c)
{
	rdpSettings *s = f->context->settings;

	return freerdp_settings_set_string(s, FreeRDP_ServerHostname, c->host) && freerdp_settings_set_uint32(s, FreeRDP_ServerPort, (UINT32)c->port) &&
		freerdp_settings_set_bool(s, FreeRDP_ExternalCertificateManagement, TRUE) &&
		freerdp_settings_set_bool(s, FreeRDP_RdpSecurity, FALSE) && /* without TLS there is no point to stop at, and it is no state to be in */
		freerdp_settings_set_bool(s, FreeRDP_AuthenticationOnly, TRUE);
}

static int verdict(const freerdp *f, const struct seen *s, bool desktop)
{
	static const struct { uint32_t bits; const char *name; } names[] = {{0x10, "Entra ID"}, {8, "NLA"}, {4, "RDSTLS"}, {2, "NLA"}, {1, "TLS"}};
	const char *name = "no TLS";
	uint32_t e = freerdp_get_last_error(f->context);

	for (size_t i = sizeof names / sizeof names[0]; i-- > 0;)
		if (s->protocol & names[i].bits)
			name = names[i].name;
	if (desktop)
		return say(WELL, "logged on by ", name);
	if (s->tls && !s->log_on)
		return say(WELL, "TLS stands, asks for ", s->protocol == 1 ? "nothing more" : name);
	if (s->tls)
		return say(NOT_WELL, "refused the log-on by ", name);
	if (e == FREERDP_ERROR_CONNECT_TRANSPORT_FAILED)
		return say(NOT_WELL, "no connection, or closed at once", "");
	if (e == FREERDP_ERROR_SECURITY_NEGO_CONNECT_FAILED)
		return say(NOT_WELL, "takes neither TLS nor NLA, or no RDP", "");
	return say(NOT_WELL, "", freerdp_get_last_error_string(e));
}

static int probe(freerdp *f, const struct call *c)
{
	struct seen *s = (struct seen *)f->context;
	bool desktop;
	int code;

	if (!set(f, c))
		return say(NOT_WELL, "no memory", "");
	s->log_on = c->credentials != NULL;
	if (s->log_on && !take_credentials(c->credentials, f->context->settings))
		return say(USAGE, "cannot use these credentials, or others may read them: ", c->credentials);
	signal(SIGALRM, out_of_time);
	alarm((unsigned)c->timeout_s);
	desktop = freerdp_connect(f);
	code = verdict(f, s, desktop);
	fflush(stdout); /* what is said is said, whatever becomes of the goodbye */
	if (desktop)
		freerdp_disconnect(f);
	return code;
}

static int run(const struct call *c)
{
	freerdp *f;
	int code = NOT_WELL;

	setenv("HOME", "/nonexistent", 1); /* the library keeps known hosts and logs there */
	unsetenv("XDG_CONFIG_HOME");
	setenv("WLOG_LEVEL", "OFF", 1);
	f = freerdp_new();
	if (!f)
		return say(NOT_WELL, "no memory", "");
	f->ContextSize = sizeof(struct seen);
	f->PreConnect = f->PostConnect = yes;
	f->VerifyX509Certificate = see_certificate;
	if (freerdp_context_new(f)) {
		code = probe(f, c);
		freerdp_context_free(f);
	}
	freerdp_free(f);
	return code;
}

static bool read_call(int argc, char **argv, struct call *c)
{
	static const struct option options[] = {{"timeout", required_argument, NULL, 't'}, {"credentials", required_argument, NULL, 'c'}, {NULL, 0, NULL, 0}};
	int o;

	while ((o = getopt_long(argc, argv, "t:c:", options, NULL)) != -1)
		if (o == 'c')
			c->credentials = optarg;
		else if (o != 't' || hf_read_uint(hf_bytes_str(optarg), 3600, &c->timeout_s) != HF_OK || c->timeout_s == 0)
			return false;
	if (argc - optind != 2)
		return false;
	c->host = argv[optind];
	return hf_read_uint(hf_bytes_str(argv[optind + 1]), 65535, &c->port) == HF_OK && c->port > 0;
}

int main(int argc, char **argv)
{
	struct call c = {.timeout_s = TIMEOUT_S};

	if (read_call(argc, argv, &c))
		return run(&c);
	fprintf(stderr, "usage: holdfast-rdp-probe [--timeout SECONDS] [--credentials FILE] ADDRESS PORT\n"
		"Is an RDP host well? Negotiation and TLS; with FILE (lines: user NAME, password TEXT, domain NAME; for its owner only) a log-on.\n");
	return USAGE;
}
