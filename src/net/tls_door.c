/* OpenSSL's only door: contexts for tls.c, and the layer over a connection. See tls.h, tls_door.h and wire.h. A connection holds no buffer while it
 * is idle; its octets come off and go onto what is below through a BIO of our own, one read a call, so that a peer that sends without end leaves
 * others their turn. Knows no flow, worker or protocol. */
#include "tls_door.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "holdfast/reason.h"
#include "tls_file.h"
#include "tls_name.h"

#define FIRST_HANDSHAKE 22 /* content types (RFC 8446 5.1): what a client begins with, and what a server may */
#define FIRST_ALERT 21
#define TICKETS 1          /* a client that comes again uses one; the usual two cost another write and session each */

struct tls_wire {
	struct wire wire;
	struct tls *tls;
	SSL *ssl;
	bool dialled, seen, plain, eof; /* seen: octets have come; plain: and they were no TLS */
	bool once;              /* what is below has been read in this call */
	const char *text;
	struct tls_wanted want; /* dialled */
	char host[];            /* ... its octets, and a NUL */
};

/* ---- files ---- */

/* In words that say what to do about it, where the library's own do not. The first error is the cause, those behind it tell who called whom. */
static const char *library_says(void)
{
	static const struct { int lib, reason; const char *text; } words[] = {
		{ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH, "it belongs to another certificate"},
		{ERR_LIB_PEM, PEM_R_BAD_PASSWORD_READ, "it is encrypted, and nobody is there to be asked"},
		{ERR_LIB_CRYPTO, ERR_R_INTERRUPTED_OR_CANCELLED, "it is encrypted, and nobody is there to be asked"},
		{ERR_LIB_PEM, 0, "there is none in it in PEM form"}, {ERR_LIB_OSSL_DECODER, 0, "there is none in it in PEM form"},
	};
	unsigned long e = ERR_peek_error();
	const char *text = ERR_reason_error_string(e);

	for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
		if (ERR_GET_LIB(e) == words[i].lib && (!words[i].reason || ERR_GET_REASON(e) == words[i].reason))
			return words[i].text;
	return ERR_SYSTEM_ERROR(e) ? strerror((int)ERR_GET_REASON(e)) : text ? text : "it cannot be used";
}

/* Nobody is there to be asked for a pass phrase. */
static int no_phrase(char *buf, int size, int rw, void *arg)
{
	(void)buf, (void)size, (void)rw, (void)arg;
	return -1;
}

bool door_certificate(tls_ctx *ctx, const struct hf_conf_tls_pair *pair, struct hf_writer *why)
{
	static const char option[] = "tls-certificate";
	struct hf_bytes key = pair->key.n ? pair->key : pair->certificate;
	char path[TLS_PATH];

	if (!tls_file_there(option, pair->certificate, why) || !tls_file_there(option, key, why))
		return false;
	ERR_clear_error();
	tls_path(pair->certificate, path);
	if (SSL_CTX_use_certificate_chain_file(ctx, path) != 1)
		return tls_file_bad(why, option, pair->certificate, "the certificate: ", library_says());
	tls_path(key, path);
	if (SSL_CTX_use_PrivateKey_file(ctx, path, SSL_FILETYPE_PEM) != 1 || SSL_CTX_check_private_key(ctx) != 1)
		return tls_file_bad(why, option, key, "the key: ", library_says());
	return true;
}

static bool load_trust(SSL_CTX *ctx, const char *option, struct hf_bytes file, struct hf_writer *why)
{
	char path[TLS_PATH];

	if (!tls_file_there(option, file, why))
		return false;
	ERR_clear_error();
	tls_path(file, path);
	return SSL_CTX_load_verify_file(ctx, path) == 1 || tls_file_bad(why, option, file, "the certificates: ", library_says());
}

/* ---- which certificate a client gets ---- */

static bool is_for(SSL_CTX *ctx, const char *name)
{
	X509 *x = SSL_CTX_get0_certificate(ctx);

	return x && X509_check_host(x, name, 0, 0, NULL) == 1;
}

static int by_name(SSL *ssl, int *alert, void *arg)
{
	const struct tls *t = ((struct tls_wire *)SSL_get_app_data(ssl))->tls;
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	(void)alert, (void)arg;
	for (unsigned i = 0; name && i < t->n; i++)
		if (is_for(t->ctx[i], name)) {
			SSL_set_SSL_CTX(ssl, t->ctx[i]);
			return SSL_TLSEXT_ERR_OK;
		}
	return SSL_TLSEXT_ERR_NOACK; /* the default one: many phones ask for the address, or for a name of the past */
}

