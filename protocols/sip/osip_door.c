/* libosip2 behind one door; see osip_door.h. What it needs to be safe is kept here:
 * - parser_init before anything, and its trace off: it prints to standard output by default;
 * - it dereferences what an allocation did not give, and leaks on some inputs: so it works in a region of ours that spills to the heap,
 *   never answers NULL, and is gone as a whole when the call ends;
 * - it is quadratic in parameters and headers, and reads NUL as an end: so messages are counted before it sees them.
 * Its allocator pointers are the process's: outside of a call of ours the hooks are malloc and free. */
#include "osip_door.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <osipparser2/osip_parser.h>

enum {
	REGION = 24576,                       /* an OPTIONS and its answer take under 10 KiB */
	MESSAGE_MAX = 4096, LINES_MAX = 64, PARAMS_MAX = 64, /* the worst message under these costs it 0.1 ms */
};

/* ---- memory ---- */

struct block { struct block *next; size_t n; };
_Static_assert(sizeof(struct block) == 16, "blocks keep the alignment of malloc");

struct region {
	_Alignas(16) uint8_t mem[REGION];
	size_t used;
	struct block *spilt;
};

static _Thread_local struct region *open_region;

static struct block *spill(struct region *r, size_t n)
{
	struct block *b = malloc(sizeof *b + n);

	HF_BUG_ON(!b); /* the library does not survive it, and this is the control thread's few kilobytes */
	b->next = r->spilt;
	r->spilt = b;
	return b;
}

static void *take(size_t n)
{
	struct region *r = open_region;
	size_t whole = (sizeof(struct block) + n + 15) & ~(size_t)15;
	struct block *b;

	if (!r)
		return malloc(n);
	if (n < REGION && whole <= REGION - r->used) {
		b = (struct block *)(void *)(r->mem + r->used);
		r->used += whole;
	} else {
		b = spill(r, n);
	}
	b->n = n;
	return b + 1;
}

static void *resize(void *p, size_t n)
{
	void *q;

	if (!open_region)
		return realloc(p, n);
	q = take(n);
	if (p) {
		size_t had = ((struct block *)p)[-1].n;

		memcpy(q, p, had < n ? had : n);
	}
	return q;
}

static void give(void *p)
{
	if (!open_region)
		free(p);
}

static void region_open(struct region *r)
{
	r->used = 0;
	r->spilt = NULL;
	open_region = r;
}

static void region_close(struct region *r)
{
	open_region = NULL;
	while (r->spilt) {
		struct block *b = r->spilt;

		r->spilt = b->next;
		free(b);
	}
}

static void init_once(void)
{
	static atomic_int state;
	int none = 0;

	if (atomic_compare_exchange_strong(&state, &none, 1)) {
		osip_trace_initialize(TRACE_LEVEL0, NULL);
		parser_init();
		osip_set_allocators(take, resize, give);
		atomic_store(&state, 2);
	}
	while (atomic_load(&state) != 2)
		; /* another thread is at it: microseconds, once */
}

/* ---- composing ---- */

static bool fill(osip_message_t *m, const struct osip_door_request *r)
{
	osip_uri_t *uri;

	if (osip_uri_init(&uri) != OSIP_SUCCESS || osip_uri_parse(uri, r->uri) != OSIP_SUCCESS)
		return false;
	osip_message_set_uri(m, uri);
	osip_message_set_version(m, osip_strdup("SIP/2.0"));
	osip_message_set_method(m, osip_strdup(r->method));
	return osip_message_set_via(m, r->via) == OSIP_SUCCESS && osip_message_set_from(m, r->from) == OSIP_SUCCESS &&
	       osip_message_set_to(m, r->to) == OSIP_SUCCESS && osip_message_set_call_id(m, r->call_id) == OSIP_SUCCESS &&
	       osip_message_set_cseq(m, r->cseq) == OSIP_SUCCESS && osip_message_set_max_forwards(m, "70") == OSIP_SUCCESS &&
	       osip_message_set_content_length(m, "0") == OSIP_SUCCESS;
}

bool osip_door_compose(const struct osip_door_request *r, struct hf_writer *w)
{
	struct region region;
	osip_message_t *m;
	char *text;
	size_t n;
	bool ok;

	init_once();
	region_open(&region);
	ok = osip_message_init(&m) == OSIP_SUCCESS && fill(m, r) && osip_message_to_str(m, &text, &n) == OSIP_SUCCESS;
	if (ok)
		hf_w_mem(w, text, n);
	region_close(&region);
	return ok && !w->full;
}

/* ---- reading ---- */

static bool within_limits(struct hf_bytes b)
{
	size_t lines = 0, params = 0;

	if (!b.n || b.n > MESSAGE_MAX)
		return false;
	for (size_t i = 0; i < b.n; i++) {
		if (!b.p[i])
			return false;
		lines += b.p[i] == '\n';
		params += b.p[i] == ';';
	}
	return lines <= LINES_MAX && params <= PARAMS_MAX;
}

static void read_branch(const osip_message_t *m, struct osip_door_answer *a)
{
	osip_via_t *via = osip_list_get(&m->vias, 0);
	osip_generic_param_t *p = NULL;

	if (!via || osip_via_param_get_byname(via, "branch", &p) != OSIP_SUCCESS || !p || !p->gvalue)
		return;
	if (strlen(p->gvalue) < sizeof a->branch)
		memcpy(a->branch, p->gvalue, strlen(p->gvalue) + 1);
}

static void read_retry_after(const osip_message_t *m, struct osip_door_answer *a)
{
	osip_header_t *h = NULL;
	struct hf_bytes text;
	size_t n = 0;
	uint64_t v;

	if (osip_message_header_get_byname(m, "retry-after", 0, &h) < 0 || !h || !h->hvalue)
		return;
	text = hf_bytes_str(h->hvalue);
	while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
		n++;
	if (hf_read_uint(hf_bytes_sub(text, 0, n), UINT32_MAX, &v) != HF_OK)
		return;
	a->has_retry_after = true;
	a->retry_after_s = (uint32_t)v;
}

bool osip_door_read(struct hf_bytes message, struct osip_door_answer *a)
{
	struct region region;
	osip_message_t *m;
	bool ok;

	*a = (struct osip_door_answer){0};
	if (!within_limits(message))
		return false;
	init_once();
	region_open(&region);
	ok = osip_message_init(&m) == OSIP_SUCCESS && osip_message_parse(m, (const char *)message.p, message.n) == OSIP_SUCCESS && MSG_IS_RESPONSE(m);
	if (ok) {
		a->status = (unsigned)m->status_code;
		read_branch(m, a);
		read_retry_after(m, a);
	}
	region_close(&region);
	return ok;
}
