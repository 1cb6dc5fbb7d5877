/* Fuzz: messages for a collector. The octets are a packet for our reader; and they draw a message and the room there is for it.
 * Held to: what export_write writes is read back field by field; it writes nothing where the room or a datagram is too short, and never beyond. */
#include <stdlib.h>

#include "export.h"
#include "hep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x) do { if (!(x)) abort(); } while (0)
enum { DRAWN = 64, IPV6 = 1, STREAM = 2, CRAMPED = 4, SPLICES = 8, LONG = 16, SPLICE_MAX = 2, DATAGRAM = 65507 };

static void back(const struct export_message *m, struct hf_bytes packet, struct hf_bytes payload)
{
	bool six = m->from.family == 6;
	struct packet p;

	MUST(read_packet(packet, &p));
	MUST(p.family == (six ? 10 : 2) && p.protocol == (m->stream ? 6 : 17) && p.type == m->type && p.agent == m->agent);
	MUST(p.seen[3] == !six && p.seen[4] == !six && p.seen[5] == six && p.seen[6] == six);
	MUST(memcmp(p.from, m->from.ip, 16) == 0 && memcmp(p.to, m->to.ip, 16) == 0 && p.from_port == m->from.port && p.to_port == m->to.port);
	MUST((uint64_t)p.seconds * 1000000 + p.micros == m->at_us && p.micros < 1000000);
	MUST(p.seen[14] == (m->password.n > 0) && hf_bytes_eq(p.password, m->password));
	MUST(p.seen[17] == (m->session.n > 0) && hf_bytes_eq(p.session, hf_bytes_sub(m->session, 0, 255)));
	MUST(hf_bytes_eq(p.payload, payload));
}

/* The message with its splices, by a rule of one line: cuts are left out, puts stand at their place. False: they are not in order. */
static bool compose(const struct export_message *m, struct hf_writer *w)
{
	size_t at = 0;

	for (unsigned i = 0; i < m->n_splices; i++) {
		const struct hf_splice *s = &m->splices[i];

		if (s->at < at || (size_t)s->at + s->cut > m->base.n)
			return false;
		hf_w_bytes(w, hf_bytes_sub(m->base, at, s->at - at));
		hf_w_bytes(w, s->put);
		at = (size_t)s->at + s->cut;
	}
	hf_w_bytes(w, hf_bytes_sub(m->base, at, m->base.n));
	return true;
}

static void write_one(const struct export_message *m, size_t cap)
{
	static uint8_t plain[1 << 18];
	struct hf_writer want = hf_writer_on(plain, sizeof plain), w;
	bool ordered = compose(m, &want), wrote;
	size_t head = 6 + 7 + 7 + 2 * (m->from.family == 6 ? 22 : 10) + 2 * 8 + 2 * 10 + 7 + 10 + (m->password.n ? 6 + m->password.n : 0) +
		      (m->session.n ? 6 + (m->session.n > 255 ? 255 : m->session.n) : 0) + 6;
	uint8_t *room = malloc(cap ? cap : 1); /* of its own length: what is written beyond is seen */

	MUST(room);
	w = hf_writer_on(room, cap);
	wrote = export_write(&w, m);
	MUST(wrote == (ordered && want.n && head + want.n <= DATAGRAM && head + want.n <= cap));
	if (wrote)
		back(m, hf_writer_view(&w), hf_writer_view(&want));
	free(room);
}

static struct hf_addr address(const uint8_t *p, bool six)
{
	struct hf_addr a = {.family = six ? 6 : 4, .port = hf_get16(p)};

	memcpy(a.ip, p + 2, six ? 16 : 4);
	return a;
}

/* Of the DRAWN octets and what is behind them. */
static void drawn(const uint8_t *d, struct hf_bytes rest)
{
	static uint8_t far[65600];
	const struct hf_splice splice[SPLICE_MAX] = {{hf_get16(d + 40), hf_get16(d + 42), hf_bytes_of("instead", d[44] & 7)}, {hf_get16(d + 46), d[48], hf_bytes_of("more", d[49] & 3)}};
	struct export_message m = {.from = address(d + 1, d[0] & IPV6), .to = address(d + 19, d[0] & IPV6), .stream = d[0] & STREAM, .type = d[37], .at_us = (uint64_t)hf_get32(d + 50) * 1000000 + hf_get32(d + 54) % 1000000,
		.agent = hf_get32(d + 58), .splices = splice, .n_splices = d[0] & SPLICES ? 1 + (d[0] >> 7) : 0};

	m.password = hf_bytes_sub(rest, 0, d[38]);
	m.session = hf_bytes_sub(rest, d[38], d[38] + 2u * d[39]);
	m.base = d[0] & LONG ? hf_bytes_of(far, 65000 + hf_get16(d + 62) % 600) : rest;
	write_one(&m, d[0] & CRAMPED ? hf_get16(d + 62) % 1024 : sizeof far);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packet p;

	if (read_packet(hf_bytes_of(data, size), &p))
		MUST(p.payload.n <= size && (!p.payload.n || (p.payload.p >= data && p.payload.p + p.payload.n <= data + size)));
	if (size >= DRAWN)
		drawn(data, hf_bytes_of(data + DRAWN, size - DRAWN));
	return 0;
}
