/* The records of members in the mapping: what a restart must find of a pool's servers. It must not know what a mark or weight means.
 * Control thread; views read records under names_lock. */
#include "inside.h"

_Static_assert(sizeof(struct hf_member_record) == 200, "octets of the mapping: another layout, another REGION_MAGIC");

/* The record stands whole in the redo area before an octet of the old one changes: who comes after a death in between finishes it. */
void kept_write(struct hf_engine *e, uint16_t id, const struct hf_member_record *r)
{
	struct region_head *h = e->head;

	if (id > h->last_id) /* before its name, for who comes after a death here */
		h->last_id = id;
	h->redo = *r;
	atomic_store_explicit(&h->redo_id, id, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	spin_lock(&e->names_lock);
	e->kept[id] = *r;
	spin_unlock(&e->names_lock);
	atomic_store_explicit(&h->redo_id, 0, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
}

/* ---- names: old cookies may come yet, when a line tells nothing of a former name any more ---- */

struct hf_bytes hf_member_former(const struct hf_member_record *r, unsigned n)
{
	size_t at = 0;

	while (n-- && r->was[at])
		at += strlen(r->was + at) + 1;
	return hf_bytes_str(at <= HF_NAME_MAX ? r->was + at : "");
}

/* Its former names with `first` before them (or empty), and without `name`. */
static void list_former(struct hf_member_record *r, struct hf_bytes first, struct hf_bytes name)
{
	char was[HF_NAME_MAX + 1] = {0};
	struct hf_bytes x = first;
	size_t at = 0;

	for (unsigned n = 0, put = 0; n == 0 || x.n; x = hf_member_former(r, n++)) {
		if (!x.n || hf_bytes_eq(x, name) || (n && hf_bytes_eq(x, first)))
			continue;
		if (at + x.n > HF_NAME_MAX || put++ == HF_FORMER_MAX)
			break;
		memcpy(was + at, x.p, x.n);
		at += x.n + 1;
	}
	memcpy(r->was, was, sizeof was);
}

static bool was_called(const struct hf_member_record *r, struct hf_bytes name)
{
	for (unsigned n = 0; hf_member_former(r, n).n; n++)
		if (hf_bytes_eq(hf_member_former(r, n), name))
			return true;
	return false;
}

void hf_member_rename(struct hf_member_record *r, struct hf_bytes name, struct hf_bytes was)
{
	struct hf_bytes had = hf_bytes_str(r->name);
	bool renamed = !hf_bytes_eq(had, name);

	if (renamed)
		list_former(r, had, name);
	if (!was_called(r, was))
		list_former(r, was, name);
	if (!renamed)
		return;
	memset(r->name, 0, sizeof r->name);
	memcpy(r->name, name.p, name.n);
}

void kept_former(struct hf_engine *e, uint16_t id)
{
	struct hf_bytes name = hf_bytes_str(e->kept[id].name);

	for (uint16_t other = 1; other <= last_id(e); other++) {
		struct hf_member_record r = e->kept[other];

		if (!e->member[other].used || !was_called(&r, name))
			continue;
		list_former(&r, HF_NONE, name);
		kept_write(e, other, &r);
	}
}

/* ---- reading them again ---- */

bool kept_sound(const struct hf_member_record *r)
{
	return r->name[0] && !r->name[HF_NAME_MAX] && !r->was[HF_NAME_MAX] && r->file_weight <= 256 && (r->run_weight <= 256 || r->run_weight == HF_WEIGHT_FILE);
}

void kept_load(struct hf_engine *e)
{
	struct region_head *h = e->head;
	uint32_t redo = h->redo_id;

	if (redo && redo <= HF_SERVERS_MAX)
		e->kept[redo] = h->redo;
	h->redo_id = 0;
	for (uint16_t id = 1; id <= HF_SERVERS_MAX && id <= h->last_id; id++) {
		e->hot[id].state = HF_STATE_OFF;
		if (!kept_sound(&e->kept[id])) {
			memset(&e->kept[id], 0, sizeof e->kept[id]);
			continue;
		}
		e->member[id].used = true;
		e->last_id = id;
	}
}

bool hf_engine_record(struct hf_engine *e, uint16_t id, struct hf_member_record *r)
{
	if (!id || id > last_id(e) || !e->member[id].used)
		return false;
	spin_lock(&e->names_lock);
	*r = e->kept[id];
	spin_unlock(&e->names_lock);
	return r->name[0] != 0;
}
