/* Makes wrong messages out of right ones: our own small mutator, without coverage and without a model of the protocol.
 * One seed number gives one sequence of messages, as long as nothing is learnt in between. Used by the hammer alone. */
#ifndef MUTATE_H
#define MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEEDS = 1024, WORDS = 96, LEARNT = 64, SEED_MAX = 65000 };

struct piece {
	uint8_t *p;
	size_t n;
};

struct mutator {
	uint64_t state;
	bool text;                   /* lines and headers, or octets with a length in front */
	unsigned n_seeds, n_words;
	struct piece seeds[SEEDS];   /* whole messages */
	struct piece words[WORDS];   /* lines that are put in as they stand */
	struct piece learnt[LEARNT]; /* lines heard from the gateway: Record-Routes come back as Routes */
	unsigned n_learnt;
};

uint32_t mutate_random(struct mutator *m, uint32_t below);
/* Adds every file of a folder that ends so; a dotted quad, with its port, becomes `stranger` in a second copy of a text. False: nothing was found. */
bool mutate_load(struct mutator *m, const char *folder, const char *stranger);
void mutate_word(struct mutator *m, const char *line);
void mutate_learn(struct mutator *m, const uint8_t *p, size_t n);
/* A mutated message in out; none is longer than room. */
size_t mutate(struct mutator *m, uint8_t *out, size_t room);
/* Changes what is in out, from octet `from` on; -> its new length. */
size_t mutate_again(struct mutator *m, uint8_t *out, size_t n, size_t room, size_t from);
/* Changes one octet, or none; -> n. */
size_t mutate_octet(struct mutator *m, uint8_t *p, size_t n);

#endif
