/* holdfast-hammer: sends mutated messages to a living gateway and plays the servers behind it, until its time or its number is up.
 *
 *   holdfast-hammer [-n MESSAGES] [-t SECONDS] [-r SEED] [-f FROM-ADDRESS] [-s SERVER]... [-x STRANGER]... [-l LAST-FILE] udp|tcp|rdp GATEWAY SEEDS-FOLDER...
 *
 * Addresses are IPv4:PORT. A server is bound here over UDP and TCP, and so is a stranger: messages name it, and nothing may arrive there.
 * The last line says what happened; exit 0, or 1 when a stranger was reached, 2 for a wrong command line, 3 when the gateway
 * gave no answer for five seconds: then LAST-FILE has the last 64 messages, each behind its length in text. */
#include "hammer.h"

#include "holdfast/bytes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double hammer_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool hammer_goes_on(const struct hammer *h) { return h->sent < h->limit && hammer_now() < h->end; }

void hammer_remember(struct hammer *h, const uint8_t *p, size_t n)
{
	unsigned i = h->sent % RING;

	free(h->ring[i].p);
	h->ring[i].p = malloc(n + 1);
	h->ring[i].n = h->ring[i].p ? n : 0;
	memcpy(h->ring[i].p, p, h->ring[i].n);
}

static void save_ring(const struct hammer *h)
{
	FILE *f = h->ring_file ? fopen(h->ring_file, "wb") : NULL;

	if (!f)
		return;
	for (uint64_t i = h->sent < RING ? 0 : h->sent - RING; i < h->sent; i++) {
		fprintf(f, "%zu\n", h->ring[i % RING].n);
		fwrite(h->ring[i % RING].p, 1, h->ring[i % RING].n, f);
		fputc('\n', f);
	}
	fclose(f);
}

static bool number(const char *text, uint64_t most, uint64_t *out) { return hf_read_uint(hf_bytes_str(text), most, out) == HF_OK; }

bool hammer_addr(const char *text, struct sockaddr_in *a)
{
	uint64_t port = 0;
	char ip[32];
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);

	if (n >= sizeof ip || (colon && !number(colon + 1, 65535, &port)))
		return false;
	memcpy(ip, text, n);
	ip[n] = 0;
	*a = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	return inet_pton(AF_INET, ip, &a->sin_addr) == 1;
}

int hammer_socket(const struct sockaddr_in *at, int type)
{
	int fd = socket(AF_INET, type | SOCK_NONBLOCK, 0), one = 1, room = 1 << 20;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
	if (bind(fd, (const struct sockaddr *)at, sizeof *at)) {
		perror("hammer: bind");
		close(fd);
		return -1;
	}
	return fd;
}

/* Both kinds of socket at an address. */
static bool both(int *to, unsigned *n, unsigned most, const char *text)
{
	struct sockaddr_in a;

	if (*n + 2 > most || !hammer_addr(text, &a))
		return false;
	to[*n] = hammer_socket(&a, SOCK_DGRAM);
	to[*n + 1] = hammer_socket(&a, SOCK_STREAM);
	if (to[*n] < 0 || to[*n + 1] < 0 || listen(to[*n + 1], 1024))
		return false;
	*n += 2;
	return true;
}

