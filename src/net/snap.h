/* A snapshot: all that a configuration decides, made ready for workers, who never change it (private to net). snapshot.c makes it, look.c finds things in
 * one; only the control thread frees it. Its parts point to what lives as long as the process (inside.h). */
#ifndef NET_SNAP_H
#define NET_SNAP_H

#include "holdfast/net.h"

struct pool_rt;
struct service_rt;
struct socks;

struct snap_member {
	uint16_t id;
	bool removed;
	bool send_proxy;     /* each connection of a client begins with a PROXY header */
	uint16_t agent;      /* the port that its agent answers at; 0: it has none */
	enum hf_transport transport;
	uint32_t hash, was_hash[HF_FORMER_MAX]; /* of its former names, the last one first; 0: none */
	char name[64];
	struct hf_bytes tls_name; /* what its certificate must name; empty: its address */
	struct hf_bytes host; /* it was written by name; empty: by its address */
	struct hf_addr addr; /* all zero: its name was never found */
	struct hf_addr from; /* the address that the system sends from towards it; family 0: unknown */
};

struct snap_cell { uint32_t key; uint16_t at; }; /* at: index + 1, 0 = empty */

struct tls;
struct snap_pool {
	struct tls *tls;             /* what servers are asked and shown; NULL: nothing of it speaks TLS */
	const struct hf_conf_pool *conf;
	struct pool_rt *rt;
	struct snap_member *members;
	unsigned n_members;          /* the listed ones first, in their order, then removed ones */
	struct hf_conf_server *listed; /* conf's servers, with those whom SRV records name (listed.h) */
	unsigned n_listed;
	struct hf_member_conf *plan; /* of the engine, for the listed ones ... */
	uint16_t *plan_ids;          /* ... with the ids that they will have */
	bool enacted;                /* the engine knows them (control thread) */
	uint16_t *by_id;             /* index + 1 */
	struct snap_cell *by_hash, *by_addr;
	uint32_t mask;               /* of both tables */
};

struct snap_service {
	const struct hf_conf_service *conf;
	struct service_rt *rt;
	struct snap_pool *pool, **pools; /* parallel to conf->choices: pool is the first */
	struct tls *tls;             /* what clients are shown and asked; NULL: no listener speaks TLS */
	struct hf_listener_info *infos;
	struct socks **socks;        /* parallel to infos */
	unsigned n_infos;
	struct hf_addr *own;
	unsigned n_own;
};

struct hf_snapshot {
	unsigned generation;
	struct hf_conf *conf;
	struct snap_pool *pools;
	struct snap_service *services;
	unsigned n_pools, n_services;
};

struct worker;
const struct snap_member *snap_by_hash(const struct snap_pool *p, uint32_t hash);
const struct snap_member *snap_by_addr(const struct snap_pool *p, const struct hf_addr *a);
const struct snap_member *snap_by_id(const struct snap_pool *p, uint16_t id);
/* The same, and in the snapshot that this worker is about to take: the engine, or another worker, may name a server of it already. */
const struct snap_member *worker_by_hash(const struct worker *w, const struct snap_pool *p, uint32_t hash);
const struct snap_member *worker_by_id(const struct worker *w, const struct snap_pool *p, uint16_t id);
/* The member that speaks from this address: by its exact port; from where servers are listed also the only one that lives there. */
const struct snap_member *snap_speaker(const struct snap_pool *p, const struct hf_addr *a, bool listed);
bool snap_in(const struct hf_nets *n, const struct hf_addr *a); /* one of the networks holds it */
bool snap_has_ip(const struct snap_pool *p, const struct hf_addr *a); /* any member with this address, whatever the port */
uint64_t snap_sessions(const struct snap_service *s); /* that its pools hold, whichever service opened them */
const struct snap_service *snap_service(const struct hf_snapshot *s, uint16_t service_id);
struct snap_pool *snap_pool(const struct hf_snapshot *s, const struct pool_rt *rt); /* NULL: no service of it sends there */
/* Puts all members into the tables: former names behind the names that are in use. */
void snap_index(struct snap_pool *p);
void snapshot_free(struct hf_net *net, struct hf_snapshot *s);
/* When all workers have the newest snapshot: the engines may name its servers, and the one before is freed. */
void snapshot_receipts(struct hf_net *net);
const struct hf_listener_info *snap_listener(const struct snap_service *s, uint32_t hash, unsigned *at);

#endif
