/* Where the gateway keeps what runs, when the file does not say; see holdfast/config.h. Touches no file. Called by app and holdfastctl. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "holdfast/config.h"
#include "holdfast/hash.h"

void hf_conf_run_dir(const struct hf_conf_gateway *g, char *buf, size_t n)
{
	static const uint8_t zero[16]; /* the name must only differ from state-dir to state-dir, so no secret is needed */
	const char *given = getenv("RUNTIME_DIRECTORY");

	if (g->run_dir.n)
		snprintf(buf, n, "%.*s", (int)g->run_dir.n, (const char *)g->run_dir.p);
	else if (given && *given)
		snprintf(buf, n, "%.*s", (int)strcspn(given, ":"), given); /* systemd joins several with ':' */
	else
		snprintf(buf, n, "/dev/shm/holdfast-%u-%08x", (unsigned)getuid(), (unsigned)(hf_sip13(zero, g->state_dir) >> 32));
}

void hf_conf_admin_socket(const struct hf_conf_gateway *g, char *buf, size_t n)
{
	char dir[1100]; /* a run-dir of 1024 octets fits */

	if (g->admin_off) {
		buf[0] = 0;
	} else if (g->admin_socket.n) {
		snprintf(buf, n, "%.*s", (int)g->admin_socket.n, (const char *)g->admin_socket.p);
	} else {
		hf_conf_run_dir(g, dir, sizeof dir);
		snprintf(buf, n, "%s/admin.sock", dir);
	}
}
