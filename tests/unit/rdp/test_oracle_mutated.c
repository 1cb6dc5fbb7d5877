/* The request reader against libfreerdp's peer on messages that nobody wrote: those of the torture set with a few octets changed, taken
 * out, put in or doubled, from a fixed seed, with the lengths put right again for most. Both must agree on the verdict, the token and the
 * protocols, but where the table says that they differ, and why. A thousand messages; HOLDFAST_FULL=1: twenty thousand.
 * Breaks when a reader of ours takes a token's end, a protocol's octet order or a length otherwise than they do. */
#include "oracle.h"

enum { SEEDS_MAX = 200, ROOM = 600 };

struct case_of { unsigned reason; struct hf_bytes b; struct x224_request r; };

static bool for_reason(const struct case_of *c, unsigned reason) { return c->reason == reason; }
static bool is_class(const struct case_of *c) { return for_reason(c, RDP_R_NOT_CR) && c->b.n > 10 && c->b.p[5] == 0xe0 && c->b.p[10] != 0; }
static bool is_control(const struct case_of *c) { return for_reason(c, RDP_R_CONTROL); }
static bool is_block_length(const struct case_of *c) { return for_reason(c, RDP_R_NEGREQ_LENGTH); }
static bool is_correlation(const struct case_of *c) { return for_reason(c, RDP_R_CORRELATION); }
static bool is_trailing(const struct case_of *c) { return for_reason(c, RDP_R_TRAILING); }
static bool is_credit(const struct case_of *c) { return !c->reason && c->b.p[5] != 0xe0; }
static bool is_both(const struct case_of *c) { return !c->reason && c->r.has_token && c->r.has_cookie; }

static bool is_line(const struct case_of *c)
{
	struct hf_addr a;
	enum token_kind k = c->r.has_token ? token_read(c->r.token, &a) : TOKEN_TEXT;

	return !c->reason && (k == TOKEN_LINE || k == TOKEN_COLLECTION);
}

/* The name of the line is not written as the specification does. */
static bool is_case(const struct case_of *c)
{
	struct hf_bytes line = hf_bytes_sub(c->b, X224_MIN, c->b.n);

	return !c->reason && (c->r.has_token || c->r.has_cookie) && !hf_bytes_starts(line, HF_LIT("Cookie: mstshash=")) && !hf_bytes_starts(line, HF_LIT("Cookie: msts="));
}

/* What it is, what libfreerdp does then (taken or not), and why ours is as it is. */
static const struct { bool (*is)(const struct case_of *c); bool theirs; const char *why; } differ[] = {
	{is_credit, false, "the credit is the host's affair"},
	{is_both, false, "a balancer goes on with the token"},
	{is_line, false, "any line with CR LF is a token"},
	{is_case, false, "other balancers take a name without case"},
	{is_class, true, "classes above 0 are closed"},
	{is_control, true, "readers disagree where a line with a bare CR or LF ends"},
	{is_block_length, true, "a block of another length is malformed"},
	{is_correlation, true, "the flag promises a block of its form"},
	{is_trailing, true, "a block without its flag is trailing octets"},
};
enum { DIFFER = sizeof differ / sizeof differ[0] };

static struct hf_bytes seeds[SEEDS_MAX];
static unsigned n_seeds;

static void keep(const char *file, struct hf_bytes b)
{
	uint8_t *p = malloc(b.n ? b.n : 1);

	(void)file;
	if (n_seeds == SEEDS_MAX || b.n > ROOM / 2)
		free(p);
	else
		seeds[n_seeds++] = hf_bytes_of(memcpy(p, b.p, b.n), b.n);
}

static uint32_t dice;

static uint32_t roll(uint32_t n)
{
	dice = dice * 1664525 + 1013904223;
	return (dice >> 8) % n;
}

/* One change at a place behind the TPKT header, as a rule. */
static void change(uint8_t *p, size_t *n)
{
	static const uint8_t odd[] = {0, 0x0a, 0x0d, ' ', '.', ':', '=', 0x7f, 0xff, 1, 3, 8};
	size_t at = roll(16) ? roll((uint32_t)*n) : roll(5), len = 1 + roll(4);

	switch (roll(5)) {
	case 0: p[at] ^= (uint8_t)(1u << roll(8)); break;
	case 1: p[at] = odd[roll(sizeof odd)]; break;
	case 2: /* out */
		if (*n > at + len + 11) {
			memmove(p + at, p + at + len, *n - at - len);
			*n -= len;
		}
		break;
	case 3: /* in */
		memmove(p + at + 1, p + at, *n - at);
		p[at] = odd[roll(sizeof odd)];
		++*n;
		break;
	default: /* twice */
		if (at + len <= *n) {
			memmove(p + at + len, p + at, *n - at);
			*n += len;
		}
	}
}

static struct hf_bytes mutant(uint8_t buf[ROOM])
{
	struct hf_bytes seed = seeds[roll(n_seeds)];
	size_t n = seed.n;

	memcpy(buf, seed.p, n);
	for (uint32_t i = 1 + roll(3); i && n > 11; i--)
		change(buf, &n);
	if (n >= 11 && n < 260 && roll(8)) { /* else nearly all would end at the lengths */
		buf[0] = 3;
		hf_put16(buf + 2, (uint16_t)n);
		buf[4] = (uint8_t)(n - 5);
		if (roll(4))
			buf[5] = 0xe0;
	}
	return hf_bytes_of(buf, n);
}

static void show(struct hf_bytes b)
{
	for (size_t i = 0; i < b.n; i++)
		print_error("%02x", b.p[i]);
	print_error("\n");
}

static unsigned known[DIFFER + 1], same_taken, same_closed;

static bool agrees(struct hf_bytes b)
{
	struct verdict a = ours(b), o = theirs(b);
	struct case_of c = {.b = b};
	size_t need;

	c.reason = x224_read(b, &c.r, &need);
	if (a.taken && o.taken && a.protocols == o.protocols && strcmp(a.token, o.token) == 0)
		return ++same_taken;
	if (!a.taken && !o.taken)
		return ++same_closed;
	for (unsigned i = 0; i < DIFFER; i++)
		if (a.taken != o.taken && differ[i].theirs == o.taken && differ[i].is(&c))
			return ++known[i];
	print_error("ours: reason %u token '%s' protocols %x; libfreerdp: %s token '%s' protocols %x: ", a.reason, a.token, (unsigned)a.protocols, o.taken ? "taken" : "closed", o.token,
		    (unsigned)o.protocols);
	show(b);
	return false;
}

static void test_mutants(void **state)
{
	const char *full = getenv("HOLDFAST_FULL");
	unsigned rounds = full && strcmp(full, "1") == 0 ? 20000 : 1000, bad = 0;
	uint8_t buf[ROOM];

	(void)state;
	dice = 20;
	each_message(keep);
	assert_true(n_seeds > 60);
	for (unsigned i = 0; i < rounds && bad < 40; i++)
		bad += !agrees(mutant(buf));
	print_message("%u mutants: both take %u, both close %u\n", rounds, same_taken, same_closed);
	for (unsigned i = 0; i < DIFFER; i++)
		print_message("  %u %s by it alone: %s\n", known[i], differ[i].theirs ? "taken" : "closed", differ[i].why);
	assert_int_equal(bad, 0);
	assert_true(same_taken > rounds / 20);
	while (n_seeds)
		done(seeds[--n_seeds]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_mutants)};

	setenv("WLOG_LEVEL", "OFF", 1); /* it logs every bad message */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
