/* See asked.h. Called by names.c and discover.c. */
#include "asked.h"

#include <stdlib.h>

#include "holdfast/log.h"
#include "patience.h"

static void end(struct asked *x)
{
	if (x)
		hf_timer_free(x->timer);
	free(x);
}

void *asked_new(struct asked **list, struct hf_loop *loop, struct hf_bytes host, size_t size, void (*ask)(void *arg))
{
	struct asked *x = calloc(1, size);

	if (x)
		x->timer = hf_timer_new(loop, ask, x);
	if (!x || !x->timer) {
		end(x);
		hf_log(HF_LOG_ERROR, "event=resolve-failed host=%s error=\"no memory\"", hf_log_text(host));
		return NULL;
	}
	memcpy(x->host, host.p, host.n < sizeof x->host ? host.n : sizeof x->host - 1);
	x->next = *list;
	*list = x;
	hf_timer_set(x->timer, 0);
	return x;
}

void asked_begin(struct asked *list, bool fresh)
{
	for (struct asked *x = list; x; x = x->next) {
		x->kept = false;
		if (fresh) {
			x->asking = false;
			hf_timer_set(x->timer, 0);
		}
	}
}

void asked_forget(struct asked **list)
{
	for (struct asked *x; (x = *list) != NULL;)
		if (x->kept || x->asking) {
			list = &x->next;
		} else {
			*list = x->next;
			end(x);
		}
}

void asked_free(struct asked **list)
{
	for (struct asked *x; (x = *list) != NULL;) {
		*list = x->next;
		end(x);
	}
}

void asked_found(struct asked *x, uint32_t ttl_s)
{
	x->failed = 0;
	hf_timer_set(x->timer, patience_kept_ms(ttl_s));
}

void asked_failed(struct asked *x, const char *why, bool has)
{
	if (x->failed == 0)
		hf_log(HF_LOG_WARN, "event=resolve-failed host=%s error=\"%s\" kept=%s", x->host, why, has ? "yes" : "no");
	hf_timer_set(x->timer, patience_ask_ms(x->failed++));
}
