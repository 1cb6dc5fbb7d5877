/* The whole way of eight transactions through a worker, in two turns: datagrams in, the front's steps, the engine, datagrams out. The client and the server
 * are sockets of this program, whose own work count.py leaves out (it counts udp_readable alone).
 *   cost_way ROUNDS auto|hash|plain      plain: auto without failover
 * Breaks when: something is cleared, searched or locked for every message that a turn or a snapshot could settle. */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "inside.h"
#include "sock.h"

#define MUST(x) HF_BUG_ON(!(x))
enum { BURST = 8, ROOM = 4096 };

static struct hf_loop *control;
static struct hf_net *net;
static struct worker *w;
static struct timer stop;
static int client, server;
static struct hf_addr gateway;
static char dir[] = "/dev/shm/hf-way-XXXXXX";

static void stopped(void *arg) { poller_stop(arg); }

static void start(const char *how)
{
	static const struct hf_site site = {.hash_key = "0123456789abcde", .sign = {"abcdefghijklmno"}, .n_sign = 1, .boot = 99};
	static uint8_t text[1024];
	const struct hf_addr any = {.family = 4, .ip = {127, 0, 0, 1}};
	struct hf_writer why = hf_writer_on(text, sizeof text);
	struct hf_findings f = {0};
	struct hf_snapshot *s;
	struct hf_conf *conf;
	char ini[1024];

	MUST(mkdtemp(dir));
	client = sock_listen(&any, false, 0);
	server = sock_listen(&any, false, 0);
	snprintf(ini, sizeof ini,
		 "[gateway]\nudp-gather = off\nstate-dir = %s\nrun-dir = %s\n[service s]\nprotocol = sip\nlisten = udp://127.0.0.1:0\npool = p\nfailover = %s\n"
		 "[pool p]\naffinity = %s\nprobe = none\nmax-entries = 20000\nserver = pbx1 127.0.0.1:%u\n",
		 dir, dir, strcmp(how, "plain") ? "yes" : "no", strcmp(how, "hash") ? "auto" : "hash", sock_local(server).port);
	MUST(hf_conf_parse("way.ini", hf_bytes_str(ini), &conf, &f) == HF_OK);
	control = hf_loop_new();
	net = hf_net_new(control, &site, 1, 1 << 20);
	MUST(net && hf_snapshot_build(net, conf, &s, &why) == HF_OK);
	hf_net_trace(net, 1 << 19);
	MUST(hf_net_publish(net, s, &why) == HF_OK);
	w = &net->workers[0];
	MUST(timer_init(&stop, poller_timers(w->poller), stopped, w->poller));
	timer_set(&stop, 10);
	poller_run(w->poller); /* it takes the snapshot */
	MUST(w->snap && w->n_open == 1);
	gateway = s->services[0].infos[0].addr;
}

/* Waits for a datagram of `fd`; its length. */
static size_t hear(int fd, uint8_t *buf)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n;

	MUST(poll(&p, 1, 5000) == 1);
	n = recv(fd, buf, ROOM, 0);
	MUST(n > 0);
	return (size_t)n;
}

static void say(int fd, struct hf_bytes text)
{
	struct sockaddr_storage to;
	socklen_t n = sock_put_addr(&to, &gateway);

	MUST(sendto(fd, text.p, text.n, 0, (struct sockaddr *)&to, n) == (ssize_t)text.n);
}

static void ask(uint64_t call)
{
	char text[ROOM];
	int n = snprintf(text, sizeof text,
		"INVITE sip:service@127.0.0.1:%u SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:%u;branch=z9hG4bK-%05lu-1;rport\r\nMax-Forwards: 70\r\n"
		"From: \"Caller 1234\" <sip:caller@example.com>;tag=%05lut\r\nTo: <sip:service@example.com>\r\nCall-ID: way-%05lu@127.0.0.1\r\n"
		"CSeq: 1 INVITE\r\nContact: <sip:caller@127.0.0.1:%u>\r\nUser-Agent: way\r\nAllow: INVITE, ACK, CANCEL, OPTIONS, BYE, REFER\r\n"
		"Subject: a call\r\nContent-Type: application/sdp\r\nContent-Length: 129\r\n\r\n%0129u",
		gateway.port, sock_local(client).port, (unsigned long)call, (unsigned long)call, (unsigned long)call, sock_local(client).port, 0u);

	say(client, hf_bytes_of(text, (size_t)n));
}

/* What a server answers: the headers as they came but those of the request alone, and no body. */
static void answer(struct hf_bytes got)
{
	uint8_t text[ROOM];
	struct hf_writer out = hf_writer_on(text, sizeof text);
	size_t line;

	hf_w_str(&out, "SIP/2.0 200 OK\r\n");
	got = hf_bytes_sub(got, hf_bytes_find(got, '\n') + 1, got.n);
	for (; (line = hf_bytes_find(got, '\n') + 1) > 2; got = hf_bytes_sub(got, line, got.n))
		if (!hf_bytes_starts(got, HF_LIT("Max-Forwards:")) && !hf_bytes_starts(got, HF_LIT("Content-")) && !hf_bytes_starts(got, HF_LIT("Subject")) &&
		    !hf_bytes_starts(got, HF_LIT("Allow")) && !hf_bytes_starts(got, HF_LIT("User-")))
			hf_w_bytes(&out, hf_bytes_sub(got, 0, line));
	hf_w_str(&out, "Content-Length: 0\r\n\r\n");
	MUST(!out.full);
	say(server, hf_writer_view(&out));
}

static void tidy(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

static void turn(void) { w->open[0]->watch.fn(w->open[0], HF_READ); }

int main(int argc, char **argv)
{
	uint8_t text[ROOM];
	uint64_t rounds = 0, call = 0;

	MUST(argc == 3 && hf_read_uint(hf_bytes_str(argv[1]), 9000 / BURST, &rounds) == HF_OK);
	start(argv[2]);
	for (uint64_t i = 0; i < rounds; i++) {
		for (int k = 0; k < BURST; k++)
			ask(call++);
		turn();
		for (int k = 0; k < BURST; k++)
			answer(hf_bytes_of(text, hear(server, text)));
		turn();
		for (int k = 0; k < BURST; k++)
			MUST(hear(client, text) > 12 && !memcmp(text, "SIP/2.0 200 ", 12));
	}
	tidy();
	return 0;
}
