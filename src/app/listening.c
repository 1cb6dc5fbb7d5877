/* Says where the gateway listens: every listener once, when it has been opened, at start and after each reload. */
#include <stdio.h>
#include <stdlib.h>

#include "gateway.h"
#include "holdfast/log.h"

static bool was_said(const struct said *list, unsigned n, const struct hf_listener_view *v)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i].hash == v->info->hash && strcmp(list[i].service, v->service) == 0)
			return true;
	return false;
}

/* Without memory for the list a listener is said again next time, which does no harm. */
void listening_log(struct gateway *g)
{
	struct hf_listener_view v;
	struct said *now;
	unsigned n = 0;

	while (hf_net_listener(g->net, n, &v)) {
		if (!was_said(g->said, g->n_said, &v))
			hf_log(HF_LOG_INFO, "event=listen service=%s uri=%s", v.service, hf_log_text(v.info->uri));
		n++;
	}
	now = calloc(n + 1, sizeof *now);
	for (unsigned i = 0; now && hf_net_listener(g->net, i, &v); i++) {
		now[i].hash = v.info->hash;
		snprintf(now[i].service, sizeof now[i].service, "%s", v.service);
	}
	free(g->said);
	g->said = now;
	g->n_said = now ? n : 0;
}

void listening_free(struct gateway *g)
{
	free(g->said);
	g->said = NULL;
	g->n_said = 0;
}
