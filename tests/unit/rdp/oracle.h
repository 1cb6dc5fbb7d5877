/* One request as libfreerdp's peer and as our reader take it; what the tests that compare them share. Included once a program. */
#ifndef HOLDFAST_TEST_RDP_ORACLE_H
#define HOLDFAST_TEST_RDP_ORACLE_H

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <freerdp/freerdp.h>
#include <freerdp/peer.h>
#include <winpr/wlog.h>

#include "kit.h"

struct verdict {
	bool taken;
	unsigned reason; /* ours: why not */
	uint32_t protocols;
	char token[256];
	uint8_t reply[64];
	size_t reply_len;
};

/* ---- theirs ---- */

static BOOL no_peer(freerdp_peer *p) { (void)p; return TRUE; }

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

	v.reason = x224_read(b, &r, &need);
	v.taken = v.reason == 0;
	if (!v.taken)
		return v;
	v.protocols = r.protocols;
	if (r.has_token && token_read(r.token, &a) != TOKEN_LINE)
		memcpy(v.token, r.token.p, r.token.n);
	return v;
}

/* ---- the torture set ---- */

static struct hf_bytes load(const char *file)
{
	char path[8192];

	snprintf(path, sizeof path, HF_SOURCE_DIR "/tests/data/rdp/%s", file);
	return hex_of(path);
}

/* Every message of it that comes over a connection; returns how many. */
static unsigned each_message(void (*take)(const char *file, struct hf_bytes b))
{
	char line[4096], *tab;
	unsigned rows = 0;
	FILE *f = fopen(HF_SOURCE_DIR "/tests/data/rdp/expected.tsv", "r");

	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		struct hf_bytes b;

		tab = strchr(line, '\t');
		if (!tab || strncmp(tab, "\ttcp\t", 5) != 0)
			continue;
		*tab = 0;
		b = load(line);
		rows++;
		take(line, b);
		done(b);
	}
	fclose(f);
	return rows;
}

#endif
