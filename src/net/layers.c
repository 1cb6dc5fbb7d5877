/* Which layers (wire.h) a connection has, by its transport: the one place that knows. Called when a connection is accepted, and again behind
 * a PROXY header, and when one is dialled. Knows no protocol. */
#include "flow.h"

/* Octets that came before the layer did go through it; their reader is called again for them. */
static bool put_on(struct flow *f, struct wire *w)
{
	struct side *c = &f->side[HF_CLIENT];

	c->wire = w;
	if (!w || !buf_len(&c->in))
		return true;
	if (!wire_feed(w, buf_view(&c->in)))
		return false;
	buf_took(&c->in, buf_len(&c->in));
	w->again = true;
	return true;
}

bool layers_accept(struct flow *f, const struct snap_service *s)
{
	(void)s;
	return put_on(f, NULL);
}

bool layers_dial(struct flow *f, const struct snap_service *s)
{
	(void)s;
	return put_on(f, NULL);
}
