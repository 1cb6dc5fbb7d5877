/* A side of a flow as a place that octets come from and go to, through its layers. Knows no phase; conn.c, stream.c, dial.c and pump.c call it. */
#include <errno.h>

#include "flow.h"

enum hf_err side_drain(struct side *s)
{
	while (buf_len(&s->out)) {
		struct hf_bytes rest = buf_view(&s->out);
		ssize_t n = wire_write(s->wire, s->fd, rest.p, rest.n);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? HF_OK : HF_ECLOSED;
		buf_took(&s->out, (size_t)n);
	}
	buf_free(&s->out);
	return HF_OK;
}

enum hf_err side_put(struct side *s, const uint8_t *p, size_t n)
{
	ssize_t m = buf_len(&s->out) ? 0 : send(s->fd, p, n, MSG_NOSIGNAL);

	if (m < 0 && errno != EAGAIN && errno != EINTR)
		return HF_ECLOSED;
	if (m < 0)
		m = 0;
	return (size_t)m == n || buf_add(&s->out, p + m, n - (size_t)m, OUT_MAX) ? HF_OK : HF_EFULL;
}

/* Reads until the system has no more or the front's limit is reached. Through the worker's buffer, so that the side's own is as small as
 * what came. False: the side failed. */
bool side_gather(struct flow *f, struct side *s)
{
	size_t max = f->rt->front->max_opening;

	s->more = false;
	while (!s->eof && buf_len(&s->in) < max) {
		size_t room = max - buf_len(&s->in), want = room < LETTER_MAX ? room : LETTER_MAX;
		ssize_t n = wire_read(s->wire, s->fd, f->w->reader, want);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		s->eof = n == 0;
		if (n && !buf_add(&s->in, f->w->reader, (size_t)n, max))
			return false;
		s->octets += (uint64_t)n;
		if ((size_t)n < want && !s->last)
			break;
	}
	s->more = !s->eof && buf_len(&s->in) >= max;
	return true;
}
