/* One number for the octets of a state on disk: what one machine wrote is what any other would have written, and reads. With digest.c. */
#include "digest_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "holdfast/affinity.h"
#include "holdfast/hash.h"
#include "net/keeping.h"
#include "store/salvage.h"

enum { ENTRIES = 3 };

static const struct keeping_time then = {1800000000, 5000000};
static const uint8_t key[16] = {0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
static uint8_t file[4096];
static unsigned members, spans;

static void must(bool is, const char *what)
{
	if (is)
		return;
	fprintf(stderr, "the state is read as another than it was: %s\n", what);
	exit(1);
}

static struct hf_member_record a_member(void)
{
	struct hf_member_record r = {.name = "pbx1", .was = "old-pbx1\0older", .at = {2, 0x13, 0xc4}, .since_ms = 4000000, .drain_ms = 3000000, .file_weight = 100,
		.run_weight = 0x01020304, .max_sessions = 0x0a0b0c0d, .marks = 1 << HF_MARK_DRAIN};

	r.at[HF_MEMBER_AT - 1] = 0xfe;
	return r;
}

/* Entries as an engine gives them, in the order of their fingerprints. */
static void some_entries(struct hf_record *r, uint32_t *hash)
{
	const struct hf_record proto = {.text = HF_LIT("user:alice"), .flags = HF_COUNTED | HF_BOND, .why = HF_WHY_SPILL, .since_ms = 2000000, .seen_ms = 4999000, .expires_s = 0x00012345};

	for (unsigned i = 0; i < ENTRIES; i++) {
		r[i] = proto;
		r[i].fp = hf_fingerprint(key, HF_LIT("user"), HF_LIT("alice"), 80) / (ENTRIES - i);
		hash[i] = hf_server_hash(key, HF_LIT("farm"), HF_LIT("ts1"));
	}
}

static void read_one(void *arg, uint16_t type, struct hf_bytes b)
{
	struct hf_member_record m, was = a_member();
	struct hf_record r[HF_COPY_MAX], had[ENTRIES];
	struct hf_copy c = {.r = r};
	uint32_t hash[HF_COPY_MAX], had_hash[ENTRIES];
	struct hf_range range;
	uint16_t id = 0;

	(void)arg;
	if (type == KEEPING_MEMBER) {
		must(keeping_read_member(b, &then, &id, &m) && id == 0x0102, "a member");
		must(m.since_ms == was.since_ms && m.drain_ms == was.drain_ms && !m.removed_ms, "a member's times");
		must(m.file_weight == was.file_weight && m.run_weight == was.run_weight && m.max_sessions == was.max_sessions && m.marks == was.marks, "a member's numbers");
		must(!strcmp(m.name, was.name) && !memcmp(m.was, was.was, sizeof m.was) && !memcmp(m.at, was.at, sizeof m.at), "a member's names and address");
		members++;
		return;
	}
	some_entries(had, had_hash);
	must(type == KEEPING_SPAN && keeping_read_span(b, &then, &range, &c, hash) && c.n == ENTRIES, "a span");
	must(range.from == 1 && range.to == ((uint64_t)1 << HF_FP_BITS) - 1, "a span's ends");
	for (unsigned i = 0; i < ENTRIES; i++) {
		must(r[i].fp == had[i].fp && hash[i] == had_hash[i] && r[i].flags == had[i].flags && r[i].why == had[i].why, "an entry");
		must(r[i].since_ms == had[i].since_ms && r[i].seen_ms == had[i].seen_ms && r[i].expires_s == had[i].expires_s, "an entry's times");
		must(hf_bytes_eq(r[i].text, had[i].text), "an entry's text");
	}
	spans++;
}

static long read_file(void *arg, uint8_t *p, size_t n)
{
	struct hf_bytes *left = arg;

	n = n < left->n ? n : left->n;
	memcpy(p, left->p, n);
	*left = hf_bytes_sub(*left, n, left->n);
	return (long)n;
}

uint64_t state_digest(void)
{
	const struct hf_member_record m = a_member();
	const struct hf_range range = {1, ((uint64_t)1 << HF_FP_BITS) - 1};
	struct hf_record r[ENTRIES];
	uint32_t hash[ENTRIES];
	struct hf_copy c = {.n = ENTRIES, .r = r};
	uint8_t buf[1024];
	struct hf_writer out = hf_writer_on(file, sizeof file), w = hf_writer_on(buf, sizeof buf);
	struct salvage s = {.read = read_file, .check = salvage_check(key), .each = read_one};
	struct hf_bytes left;

	salvage_key(key, s.key);
	salvage_head(&out, s.check);
	keeping_write_member(&w, &then, 0x0102, &m);
	record_write(&out, s.key, KEEPING_MEMBER, hf_writer_view(&w));
	some_entries(r, hash);
	w = hf_writer_on(buf, sizeof buf);
	keeping_write_span(&w, &then, &range, &c, hash);
	record_write(&out, s.key, KEEPING_SPAN, hf_writer_view(&w));
	left = hf_writer_view(&out);
	s.arg = &left;
	must(salvage_run(&s) == HF_OK && !s.lost && !s.other_key && members == 1 && spans == 1, "its records");
	return hf_sip24(key, hf_writer_view(&out));
}