/* ---- does a server's certificate name it (RFC 5922 7.1, 7.2: exactly, no wildcards; the subject only without any alternative name) ---- */

static struct hf_bytes octets(const ASN1_STRING *s) { return hf_bytes_of(ASN1_STRING_get0_data(s), (size_t)ASN1_STRING_length(s)); }

static bool names_it(const struct tls_wire *w, const GENERAL_NAME *g)
{
	static const struct { int type; enum tls_name_kind kind; } kinds[] = {{GEN_DNS, TLS_NAME_HOST}, {GEN_URI, TLS_NAME_URI}, {GEN_IPADD, TLS_NAME_ADDR}};
	int type;
	const ASN1_STRING *text = GENERAL_NAME_get0_value(g, &type);

	for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (kinds[i].type == type)
			return tls_name_is(&w->want, kinds[i].kind, octets(text), w->tls->uri_scheme);
	return false;
}

static bool subject_names_it(const struct tls_wire *w, X509 *x)
{
	X509_NAME *subject = X509_get_subject_name(x);
	int i = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);

	return i >= 0 && tls_name_is(&w->want, TLS_NAME_HOST, octets(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i))), NULL);
}

static bool certificate_names_it(const struct tls_wire *w, X509 *x)
{
	GENERAL_NAMES *list = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
	bool found = !list && subject_names_it(w, x);

	for (int i = 0; list && i < sk_GENERAL_NAME_num(list) && !found; i++)
		found = names_it(w, sk_GENERAL_NAME_value(list, i));
	GENERAL_NAMES_free(list);
	return found;
}

static int judge_server(X509_STORE_CTX *x, void *arg)
{
	struct tls_wire *w = SSL_get_app_data(X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx()));

	(void)arg;
	if (X509_verify_cert(x) == 1) {
		if (certificate_names_it(w, X509_STORE_CTX_get0_cert(x)))
			return 1;
		X509_STORE_CTX_set_error(x, w->want.host.n ? X509_V_ERR_HOSTNAME_MISMATCH : X509_V_ERR_IP_ADDRESS_MISMATCH);
	}
	return 0;
}

/* ---- contexts ---- */

tls_ctx *door_new(bool serves, uint64_t min)
{
	SSL_CTX *ctx = SSL_CTX_new(serves ? TLS_server_method() : TLS_client_method());

	if (!ctx)
		return NULL;
	SSL_CTX_set_min_proto_version(ctx, min ? TLS1_3_VERSION : TLS1_2_VERSION);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF); /* an end without notice: messages carry their lengths */
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* clients bring their tickets: no lock and no memory here */
	SSL_CTX_set_default_passwd_cb(ctx, no_phrase);
	if (serves)
		SSL_CTX_set_tlsext_servername_callback(ctx, by_name);
	return ctx;
}

void door_free(tls_ctx *ctx) { SSL_CTX_free(ctx); }

bool door_tickets(tls_ctx *ctx, const uint8_t keys[TLS_TICKET_KEYS], const uint8_t context[8])
{
	uint8_t copy[TLS_TICKET_KEYS];

	memcpy(copy, keys, sizeof copy);
	return SSL_CTX_set_session_id_context(ctx, context, 8) == 1 && SSL_CTX_set_tlsext_ticket_keys(ctx, copy, sizeof copy) == 1 &&
	       SSL_CTX_set_num_tickets(ctx, TICKETS) == 1;
}

bool door_ask_clients(tls_ctx *ctx, struct hf_bytes ca, bool required, struct hf_writer *why)
{
	char path[TLS_PATH];

	if (!load_trust(ctx, "tls-client-ca", ca, why))
		return false;
	tls_path(ca, path);
	SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(path)); /* a hint to clients that have several */
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
	return true;
}

bool door_judge_servers(tls_ctx *ctx, struct hf_bytes ca, struct hf_writer *why)
{
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(ctx, judge_server, NULL);
	return ca.n ? load_trust(ctx, "tls-ca", ca, why) : SSL_CTX_set_default_verify_paths(ctx) == 1;
}

/* ---- below ---- */

