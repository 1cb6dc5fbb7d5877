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
