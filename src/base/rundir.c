/* The default of run-dir; see holdfast/rundir.h. Called by the configuration and by the control client, so that both find the same place. */
#include "holdfast/rundir.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "holdfast/hash.h"

void hf_run_dir(struct hf_bytes set, struct hf_bytes state_dir, char *buf, size_t n)
{
	static const uint8_t no_key[16]; /* a name, not a secret: both sides must find it without one */
	const char *env = getenv("RUNTIME_DIRECTORY");

	if (set.n == 0 && env && *env) /* the service manager gives a list with colons */
		set = hf_bytes_sub(hf_bytes_str(env), 0, hf_bytes_find(hf_bytes_str(env), ':'));
	if (set.n)
		snprintf(buf, n, "%.*s", (int)set.n, (const char *)set.p);
	else
		snprintf(buf, n, "/dev/shm/holdfast-%lu-%08lx", (unsigned long)getuid(), (unsigned long)(hf_sip13(no_key, state_dir) >> 32));
}
