/* The request reader against libfreerdp's: every message of the torture set is given to a peer over a socket pair, and both must
 * agree on the verdict, the token and the protocols. Where they may differ stands in a table, with why. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <freerdp/freerdp.h>
#include <freerdp/peer.h>
#include <winpr/wlog.h>

#include "kit.h"

struct verdict {
	bool taken;
	uint32_t protocols;
	char token[256];
	uint8_t reply[64];
	size_t reply_len;
};

/* Where the verdicts differ with FreeRDP 2.11: what it is (taken or closed by it), and why ours is as it is. */
static const struct { const char *file; bool theirs; const char *why; } differ[] = {
	{"i21-code-e1.hex", false, "the credit is the host's affair"},
	{"i23-class-4.hex", true, "classes above 0 are closed"},
	{"i36-cookie-inner-cr.hex", true, "readers disagree where such a line ends"},
	{"i37-cookie-inner-lf.hex", true, "the same"},
	{"i40-token-and-cookie.hex", false, "a balancer goes on with the token"},
	{"i43-cookie-lower-case.hex", false, "other balancers take it without case"},
	{"i44-cookie-no-blank.hex", false, "any line with CR LF is a token"},
	{"n04-length-swapped.hex", true, "a block of another length is malformed"},
	{"n08-correlation-missing.hex", true, "the flag promises a block"},
	{"n09-correlation-unflagged.hex", true, "a block without its flag is trailing octets"},
	{"n12-correlation-0d.hex", true, "the id must not hold 0D"},
};

static BOOL no_peer(freerdp_peer *p) { (void)p; return TRUE; }

/* ---- theirs ---- */

static freerdp_peer *peer_on(int fd)
{
	freerdp_peer *p = freerdp_peer_new(fd);

	assert_non_null(p);
	assert_true(freerdp_peer_context_new(p));
	freerdp_settings_set_bool(p->context->settings, FreeRDP_RdpSecurity, TRUE);
	freerdp_settings_set_bool(p->context->settings, FreeRDP_TlsSecurity, FALSE);
	freerdp_settings_set_bool(p->context->settings, FreeRDP_NlaSecurity, FALSE);
	freerdp_settings_set_bool(p->context->settings, FreeRDP_UseRdpSecurityLayer, TRUE);
	p->local = TRUE;
	p->Capabilities = p->PostConnect = p->Activate = no_peer;
	assert_true(p->Initialize(p));
	return p;
}

static struct verdict theirs(struct hf_bytes b)
{
	struct verdict v = {0};
	freerdp_peer *p;
	const char *token;
	DWORD n = 0;
	ssize_t got;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	p = peer_on(fd[0]);
	assert_int_equal(send(fd[1], b.p, b.n, MSG_NOSIGNAL), b.n);
	p->CheckFileDescriptor(p);
	got = recv(fd[1], v.reply, sizeof v.reply, MSG_DONTWAIT);
	v.reply_len = got > 0 ? (size_t)got : 0;
	v.protocols = freerdp_settings_get_uint32(p->context->settings, FreeRDP_RequestedProtocols);
	token = freerdp_nego_get_routing_token(p->context, &n);
	if (token && n < sizeof v.token)
		memcpy(v.token, token, n);
	v.taken = v.reply_len > 0; /* it answers whatever it could read, with a Confirm or a failure code */
	freerdp_peer_context_free(p);
	freerdp_peer_free(p);
	close(fd[1]);
	return v;
}

/* ---- ours ---- */

static struct verdict ours(struct hf_bytes b)
{
	struct verdict v = {0};
	struct x224_request r;
	struct hf_addr a;
	size_t need;

	v.taken = x224_read(b, &r, &need) == 0;
	if (!v.taken)
		return v;
	v.protocols = r.protocols;
	if (r.has_token && token_read(r.token, &a) != TOKEN_LINE)
		memcpy(v.token, r.token.p, r.token.n);
	return v;
}

static bool allowed(const char *file, bool theirs_is)
{
	for (unsigned i = 0; i < sizeof differ / sizeof differ[0]; i++)
		if (strcmp(differ[i].file, file) == 0)
			return differ[i].theirs == theirs_is;
	return false;
}

static unsigned compare(const char *file, struct hf_bytes b)
{
	struct verdict a = ours(b), o = theirs(b);

	if (a.taken != o.taken) {
		if (allowed(file, o.taken))
			return 0;
		print_error("%s: %s by us, %s by libfreerdp\n", file, a.taken ? "taken" : "closed", o.taken ? "taken" : "closed");
		return 1;
	}
	if (!a.taken)
		return 0;
	if (strcmp(a.token, o.token) != 0 || a.protocols != o.protocols) {
		print_error("%s: token '%s' and '%s', protocols %x and %x\n", file, a.token, o.token, (unsigned)a.protocols, (unsigned)o.protocols);
		return 1;
	}
	return 0;
}

/* Its answers, read by our reader of answers: it must be a Confirm or a negotiation failure. */
static void test_its_answers(void **state)
{
	static const struct { const char *variable; enum x224_reply is; } rows[] = {
		{"\"Cookie: mstshash=alice\" 0d0a 0100080000000000", X224_REPLY_CONFIRM},
		{"\"Cookie: mstshash=alice\" 0d0a 0100080003000000", X224_REPLY_NEG_FAILURE},
		{"010008000b000000", X224_REPLY_NEG_FAILURE},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct hf_bytes b = request(rows[i].variable);
		struct verdict v = theirs(b);
		size_t need;

		assert_int_equal(x224_read_reply(hf_bytes_of(v.reply, v.reply_len), &need), rows[i].is);
		done(b);
	}
}

static struct hf_bytes load(const char *file)
{
	static char text[16384];
	char path[8192];
	FILE *f;

	snprintf(path, sizeof path, HF_SOURCE_DIR "/tests/data/rdp/%s", file);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s is missing", path);
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	text[strcspn(text, "\r\n")] = 0;
	fclose(f);
	return hex(text);
}

static void test_torture_set(void **state)
{
	char line[4096], *tab;
	unsigned rows = 0, bad = 0;
	FILE *f = fopen(HF_SOURCE_DIR "/tests/data/rdp/expected.tsv", "r");

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		struct hf_bytes b;

		tab = strchr(line, '\t');
		if (!tab || strncmp(tab, "\ttcp\t", 5) != 0)
			continue;
		*tab = 0;
		b = load(line);
		rows++;
		bad += compare(line, b);
		done(b);
	}
	fclose(f);
	print_message("%u messages, %u differ\n", rows, bad);
	assert_true(rows > 80);
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_its_answers), cmocka_unit_test(test_torture_set)};

	setenv("WLOG_LEVEL", "OFF", 1); /* it logs every bad message */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
