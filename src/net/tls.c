/* The two sides of TLS: what a service's clients meet, and what a pool's servers do. See tls.h. Knows the library only by its door, and no flow,
 * worker or protocol. Called while a configuration is built. */
#include <stdlib.h>

#include "tls_door.h"
#include "tls_file.h"

static struct tls *make(unsigned n)
{
	struct tls *t = calloc(1, sizeof *t + n * sizeof t->ctx[0]);

	if (t)
		atomic_init(&t->refs, 1);
	return t;
}

struct tls *tls_keep(struct tls *t)
{
	if (t)
		atomic_fetch_add(&t->refs, 1);
	return t;
}

void tls_drop(struct tls *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
		return;
	for (unsigned i = 0; i < t->n; i++)
		door_free(t->ctx[i]);
	free(t);
}

static tls_ctx *add(struct tls *t, bool serves, uint64_t min)
{
	tls_ctx *ctx = door_new(serves, min);

	if (ctx)
		t->ctx[t->n++] = ctx;
	return ctx;
}

/* before: what stood in `why` at first. */
static struct tls *failed(struct tls *t, struct hf_writer *why, size_t before)
{
	if (why->n == before)
		hf_w_str(why, "no memory for TLS");
	tls_drop(t);
	return NULL;
}

static const uint8_t no_key[16]; /* what is hashed are an operator's own files */

/* A ticket stands for what its client proved: it is good only where the same is asked. */
static uint64_t asked_of_clients(const struct hf_conf_service *c)
{
	struct hf_sip h;

	hf_sip_init(&h, no_key, 1, 3);
	hf_sip_lp(&h, hf_bytes_str(c->name));
	hf_sip_u32(&h, (uint32_t)c->tls_client_certificate);
	if (c->tls_client_certificate)
		tls_file_mix(&h, c->tls_client_ca);
	return hf_sip_end(&h);
}

static bool serve_by(struct tls *t, const struct hf_conf_service *c, const struct hf_conf_tls_pair *pair, const uint8_t *keys, const uint8_t *context, struct hf_writer *why)
{
	tls_ctx *ctx = add(t, true, c->tls_min_version);

	if (!ctx || !door_certificate(ctx, pair, why) || !door_tickets(ctx, keys, context))
		return false;
	return !c->tls_client_certificate || door_ask_clients(ctx, c->tls_client_ca, c->tls_client_certificate == HF_CONF_TLS_REQUIRED, why);
}

struct tls *tls_serve(const struct hf_conf_service *c, const uint8_t keys[TLS_TICKET_KEYS], struct hf_writer *why)
{
	struct tls *t = make(c->tls_certificates.n);
	uint8_t context[8];
	size_t before = why->n;

	hf_put64(context, asked_of_clients(c));
	for (unsigned i = 0; t && i < c->tls_certificates.n; i++)
		if (!serve_by(t, c, &c->tls_certificates.pair[i], keys, context, why))
			return failed(t, why, before);
	return t ? t : failed(t, why, before);
}

static uint32_t shown_to_servers(const struct hf_conf_pool *c)
{
	struct hf_sip h;

	hf_sip_init(&h, no_key, 1, 3);
	hf_sip_u32(&h, (uint32_t)(c->tls_min_version * 2 + c->tls_verify));
	tls_file_mix(&h, c->tls_ca);
	tls_file_mix(&h, c->tls_certificate.certificate);
	tls_file_mix(&h, c->tls_certificate.key);
	return (uint32_t)(hf_sip_end(&h) >> 32);
}

uint32_t tls_identity(const struct tls *t, struct hf_bytes name)
{
	struct hf_sip h;

	hf_sip_init(&h, no_key, 1, 3);
	hf_sip_u32(&h, t->identity);
	hf_sip_lp(&h, name);
	return (uint32_t)(hf_sip_end(&h) >> 32);
}

struct tls *tls_reach(const struct hf_conf_pool *c, struct hf_writer *why)
{
	size_t before = why->n;
	struct tls *t = make(1);
	tls_ctx *ctx = t ? add(t, false, c->tls_min_version) : NULL;

	if (!ctx || (c->tls_certificate.certificate.n && !door_certificate(ctx, &c->tls_certificate, why)) ||
	    (c->tls_verify && !door_judge_servers(ctx, c->tls_ca, why)))
		return failed(t, why, before);
	t->uri_scheme = c->front ? c->front->uri_scheme : NULL;
	t->identity = shown_to_servers(c);
	return t;
}