static int below_read(BIO *b, char *p, size_t n, size_t *got)
{
	struct tls_wire *w = BIO_get_data(b);
	ssize_t r;

	BIO_clear_retry_flags(b);
	if (w->once && !w->wire.ahead) {
		BIO_set_retry_read(b); /* what the socket still has, it will say again */
		return 0;
	}
	w->once = true;
	r = wire_recv(&w->wire, p, n);
	w->eof = r == 0;
	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_read(b);
	if (r <= 0)
		return 0;
	if (!w->seen)
		w->plain = (uint8_t)p[0] != FIRST_HANDSHAKE && (!w->dialled || (uint8_t)p[0] != FIRST_ALERT);
	w->seen = true;
	*got = w->plain ? 0 : (size_t)r; /* the library would answer it with an alert, which is no answer to a stranger */
	return !w->plain;
}

static int below_write(BIO *b, const char *p, size_t n, size_t *sent)
{
	struct tls_wire *w = BIO_get_data(b);
	ssize_t r = wire_send(&w->wire, p, n);

	BIO_clear_retry_flags(b);
	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_retry_write(b);
	if (r <= 0)
		return 0;
	*sent = (size_t)r;
	return 1;
}

static long below_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	(void)num, (void)ptr;
	return cmd == BIO_CTRL_FLUSH || (cmd == BIO_CTRL_EOF && ((struct tls_wire *)BIO_get_data(b))->eof);
}