/* Everything a client may write that names an address. */
static void words_of(struct mutator *m, const char *stranger)
{
	static const char *const forms[] = {
		"Route: <sip:%s;lr>", "Route: <sip:%s>", "Route: <sip:x@%s;transport=tcp;lr>", "Via: SIP/2.0/UDP %s;branch=z9hG4bKh", "Via: SIP/2.0/UDP 127.0.0.1;maddr=%s;branch=z9hG4bKh",
		"Via: SIP/2.0/UDP 127.0.0.1;received=%s;rport=5060;branch=z9hG4bKh", "v: SIP/2.0/TCP %s", "Contact: <sip:a@%s>", "Record-Route: <sip:%s;lr>", "Path: <sip:%s;lr>",
		"Refer-To: <sip:a@%s?Replaces=a%%40b%%3Bto-tag%%3D1%%3Bfrom-tag%%3D2>", "Replaces: a@%s;to-tag=1;from-tag=2", "Target-Dialog: a@b;local-tag=1;remote-tag=%s", "X: %s",
		"Cookie: msts=%s", "Cookie: mstshash=%s", "mth://%s", "tsv://MS Terminal Services Plugin.1.%s",
	};
	static const char *const plain[] = {
		"Max-Forwards: 0", "Content-Length: 0", "l: 99999", "Proxy-Require: x", "Require: path", "Expires: 0", "Call-ID: hammer@x", "i: \xff\xfe", "To: <sip:b@x>;tag=1", "CSeq: 1 CANCEL", "CSeq: 1 ACK",
		"f: <sip:a@x>;tag=a", "Via: SIP/2.0/UDP h;branch=z9hG4bKhf;hf=0000", " folded", "Supported: path,outbound", "Event: refer", "INVITE sip:b@x SIP/2.0", "ACK sip:b@x SIP/2.0",
		"CANCEL sip:b@x SIP/2.0", "BYE sip:b@x SIP/2.0", "REGISTER sip:x SIP/2.0", "SIP/2.0 200 OK", "SIP/2.0 503 x", "Retry-After: 99999999999", "Cookie: mstshash=alice",
	};
	char line[600];

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		snprintf(line, sizeof line, forms[i], stranger);
		mutate_word(m, line);
	}
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		mutate_word(m, plain[i]);
}

/* A stranger as a routing token: the address as a little-endian number, the port's octets swapped. */
static void token_of(struct mutator *m, const char *stranger)
{
	struct sockaddr_in a;
	char line[100];

	if (hammer_addr(stranger, &a)) {
		snprintf(line, sizeof line, "Cookie: msts=%u.%u.0000", (unsigned)a.sin_addr.s_addr, (unsigned)a.sin_port);
		mutate_word(m, line);
	}
}

static bool options(struct hammer *h, int argc, char **argv, const char **stranger)
{
	uint64_t seconds = 3600, serial = 0;
	int c;

	h->limit = UINT64_MAX;
	h->m.state = 0x9e3779b97f4a7c15ull;
	hammer_addr("127.0.0.1", &h->source);
	while ((c = getopt(argc, argv, "n:t:r:f:s:x:l:")) != -1) {
		bool good = c == 'n' ? number(optarg, UINT32_MAX, &h->limit) : c == 't' ? number(optarg, 1000000, &seconds) : c == 'r' ? number(optarg, UINT32_MAX, &serial) : c == 'f' ? hammer_addr(optarg, &h->source) :
			c == 's' ? both(h->servers, &h->n_servers, SERVERS, optarg) :
			c == 'x' ? both(h->strangers, &h->n_strangers, STRANGERS, *stranger = optarg) : c == 'l' ? (h->ring_file = optarg) != NULL : false;

		if (!good)
			return false;
	}
	h->m.state ^= serial << 20;
	h->end = hammer_now() + (double)seconds;
	return argc - optind >= 3 && hammer_addr(argv[optind + 1], &h->gateway);
}

int main(int argc, char **argv)
{
	static struct hammer h;
	const char *stranger = "192.0.2.99:5060";
	bool alive;
	double begin;

	if (!options(&h, argc, argv, &stranger)) {
		fprintf(stderr, "usage: holdfast-hammer [-n N] [-t S] [-r SEED] [-f FROM] [-s SERVER] [-x STRANGER] [-l FILE] udp|tcp|rdp GATEWAY SEEDS...\n");
		return 2;
	}
	argv += optind;
	h.m.text = strcmp(argv[0], "rdp") != 0;
	words_of(&h.m, stranger);
	token_of(&h.m, stranger);
	for (int i = 2; argv[i]; i++)
		if (!mutate_load(&h.m, argv[i], stranger)) {
			fprintf(stderr, "hammer: no seeds in %s\n", argv[i]);
			return 2;
		}
	begin = hammer_now();
	alive = argv[0][0] == 'u' ? hammer_udp(&h) : hammer_tcp(&h);
	hammer_serve(&h);
	if (!alive)
		save_ring(&h);
	printf("sent=%llu answers=%llu servers=%llu strangers=%llu seconds=%.1f alive=%d\n", (unsigned long long)h.sent, (unsigned long long)h.answers, (unsigned long long)h.at_servers,
	       (unsigned long long)h.at_strangers, hammer_now() - begin, alive);
	return !alive ? 3 : h.at_strangers ? 1 : 0;
}
