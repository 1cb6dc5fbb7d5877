/* `metrics` and `trace`: what is counted, and the messages of one session that the workers still know (app floor). Control thread; they change nothing. */
#include <stdlib.h>

#include "holdfast/clock.h"
#include "json.h"
#include "list.h"
#include "metrics.h"

enum hf_err list_metrics(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	struct hf_writer text;

	(void)c, (void)why;
	if (!metrics_write(g, &text))
		return HF_ENOMEM;
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
	json_text(j, HF_F_TEXT, hf_writer_view(&text));
	json_close(j, '}');
	free(text.p);
	return HF_OK;
}

#define MESSAGES 512 /* of one session: a call of many hours with a refresh each minute */

static int by_time(const void *x, const void *y)
{
	const struct hf_passed *a = x, *b = y;

	if (a->at_us != b->at_us)
		return a->at_us < b->at_us ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void put_addr(struct json *j, enum hf_field field, const struct hf_addr *a)
{
	uint8_t text[80];
	struct hf_writer w = hf_writer_on(text, sizeof text);

	if (a->port)
		hf_w_addr(&w, a);
	else
		hf_w_str(&w, "connection");
	json_text(j, field, hf_writer_view(&w));
}

static void message(struct gateway *g, const struct hf_passed *m, uint64_t first_us, struct json *j)
{
	const struct hf_conf *conf = hf_net_conf(g->net);
	const struct hf_front *front;
	const char *service = hf_net_service_name(g->net, m->service, &front), *pool = NULL;
	struct hf_server_view v;

	if (!service)
		return;
	for (unsigned i = 0; i < conf->n_services; i++)
		if (strcmp(conf->services[i].name, service) == 0)
			pool = conf->services[i].pool->name;
	json_open(j, JSON_ITEM, '{');
	json_uint(j, HF_F_AGE_MS, (hf_clock_us() - m->at_us) / 1000);
	json_uint(j, HF_F_AFTER_US, m->at_us - first_us);
	json_str(j, HF_F_SERVICE, service);
	json_str(j, HF_F_WAY, m->out ? "out" : "in");
	put_addr(j, HF_F_PEER, &m->peer);
	json_uint(j, HF_F_PORT, m->own_port);
	json_str(j, HF_F_TRANSPORT, hf_transport_name(m->transport));
	if (m->server && pool && hf_net_engine(g->net, pool) && hf_engine_server(hf_net_engine(g->net, pool), m->server, &v))
		json_str(j, HF_F_SERVER, v.name);
	else
		json_null(j, HF_F_SERVER);
	json_str(j, HF_F_METHOD, m->name && m->name <= front->n_names ? front->names[m->name - 1] : "?");
	if (m->code)
		json_uint(j, HF_F_CODE, m->code);
	else
		json_null(j, HF_F_CODE);
	if (m->why)
		json_str(j, HF_F_WHY, hf_why_name(m->why));
	else
		json_null(j, HF_F_WHY);
	json_close(j, '}');
}

enum hf_err trace(struct gateway *g, const struct command *c, struct json *j, struct hf_writer *why)
{
	struct hf_passed *m = calloc(MESSAGES, sizeof *m);
	unsigned n = m ? hf_net_passed(g->net, c->key, m, MESSAGES) : 0;

	if (!m)
		return HF_ENOMEM;
	if (!n) {
		hf_w_str(why, hf_net_conf(g->net)->gateway.trace ? "no message with this key among the last ones that passed: " : "trace = off: messages are not kept, not those of ");
		command_quote(why, c->key);
		free(m);
		return HF_ENOENT;
	}
	qsort(m, n, sizeof *m, by_time);
	json_open(j, JSON_ITEM, '{');
	json_bool(j, HF_F_OK, true);
	json_text(j, HF_F_KEY, c->key);
	json_open(j, HF_F_MESSAGES, '[');
	for (unsigned i = 0; i < n; i++)
		message(g, &m[i], m[0].at_us, j);
	json_close(j, ']');
	json_close(j, '}');
	free(m);
	return HF_OK;
}
