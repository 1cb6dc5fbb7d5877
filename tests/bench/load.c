/* See load.h. */
#include "load.h"

#include <dirent.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "holdfast/bytes.h"

#define QUEUE (4 << 20) /* socket buffer asked for: a load must not lose what the proxy has sent */
#define BIN_US 10u      /* of the times that a client waits */
#define BINS 20000u     /* 0.2 s; the last one holds what took longer */

static atomic_long took[BINS];

double load_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void load_sleep_us(unsigned us)
{
	struct timespec t = {.tv_nsec = (long)us * 1000};

	nanosleep(&t, NULL);
}

void load_die(const char *what)
{
	perror(what);
	exit(2);
}

uint64_t load_number(const char *text, uint64_t max)
{
	uint64_t n;

	if (hf_read_uint(hf_bytes_str(text), max, &n) == HF_OK)
		return n;
	fprintf(stderr, "not a number up to %llu: %s\n", (unsigned long long)max, text);
	exit(2);
}

/* The n-th number (from 0) of a small file. */
static double number_in(const char *path, int n)
{
	char text[256] = "", *save = NULL;
	FILE *f = fopen(path, "r");
	char *word;
	uint64_t v = 0;

	if (!f)
		return 0;
	if (!fgets(text, sizeof text, f))
		text[0] = 0;
	fclose(f);
	word = strtok_r(text, " \n", &save);
	while (word && n--)
		word = strtok_r(NULL, " \n", &save);
	if (!word || hf_read_uint(hf_bytes_str(word), UINT64_MAX, &v) != HF_OK)
		return 0;
	return (double)v;
}

static double cpu_of(const char *pid)
{
	char path[600];
	double ns = 0;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%s/task", pid);
	d = opendir(path);
	if (!d)
		return 0;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/proc/%s/task/%s/schedstat", pid, e->d_name);
		ns += number_in(path, 0);
	}
	closedir(d);
	return ns / 1e9;
}

struct load_usage load_usage(const char *pids)
{
	struct load_usage u = {0};
	char list[512], path[64], *save = NULL;

	snprintf(list, sizeof list, "%s", pids);
	for (char *pid = strtok_r(list, ",", &save); pid; pid = strtok_r(NULL, ",", &save)) {
		u.cpu_s += cpu_of(pid);
		snprintf(path, sizeof path, "/proc/%.20s/statm", pid);
		u.rss_kb += number_in(path, 1) * (double)sysconf(_SC_PAGESIZE) / 1024;
	}
	return u;
}

struct sockaddr_in load_addr(unsigned port)
{
	return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* reuse: of a port that connections have just left. Not for datagrams: there it lets a client's socket have the port of a server. */
static int bound(int type, bool reuse, unsigned port)
{
	struct sockaddr_in a = load_addr(port);
	int fd = socket(AF_INET, type, 0), on = reuse;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0)
		load_die("bind");
	return fd;
}

int load_udp(unsigned port)
{
	int fd = bound(SOCK_DGRAM | SOCK_NONBLOCK, false, port), size = QUEUE;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	return fd;
}

int load_listen(unsigned port)
{
	int fd = bound(SOCK_STREAM | SOCK_NONBLOCK, true, port);

	if (listen(fd, 4096) != 0)
		load_die("listen");
	return fd;
}

int load_epoll(void)
{
	int fd = epoll_create1(0);

	if (fd < 0)
		load_die("epoll");
	return fd;
}

static void watch(int ep, int op, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event e = {.events = events, .data.u64 = data};

	if (epoll_ctl(ep, op, fd, &e) != 0)
		load_die("epoll_ctl");
}

void load_watch(int ep, int fd, uint32_t events, uint64_t data) { watch(ep, EPOLL_CTL_ADD, fd, events, data); }
void load_rewatch(int ep, int fd, uint32_t events, uint64_t data) { watch(ep, EPOLL_CTL_MOD, fd, events, data); }

void load_nodelay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

void load_took(double seconds)
{
	double bin = seconds * 1e6 / BIN_US;

	atomic_fetch_add(&took[bin < BINS - 1 ? (unsigned)bin : BINS - 1], 1);
}

void load_forget(void)
{
	for (unsigned i = 0; i < BINS; i++)
		atomic_store(&took[i], 0);
}

double load_median_ms(void)
{
	long all = 0, seen = 0;
	unsigned i = 0;

	for (unsigned k = 0; k < BINS; k++)
		all += atomic_load(&took[k]);
	while (i < BINS - 1 && (seen += atomic_load(&took[i])) * 2 < all)
		i++;
	return (i + 1) * BIN_US / 1e3;
}
