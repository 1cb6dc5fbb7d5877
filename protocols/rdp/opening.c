/* What may stand before or in place of a Connection Request, and what the service asks of it; see opening.h. Knows nothing of keys, hosts or flows. */
#include "opening.h"

#include "reasons.h"

/* ---- MS-RDPEPS 2.2.1: all numbers are little-endian ---- */

#define BLOB_V1 16u /* cbSize, Flags, Version, Id: 4 octets each */
#define BLOB_V2 18u /* ... and cchPCB, 2 octets, before so many characters of two octets */
#define AT_VERSION 8u

static uint32_t little32(const uint8_t *p) { return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0]; }

/* Neither a TPKT header nor a TLS record reads as such a size: in a TPKT header the last octet of the four is at least 11 below 256 octets, and the
 * one before it is 1 above; in a TLS record the third is 1 or more. */
static bool is_blob(uint32_t size) { return size == BLOB_V1 || (size >= BLOB_V2 && size <= BLOB_MAX); }

static unsigned blob_of(struct hf_bytes in, uint32_t size)
{
	uint32_t version = little32(in.p + AT_VERSION);

	if (size == BLOB_V1)
		return version == 1 ? 0 : RDP_R_BLOB;
	return version == 2 && size == BLOB_V2 + 2u * (in.p[BLOB_V1] | (uint32_t)in.p[BLOB_V1 + 1] << 8) ? 0 : RDP_R_BLOB;
}

/* Its own octets and no more; what follows is looked at when they are there. */
static unsigned read_blob(struct hf_bytes in, size_t *blob, size_t *need)
{
	uint32_t size;

	*blob = 0;
	*need = 4;
	if (in.n < 4)
		return X224_WAIT;
	size = little32(in.p);
	if (!is_blob(size))
		return 0;
	*need = size;
	if (in.n < size)
		return X224_WAIT;
	*blob = size;
	return blob_of(in, size);
}

/* ---- TLS at once: RFC 8446 5.1, 4 ---- */

enum { TLS_HANDSHAKE = 0x16, TLS_MAJOR = 3, CLIENT_HELLO = 1, RECORD_HEAD = 5, HELLO_HEAD = 4 };

/* A host answers a hello that is whole, and nothing more of it could be passed on before that: it must lie in one record. */
static unsigned read_hello(struct hf_bytes in, size_t *need)
{
	size_t record, hello;

	*need = 2;
	if (in.n < *need)
		return X224_WAIT;
	if (in.p[1] != TLS_MAJOR)
		return RDP_R_NOT_RDP;
	*need = RECORD_HEAD + HELLO_HEAD;
	if (in.n < *need)
		return X224_WAIT;
	record = hf_get16(in.p + 3);
	hello = (size_t)in.p[6] << 16 | hf_get16(in.p + 7);
	if (record > HELLO_MAX || in.p[RECORD_HEAD] != CLIENT_HELLO || hello + HELLO_HEAD > record)
		return RDP_R_NOT_RDP;
	*need = RECORD_HEAD + record;
	return in.n < *need ? X224_WAIT : 0;
}

unsigned opening_read(const struct rdp_conf *conf, struct hf_bytes in, struct opening *o, size_t *need)
{
	struct hf_bytes rest;
	unsigned bad = 0;

	memset(o, 0, sizeof *o);
	*need = 0;
	if (conf->pre_connection == RDP_BLOB_FORWARD)
		bad = read_blob(in, &o->blob, need);
	if (bad)
		return bad;
	rest = hf_bytes_sub(in, o->blob, in.n);
	o->direct = conf->direct_tls == RDP_DIRECT_SOURCE && rest.n && rest.p[0] == TLS_HANDSHAKE;
	bad = o->direct ? read_hello(rest, need) : x224_read(rest, &o->r, need);
	*need += o->blob;
	return bad;
}

/* ---- what is asked for: MS-RDPBCGR 2.2.1.1.1, 2.2.1.2.2 ---- */

/* TLS, CredSSP, RDSTLS, CredSSP with early authorisation, RDS AAD: requestedProtocols */
enum { OFFERS_TLS = 0x1f, OFFERS_NLA = 0x1e };

bool opening_too_weak(const struct rdp_conf *conf, const struct opening *o)
{
	static const uint32_t wanted[] = {[RDP_REQUIRE_ANY] = 0, [RDP_REQUIRE_TLS] = OFFERS_TLS, [RDP_REQUIRE_NLA] = OFFERS_NLA};

	return !o->direct && wanted[conf->require] && !(o->r.protocols & wanted[conf->require]);
}

struct hf_bytes opening_refusal(const struct rdp_conf *conf, const struct opening *o)
{
	/* SSL_REQUIRED_BY_SERVER, HYBRID_REQUIRED_BY_SERVER */
	static const uint8_t tls[19] = {3, 0, 0, 19, 14, 0xd0, 0, 0, 0x12, 0x34, 0, 3, 0, 8, 0, 1, 0, 0, 0};
	static const uint8_t nla[19] = {3, 0, 0, 19, 14, 0xd0, 0, 0, 0x12, 0x34, 0, 3, 0, 8, 0, 5, 0, 0, 0};

	if (!o->r.negotiates) /* it would not understand one */
		return HF_NONE;
	return hf_bytes_of(conf->require == RDP_REQUIRE_NLA ? nla : tls, sizeof nla);
}
