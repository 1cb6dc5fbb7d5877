/* A small HTTP server for pages that are made on demand: GET and HEAD, one request a connection (net floor). Clients are bounded in number, octets and
 * time. It knows no page; who opens it does. Control thread. */
#ifndef HOLDFAST_HTTP_H
#define HOLDFAST_HTTP_H

#include "addr.h"
#include "loop.h"

#define HF_HTTP_PAGE_MAX (16u << 20) /* octets of a page */

struct hf_http;
/* Makes the page of a path (without its query) into w, of which the text is malloc'ed by the page and freed by the server; w->p NULL: there is no such
 * page. Returns the status, 200 or another. *type: of its content, a constant. */
typedef unsigned hf_http_page_fn(void *arg, struct hf_bytes path, const char **type, struct hf_writer *w);

/* Listens. `at` becomes the address with the real port. NULL: `why` says what to do. */
struct hf_http *hf_http_open(struct hf_loop *loop, struct hf_addr *at, hf_http_page_fn *page, void *arg, struct hf_writer *why) HF_MUST_USE;
void hf_http_close(struct hf_http *h); /* NULL is fine */

#endif
