/* The TLS layer over a layer of the test, which is memory: both ends in one program, every octet counted, in any pieces. No socket, no clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holdfast/front.h"
#include "holdfast/reason.h"
#include "pem.h"
#include "tls.h"

const struct hf_front *const hf_fronts[] = {NULL};

/* ---- a pipe of memory, both ways ---- */

enum { PIPE = 1 << 16 };
struct lane { uint8_t p[PIPE]; size_t at, n; bool end; };
struct end { struct wire wire; struct lane *in, *out; size_t piece, room, reads; };

static struct lane lanes[2];
static struct end *ends[2];

static enum hf_err end_open(struct wire *w) { return w ? HF_OK : HF_EINVAL; }

static ssize_t end_read(struct wire *w, void *p, size_t n)
{
	struct end *e = (struct end *)(void *)w;
	size_t have = e->in->n - e->in->at;

	e->reads++;
	errno = EAGAIN;
	if (!have)
		return e->in->end ? 0 : -1;
	n = n < have ? n : have;
	n = e->piece && n > e->piece ? e->piece : n;
	memcpy(p, e->in->p + e->in->at, n);
	e->in->at += n;
	return (ssize_t)n;
}

static ssize_t end_write(struct wire *w, const void *p, size_t n)
{
	struct end *e = (struct end *)(void *)w;

	n = n < e->room ? n : e->room;
	errno = EAGAIN;
	if (!n)
		return -1;
	assert_true(e->out->n + n <= PIPE);
	memcpy(e->out->p + e->out->n, p, n);
	e->out->n += n;
	e->room -= n;
	return (ssize_t)n;
}

static void end_shut(struct wire *w) { ((struct end *)(void *)w)->out->end = true; }
static void end_free(struct wire *w) { free(w); }
static const struct wire_kind end_kind = {end_open, end_read, end_write, end_shut, end_free};

static struct wire *new_end(unsigned i)
{
	struct end *e = calloc(1, sizeof *e);

	assert_non_null(e);
	wire_init(&e->wire, &end_kind, NULL, -1);
	e->in = &lanes[i];
	e->out = &lanes[!i];
	e->room = SIZE_MAX;
	ends[i] = e;
	return &e->wire;
}

/* ---- the two sides ---- */

static char dir[] = "/tmp/hf-test-tls-XXXXXX", gw_path[64], second_path[64], ca_path[64];
static const uint8_t keys[TLS_TICKET_KEYS] = {1, 2, 3};
static struct hf_conf_service serves;
static struct hf_conf_pool reaches;
static struct hf_front front = {.uri_scheme = "sip"};
static struct wire *client, *server;
static struct tls *same[2]; /* for all connections of a test that makes many; NULL: each has its own */

static void write_file(char path[64], const char *name, const char *text)
{
	FILE *f;

	snprintf(path, 64, "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int make_files(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	write_file(gw_path, "gw", pem_gw);
	write_file(second_path, "second", pem_second);
	write_file(ca_path, "ca", pem_ca);
	return 0;
}

static int drop_files(void **state)
{
	(void)state;
	unlink(gw_path);
	unlink(second_path);
	unlink(ca_path);
	return rmdir(dir);
}

static int fresh(void **state)
{
	(void)state;
	memset(lanes, 0, sizeof lanes);
	serves = (struct hf_conf_service){.name = "calls", .tls_certificates = {.n = 2, .pair = {{hf_bytes_str(gw_path), HF_NONE}, {hf_bytes_str(second_path), HF_NONE}}}};
	reaches = (struct hf_conf_pool){.name = "pbx", .front = &front, .tls_verify = true, .tls_ca = hf_bytes_str(ca_path)};
	return 0;
}

static int ended(void **state)
{
	(void)state;
	wire_free(client);
	wire_free(server);
	client = server = NULL;
	return 0;
}

static void begin(const char *name, const char *addr)
{
	char text[400] = "";
	struct hf_writer why = hf_writer_on(text, sizeof text - 1);
	struct tls *s = same[0] ? same[0] : tls_serve(&serves, keys, &why), *c = same[1] ? same[1] : tls_reach(&reaches, &why);
	struct hf_addr a;

	if (!s || !c)
		fail_msg("%s", text);
	assert_int_equal(hf_addr_read(hf_bytes_str(addr), 5061, &a), HF_OK);
	server = tls_accept(s, new_end(0), -1);
	client = tls_dial(c, new_end(1), -1, hf_bytes_str(name), &a);
	assert_true(server && client);
	if (same[0])
		return;
	tls_drop(s); /* a connection outlives its configuration */
	tls_drop(c);
}

/* Both handshakes, turn by turn; the client's verdict. */
static enum hf_err shake_in(int turns)
{
	enum hf_err e = HF_EFULL;
	uint8_t octet;

	for (int i = 0; i < turns && e == HF_EFULL; i++) {
		e = wire_open(client);
		if (wire_reason(server) == 0)
			assert_int_equal(server->kind->read(server, &octet, 1), -1);
	}
	return e;
}

static enum hf_err shake(void) { return shake_in(20000); }

static void say(struct wire *from, struct wire *to, const char *text)
{
	char got[200];
	size_t n = strlen(text);

	assert_int_equal(from->kind->write(from, text, n), (ssize_t)n);
	assert_int_equal(to->kind->read(to, got, sizeof got), (ssize_t)n);
	assert_memory_equal(got, text, n);
}

/* ---- tests ---- */

static void both_ways(void **state)
{
	(void)state;
	begin("gw.example.com", "192.0.2.11");
	assert_int_equal(shake(), HF_OK);
	say(client, server, "hello");
	say(server, client, "and you");
	assert_null(memmem(lanes[0].p, lanes[0].n, "hello", 5)); /* not in the clear */
	wire_shut(client);
	assert_int_equal(server->kind->read(server, (char[8]){0}, 8), 0); /* in order */
	assert_int_equal(wire_reason(server), 0);
}

/* Octet by octet, each way, the handshake too: nothing that is half there is lost or spun on. */
static void in_pieces(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 9; piece += 7) {
		char got[64];
		ssize_t n = -1;

		fresh(NULL);
		begin("gw.example.com", "192.0.2.11");
		ends[0]->piece = ends[1]->piece = piece;
		assert_int_equal(shake(), HF_OK);
		assert_int_equal(client->kind->write(client, "in pieces", 9), 9);
		ends[0]->reads = 0;
		for (int i = 0; i < 200 && n < 0; i++)
			n = server->kind->read(server, got, sizeof got);
		assert_int_equal(n, 9);
		assert_true(ends[0]->reads <= 200); /* one look below a call */
		ended(NULL);
	}
}

