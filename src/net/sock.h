/* Sockets: every system call on addresses and socket options of the net floor is here. Any thread. */
#ifndef NET_SOCK_H
#define NET_SOCK_H

#include <sys/socket.h>

#include "holdfast/addr.h"

socklen_t sock_put_addr(struct sockaddr_storage *ss, const struct hf_addr *a);
void sock_get_addr(const struct sockaddr_storage *ss, struct hf_addr *a);
struct hf_addr sock_local(int fd);

/* A bound socket, non-blocking, SO_REUSEPORT; streams listen. -1: errno says why. rcvbuf 0: the system's. */
int sock_listen(const struct hf_addr *a, bool stream, uint64_t rcvbuf);
/* A non-blocking connect under way or done; -1: errno. bind_to may be NULL. */
int sock_connect(const struct hf_addr *a, bool stream, const struct hf_addr *bind_to);
/* The same for a stream on which octets follow at once: they bring the handshake's last acknowledgement along, a packet less. It leaves from the address of
 * `from` (NULL: the system's choice), or from the system's where that leads nowhere, such as from a loopback address to another host. */
int sock_dial(const struct hf_addr *a, const struct hf_addr *from);
/* An errno of ours alone: descriptors, memory or ports have run out here; it says nothing about the peer. */
bool sock_want(int e);
/* 0 or the errno of a connect that has ended. */
int sock_error(int fd);
/* Low delay, and keep-alives after so many ms of silence (0: none), on both ends of a relay (RULES-RDP 34: long and silent). Accepted sockets have
 * them of their listener. */
void sock_tune(int fd, uint64_t keep_ms);
/* Acknowledges what has come and what comes next without delay, until octets go both ways again (TCP_QUICKACK): for a peer that sends much and may
 * have its window full. */
void sock_ack(int fd);
/* A peer that takes nothing for half a minute is gone (TCP_USER_TIMEOUT). */
void sock_patience(int fd);
/* A close that resets (RULES-RDP 35). */
void sock_reset(int fd);
/* The address that the system would send from towards `to` (a connected look-up; no octet is sent). */
bool sock_source_for(const struct hf_addr *to, struct hf_addr *out);
/* Addresses of this machine's interfaces of a family; returns the count, at most cap. */
unsigned sock_own(uint8_t family, struct hf_addr *out, unsigned cap);

#endif
