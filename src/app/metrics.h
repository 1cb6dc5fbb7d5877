/* Counters as text, and the pages of HTTP (app floor, inside); see metrics.c. Control thread. */
#ifndef APP_METRICS_H
#define APP_METRICS_H

#include "gateway.h"
#include "holdfast/http.h"

/* All of them into memory that is the caller's to free. False: no memory. */
bool metrics_write(struct gateway *g, struct hf_writer *out) HF_MUST_USE;
/* "2xx" for 2; 0: "other". */
const char *metrics_class(unsigned c);
/* /metrics, /healthz, /readyz; / says that these are there */
hf_http_page_fn metrics_page;

#endif