/* The handshake cut behind any octet of the client's: a reason, and an end. */
static void cut_anywhere(void **state)
{
	char text[400] = "";
	struct hf_writer why = hf_writer_on(text, sizeof text - 1);
	size_t all;

	(void)state;
	same[0] = tls_serve(&serves, keys, &why);
	same[1] = tls_reach(&reaches, &why);
	begin("gw.example.com", "192.0.2.11");
	assert_int_equal(shake(), HF_OK);
	all = lanes[0].n;
	assert_true(all > 300);
	for (size_t cut = 0; cut < all; cut++) {
		ssize_t n = -1;
		char got[64];

		ended(NULL);
		fresh(NULL);
		begin("gw.example.com", "192.0.2.11");
		ends[1]->room = cut;
		(void)shake_in(20);
		lanes[0].end = true;
		errno = EAGAIN;
		for (int i = 0; i < 50 && n < 0 && errno == EAGAIN; i++)
			n = server->kind->read(server, got, sizeof got);
		if (cut == 0 ? n != 0 : (n != -1 || wire_reason(server) != HF_R_TLS_CUT))
			fail_msg("cut behind %zu of %zu: %zd, %u", cut, all, n, wire_reason(server));
	}
	for (int i = 0; i < 2; i++) {
		tls_drop(same[i]);
		same[i] = NULL;
	}
}

