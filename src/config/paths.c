/* Where the gateway keeps what runs, when the file does not say; see holdfast/config.h. Touches no file. Called by app. */
#include <stdio.h>

#include "holdfast/config.h"
#include "holdfast/rundir.h"

void hf_conf_run_dir(const struct hf_conf_gateway *g, char *buf, size_t n)
{
	hf_run_dir(g->run_dir, g->state_dir, buf, n);
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
		snprintf(buf, n, "%s/" HF_ADMIN_NAME, dir);
	}
}