/* Made once a process, by whoever is first. */
static BIO_METHOD *below(void)
{
	static _Atomic(BIO_METHOD *) method;
	BIO_METHOD *m = atomic_load(&method), *none = NULL;

	if (m || !(m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire")))
		return m;
	BIO_meth_set_read_ex(m, below_read);
	BIO_meth_set_write_ex(m, below_write);
	BIO_meth_set_ctrl(m, below_ctrl);
	if (atomic_compare_exchange_strong(&method, &none, m))
		return m;
	BIO_meth_free(m);
	return none;
}

/* ---- the layer ---- */

static struct tls_wire *of(struct wire *w) { return (struct tls_wire *)(void *)w; }

static unsigned judge_failure(struct tls_wire *w, unsigned long e)
{
	static const int proofs[] = {SSL_R_CERTIFICATE_VERIFY_FAILED, SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
		SSL_R_TLSV1_ALERT_UNKNOWN_CA, SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
		SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, SSL_R_SSLV3_ALERT_NO_CERTIFICATE, SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, SSL_R_TLSV1_ALERT_ACCESS_DENIED};
	long verdict = SSL_get_verify_result(w->ssl);

	w->text = ERR_GET_REASON(e) == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK ? X509_verify_cert_error_string(verdict) : ERR_reason_error_string(e);
	for (unsigned i = 0; ERR_GET_LIB(e) == ERR_LIB_SSL && i < sizeof proofs / sizeof proofs[0]; i++)
		if (ERR_GET_REASON(e) == proofs[i])
			return HF_R_TLS_PROOF;
	return HF_R_TLS_FAILED;
}

/* What a call of the library ended with becomes errno, as a socket would give it; in the handshake, a reason. */
static ssize_t ended(struct tls_wire *w, int result, uint8_t *waits)
{
	int e = SSL_get_error(w->ssl, result);

	errno = EAGAIN;
	if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) {
		*waits = e == SSL_ERROR_WANT_READ ? HF_READ : HF_WRITE;
		return -1;
	}
	if (e == SSL_ERROR_ZERO_RETURN && (SSL_is_init_finished(w->ssl) || (!w->seen && !w->dialled)))
		return 0; /* in order; or it came and went without a word */
	errno = ECONNRESET;
	if (w->wire.reason)
		return -1; /* it failed before; what the library says now is of no weight */
	if (w->plain)
		w->wire.reason = HF_R_TLS_PLAIN;
	else if (e == SSL_ERROR_SSL)
		w->wire.reason = (uint16_t)judge_failure(w, ERR_peek_error());
	else if (!SSL_is_init_finished(w->ssl))
		w->wire.reason = HF_R_TLS_CUT;
	return -1;
}

static enum hf_err layer_open(struct wire *x)
{
	struct tls_wire *w = of(x);
	int r;

	ERR_clear_error();
	w->once = false;
	r = SSL_do_handshake(w->ssl);
	if (r == 1)
		return HF_OK;
	if (ended(w, r, &x->reads) < 0 && errno == EAGAIN)
		return HF_EFULL;
	if (!x->reason)
		x->reason = HF_R_TLS_CUT;
	return HF_ECLOSED;
}

/* All whole records of one read of what is below. What does not fit, and an end behind octets, is told by the next call. */
static ssize_t layer_read(struct wire *x, void *p, size_t n)
{
	struct tls_wire *w = of(x);
	size_t got = 0, k;
	ssize_t end;
	int r;

	ERR_clear_error();
	w->once = x->again;
	x->again = false;
	do {
		k = 0;
		r = SSL_read_ex(w->ssl, (uint8_t *)p + got, n - got, &k);
		got += k;
		x->again = r == 1 && SSL_has_pending(w->ssl);
	} while (x->again && got < n);
	if (r == 1)
		return (ssize_t)got;
	end = ended(w, r, &x->reads);
	x->again = got && (end == 0 || errno != EAGAIN);
	return got ? (ssize_t)got : end;
}

static ssize_t layer_write(struct wire *x, const void *p, size_t n)
{
	struct tls_wire *w = of(x);
	size_t k = 0;
	int r;

	ERR_clear_error();
	w->once = false;
	r = SSL_write_ex(w->ssl, p, n, &k);
	if (r == 1)
		return (ssize_t)k;
	if (ended(w, r, &x->writes) == 0)
		errno = EPIPE;
	return -1;
}

static void layer_shut(struct wire *x)
{
	struct tls_wire *w = of(x);

	ERR_clear_error();
	if (SSL_is_init_finished(w->ssl) && !x->reason && !(SSL_get_shutdown(w->ssl) & SSL_SENT_SHUTDOWN))
		(void)SSL_shutdown(w->ssl);
}

static void layer_free(struct wire *x)
{
	struct tls_wire *w = of(x);

	SSL_free(w->ssl);
	tls_drop(w->tls);
	free(w);
}

static const struct wire_kind kind = {layer_open, layer_read, layer_write, layer_shut, layer_free};

static struct tls_wire *new_layer(struct tls *t, struct wire *under, int fd, struct hf_bytes host)
{
	struct tls_wire *w = calloc(1, sizeof *w + host.n + 1);
	BIO *b = w && below() ? BIO_new(below()) : NULL;

	if (w)
		w->ssl = SSL_new(t->ctx[0]);
	if (!b || !w->ssl) {
		BIO_free(b);
		SSL_free(w ? w->ssl : NULL);
		free(w);
		return NULL;
	}
	wire_init(&w->wire, &kind, under, fd);
	w->tls = t;
	atomic_fetch_add(&t->refs, 1);
	w->text = "";
	if (host.n)
		memcpy(w->host, host.p, host.n);
	w->want.host = hf_bytes_of(w->host, host.n);
	BIO_set_data(b, w);
	BIO_set_init(b, 1);
	SSL_set_bio(w->ssl, b, b);
	SSL_set_app_data(w->ssl, w);
	return w;
}

struct wire *tls_accept(struct tls *t, struct wire *under, int fd)
{
	struct tls_wire *w = new_layer(t, under, fd, HF_NONE);

	if (w)
		SSL_set_accept_state(w->ssl);
	return w ? &w->wire : NULL;
}

struct wire *tls_dial(struct tls *t, struct wire *under, int fd, struct hf_bytes name, const struct hf_addr *addr)
{
	struct hf_addr literal = *addr;
	bool is_host = name.n && hf_addr_read_ip(name, &literal) != HF_OK;
	struct tls_wire *w = new_layer(t, under, fd, is_host ? name : HF_NONE);

	if (!w)
		return NULL;
	w->dialled = true;
	w->want.addr = literal;
	if (is_host)
		SSL_set_tlsext_host_name(w->ssl, w->host);
	SSL_set_connect_state(w->ssl);
	return &w->wire;
}

static const struct tls_wire *layer_of(const struct wire *w)
{
	while (w && w->kind != &kind)
		w = w->below;
	return (const struct tls_wire *)(const void *)w;
}

struct hf_bytes tls_host(const struct wire *w) { return layer_of(w) ? layer_of(w)->want.host : HF_NONE; }
const char *tls_text(const struct wire *w) { return layer_of(w) && layer_of(w)->wire.reason ? layer_of(w)->text : ""; }
