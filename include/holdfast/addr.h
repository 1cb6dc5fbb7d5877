/* Transport addresses as values (base floor); no socket is touched. Pure; any thread. */
#ifndef HOLDFAST_ADDR_H
#define HOLDFAST_ADDR_H

#include "writer.h"

enum hf_transport { HF_UDP, HF_TCP, HF_TLS, HF_WS, HF_WSS, HF_TRANSPORTS };
#define HF_TRANSPORT_BIT(t) (1u << (t))

struct hf_addr {
	uint8_t family;  /* 0 none, 4, 6 */
	uint8_t spare;
	uint16_t port;   /* host order */
	uint32_t scope;  /* IPv6 scope id, else 0 */
	uint8_t ip[16];  /* network order; IPv4 in the first four, the rest zero */
};

static inline size_t hf_addr_ip_len(const struct hf_addr *a) { return a->family == 6 ? 16 : a->family == 4 ? 4 : 0; }
static inline struct hf_bytes hf_addr_ip(const struct hf_addr *a) { return hf_bytes_of(a->ip, hf_addr_ip_len(a)); }
/* Address and port equal / address alone equal. */
bool hf_addr_eq(const struct hf_addr *a, const struct hf_addr *b);
bool hf_addr_ip_eq(const struct hf_addr *a, const struct hf_addr *b);
/* a is in the network of the first `bits` bits of net; never when the families differ. */
bool hf_addr_in(const struct hf_addr *a, const struct hf_addr *net, unsigned bits);
bool hf_addr_is_any(const struct hf_addr *a);
/* An IPv4-mapped IPv6 address becomes the IPv4 address. */
void hf_addr_unmap(struct hf_addr *a);

/* "192.0.2.1", "192.0.2.1:5060", "[2001:db8::1]", "[2001:db8::1]:5060", "2001:db8::1"; a missing port leaves `port` at default_port.
 * HF_EINVAL: not an address literal; HF_ERANGE: a port outside 0..65535. */
enum hf_err hf_addr_read(struct hf_bytes text, uint16_t default_port, struct hf_addr *out) HF_MUST_USE;
/* The address alone, IPv6 with (brackets) or without. */
enum hf_err hf_addr_read_ip(struct hf_bytes text, struct hf_addr *out) HF_MUST_USE;
void hf_w_addr(struct hf_writer *w, const struct hf_addr *a);          /* 192.0.2.1:5060, [2001:db8::1]:5060 */
void hf_w_ip(struct hf_writer *w, const struct hf_addr *a, bool brackets);

/* Prefix lengths behind a word: "" (whole addresses), "/24" (IPv4), "/64" (above 32: IPv6), "/24/64" (IPv4, IPv6). False: none of these, or 0. */
struct hf_prefix { uint8_t bits4, bits6; };
bool hf_prefix_read(struct hf_bytes text, struct hf_prefix *out) HF_MUST_USE;
#define HF_PREFIX_WANT "a prefix is /1 to /32 for IPv4, /33 to /128 for IPv6, or both, IPv4 first, as in source/24/64"
/* 192.0.2.0/24, or the address alone when the prefix is all of it; an IPv4-mapped IPv6 address is the IPv4 address. */
void hf_w_net(struct hf_writer *w, const struct hf_addr *a, struct hf_prefix prefix);

/* "udp", "tcp", "tls", "ws", "wss". */
const char *hf_transport_name(enum hf_transport t);
/* False when there is no such transport; without case. */
bool hf_transport_read(struct hf_bytes text, enum hf_transport *out) HF_MUST_USE;
static inline bool hf_transport_is_stream(enum hf_transport t) { return t != HF_UDP; }
/* Nobody between can read or change it. */
static inline bool hf_transport_is_secure(enum hf_transport t) { return t == HF_TLS || t == HF_WSS; }
static inline bool hf_transport_is_web(enum hf_transport t) { return t == HF_WS || t == HF_WSS; }
/* Each message comes as one, neither cut nor joined. */
static inline bool hf_transport_keeps_messages(enum hf_transport t) { return t == HF_UDP || hf_transport_is_web(t); }

#endif
