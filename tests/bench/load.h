/* What the loads share: sockets on loopback, a clock, and what a process has used so far, read from /proc. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define LOAD_SERVERS 16

struct load_usage {
	double cpu_s; /* of all threads of all processes, from schedstat: what the proxy ran, whoever else ran beside it */
	double rss_kb;
};

double load_now(void);
/* pids: numbers with commas between. */
struct load_usage load_usage(const char *pids);
struct sockaddr_in load_addr(unsigned port);
/* All end the program when the system refuses. port 0: any. */
int load_udp(unsigned port);
int load_listen(unsigned port);
int load_epoll(void);
void load_watch(int ep, int fd, uint32_t events, uint64_t data);
void load_rewatch(int ep, int fd, uint32_t events, uint64_t data); /* of one that is watched already */
void load_nodelay(int fd);
void load_die(const char *what);
/* The argument as a number of 0..max, or the program ends. */
uint64_t load_number(const char *text, uint64_t max);
void load_sleep_us(unsigned us);
/* What a client waited for took so long; half of all since load_forget took at most so many ms (0.2 s at most are told apart). Any thread. */
void load_took(double seconds);
void load_forget(void);
double load_median_ms(void);

#endif
