/* Fuzz: a state file, in pieces of a size that its first octet names. No record is found that does not stand there, all that is found and all
 * that was passed over is the whole file, and what a second scan of the found records alone finds is the same. */
#include <stdlib.h>

#include "salvage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t hash_key[16] = "fuzz of a state";

struct input { struct hf_bytes left; size_t step; };

static long give(void *arg, uint8_t *p, size_t n)
{
	struct input *in = arg;

	n = n < in->step ? n : in->step;
	n = n < in->left.n ? n : in->left.n;
	if (n)
		memcpy(p, in->left.p, n);
	in->left = hf_bytes_sub(in->left, n, in->left.n);
	return (long)n;
}

struct found { struct hf_writer again; uint64_t octets; };

static void each(void *arg, uint16_t type, struct hf_bytes payload)
{
	struct found *f = arg;
	uint8_t key[16];

	salvage_key(hash_key, key);
	record_write(&f->again, key, type, payload);
	f->octets += RECORD_HEAD + payload.n + RECORD_TAIL;
}

static struct salvage salvage_of(struct hf_bytes b, size_t step, struct found *f)
{
	struct input in = {b, step};
	struct salvage s = {.read = give, .arg = &in, .check = salvage_check(hash_key), .each = each, .each_arg = f};

	salvage_key(hash_key, s.key);
	if (salvage_run(&s) != HF_OK || s.broken)
		abort();
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct found first = {{0}, 0}, second;
	struct salvage s, again;
	uint8_t *p = malloc(2 * (size + 1));

	if (!p || size == 0)
		goto out;
	first.again = hf_writer_on(p, size);
	second = (struct found){hf_writer_on(p + size, size), 0};
	s = salvage_of(hf_bytes_of(data + 1, size - 1), data[0] ? data[0] : size, &first);
	if (first.again.full || s.lost + first.octets > size || (!s.other_key && s.lost + first.octets + 28 < size - 1))
		abort();
	again = salvage_of(hf_writer_view(&first.again), size, &second);
	if (again.records != s.records || again.lost)
		abort();
out:
	free(p);
	return 0;
}