static void plain_text(void **state)
{
	char got[64];

	(void)state;
	begin("gw.example.com", "192.0.2.11");
	assert_int_equal(end_write(&ends[1]->wire, "OPTIONS", 7), 7);
	assert_int_equal(server->kind->read(server, got, sizeof got), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(wire_reason(server), HF_R_TLS_PLAIN);
	assert_int_equal(lanes[1].n, 0); /* a stranger gets no answer */
	assert_int_equal(end_write(&ends[0]->wire, "SIP/2.0 400", 11), 11);
	assert_int_not_equal(wire_open(client), HF_OK);
	assert_int_equal(wire_reason(client), HF_R_TLS_PLAIN);
}

/* What is left over in records that came in one read is told without another look below, and asked for. */
static void more_than_asked(void **state)
{
	char got[4];
	size_t sum = 0;

	(void)state;
	begin("gw.example.com", "192.0.2.11");
	assert_int_equal(shake(), HF_OK);
	for (int i = 0; i < 5; i++)
		assert_int_equal(client->kind->write(client, "abcdef", 6), 6);
	while (server->kind->read(server, got, sizeof got) > 0) {
		sum += 4;
		if (sum == 4)
			ends[0]->reads = 0;
		if (!server->again)
			break;
	}
	assert_true(sum >= 28 && sum <= 32);
	assert_int_equal(ends[0]->reads, 0);
}

/* A socket that takes little: the same octets are offered again, and arrive once. */
static void little_room(void **state)
{
	static char text[40000], got[65536];
	size_t sent = 0, came = 0;

	(void)state;
	memset(text, 'x', sizeof text);
	begin("gw.example.com", "192.0.2.11");
	assert_int_equal(shake(), HF_OK);
	ends[1]->room = 100;
	for (int turn = 0; turn < 4000 && came < sizeof text; turn++) {
		ssize_t n = sent < sizeof text ? client->kind->write(client, text + sent, sizeof text - sent) : 0;

		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			assert_int_equal(client->writes, HF_WRITE);
		}
		sent += n > 0 ? (size_t)n : 0;
		ends[1]->room = 100;
		n = server->kind->read(server, got, sizeof got);
		came += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(came, sizeof text);
}

static void who_is_believed(void **state)
{
	static const struct { const char *name, *addr, *text; } t[] = {
		{"gw.example.com", "192.0.2.11", NULL}, {"example.com", "192.0.2.11", NULL}, {"", "192.0.2.1", NULL}, {"192.0.2.1", "192.0.2.11", NULL},
		{"second.example.com", "192.0.2.1", NULL}, /* by its server name it gets the other certificate */
		{"", "192.0.2.11", "IP address mismatch"}, {"else.example.com", "192.0.2.1", "hostname mismatch"}, {"gw", "192.0.2.1", "hostname mismatch"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof t / sizeof t[0]; i++) {
		enum hf_err e;

		fresh(NULL);
		begin(t[i].name, t[i].addr);
		e = shake();
		if ((e == HF_OK) != !t[i].text || strcmp(tls_text(client), t[i].text ? t[i].text : "") != 0)
			fail_msg("%s at %s: %d, \"%s\"", t[i].name, t[i].addr, e, tls_text(client));
		if (t[i].text)
			assert_int_equal(wire_reason(client), HF_R_TLS_PROOF);
		ended(NULL);
	}
	fresh(NULL);
	reaches.tls_ca = hf_bytes_str(second_path); /* vouches for nobody here */
	begin("gw.example.com", "192.0.2.11");
	assert_int_equal(shake(), HF_ECLOSED);
	assert_int_equal(wire_reason(client), HF_R_TLS_PROOF);
	ended(NULL);
	fresh(NULL);
	reaches.tls_verify = false;
	begin("else.example.com", "192.0.2.11");
	assert_int_equal(shake(), HF_OK);
}

static void clients_are_asked(void **state)
{
	(void)state;
	for (unsigned how = HF_CONF_TLS_OPTIONAL; how <= HF_CONF_TLS_REQUIRED; how++)
		for (unsigned shown = 0; shown < 2; shown++) {
			uint8_t octet;

			fresh(NULL);
			serves.tls_client_certificate = how;
			serves.tls_client_ca = hf_bytes_str(ca_path);
			if (shown)
				reaches.tls_certificate.certificate = hf_bytes_str(second_path);
			begin("gw.example.com", "192.0.2.11");
			(void)shake();
			assert_int_equal(server->kind->read(server, &octet, 1), -1);
			assert_int_equal(wire_reason(server), how == HF_CONF_TLS_REQUIRED && !shown ? HF_R_TLS_PROOF : 0);
			ended(NULL);
		}
}

static uint32_t identity_of(const char *name)
{
	char text[400] = "";
	struct hf_writer why = hf_writer_on(text, sizeof text - 1);
	struct tls *t = tls_reach(&reaches, &why);
	uint32_t v;

	assert_non_null(t);
	v = tls_identity(t, hf_bytes_str(name));
	tls_drop(t);
	return v;
}

/* Connections of one identity may be used by each other, and no others. Fails when what a line here changes is left out of shown_to_servers or tls_identity. */
static void identities(void **state)
{
	uint32_t v = identity_of("pbx.example.com");

	(void)state;
	assert_int_equal(identity_of("pbx.example.com"), v);
	assert_int_not_equal(identity_of("new.example.com"), v);
	assert_int_not_equal(identity_of(""), v);
	reaches.tls_verify = !reaches.tls_verify;
	assert_int_not_equal(identity_of("pbx.example.com"), v);
	reaches.tls_verify = !reaches.tls_verify;
	reaches.tls_certificate.certificate = hf_bytes_str(gw_path);
	assert_int_not_equal(identity_of("pbx.example.com"), v);
	reaches.tls_certificate.certificate = HF_NONE;
	reaches.tls_ca = hf_bytes_str(second_path);
	assert_int_not_equal(identity_of("pbx.example.com"), v);
}

static void bad_files(void **state)
{
	char text[400] = "", want[200];
	struct hf_writer why = hf_writer_on(text, sizeof text - 1);

	(void)state;
	serves.tls_certificates.pair[1].key = hf_bytes_str(gw_path);
	assert_null(tls_serve(&serves, keys, &why));
	snprintf(want, sizeof want, "tls-certificate %s: the key: it belongs to another certificate", gw_path);
	assert_string_equal(text, want);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fresh, ended)
	const struct CMUnitTest tests[] = {T(both_ways), T(in_pieces), T(cut_anywhere), T(plain_text), T(more_than_asked), T(little_room), T(who_is_believed), T(clients_are_asked), T(identities), T(bad_files)};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}
