/* Answers that are tables, and how they look to people; see show.h. */
#include "show.h"

/* All marks that hold, else the state, and whether the file still has the server. */
static void state_cell(const struct hf_json *s, char cell[128])
{
	struct hf_writer w = hf_writer_on(cell, 127);
	struct hf_json list, v, removed;
	size_t at = 0;

	if (show_get(s, HF_F_MARKS, &list))
		while (hf_json_next(&list, &at, NULL, &v)) {
			hf_w_str(&w, w.n ? "," : "");
			hf_w_printable(&w, v.raw);
		}
	if (!w.n)
		hf_w_str(&w, show_text(s, HF_F_STATE));
	if (show_get(s, HF_F_REMOVED, &removed) && removed.kind == HF_JSON_TRUE)
		hf_w_str(&w, " (removed)");
	cell[w.n] = 0;
}

/* Slots that a server owns, and how much that is of what its weight stands for. */
static void slots_cell(const struct hf_json *s, enum hf_field f, char cell[128])
{
	uint64_t fair = show_number(s, HF_F_FAIR_SLOTS);

	snprintf(cell, 128, "%.40s", show_text(s, f));
	if (fair)
		snprintf(cell, 128, "%.40s (%.2f)", show_text(s, f), (double)show_number(s, f) / (double)fair);
}

/* A server's row; a weight that is not the file's says so, and a server that the file has no more. */
enum { COLUMNS = 14 };
static bool row(const struct hf_json *s, char cell[COLUMNS][128])
{
	static const enum hf_field plain[COLUMNS] = {HF_F_POOL, HF_F_NAME, HF_F_TRANSPORT, HF_F_ADDRESS, HF_F_STATE, HF_F_SINCE_S, HF_F_WEIGHT,
		HF_F_SESSIONS, HF_F_FLOWS, HF_F_CAP, HF_F_SLOTS, HF_F_DEADLINE_S, HF_F_AGENT, HF_F_LAST_FAILURE};
	struct hf_json v, said;

	for (unsigned i = 0; i < COLUMNS; i++)
		snprintf(cell[i], sizeof cell[i], "%s", show_text(s, plain[i]));
	state_cell(s, cell[4]);
	snprintf(cell[5], sizeof cell[5], "%s", show_duration(show_number(s, HF_F_SINCE_S)));
	if (show_number(s, HF_F_WEIGHT) != show_number(s, HF_F_FILE_WEIGHT))
		snprintf(cell[6], sizeof cell[6], "%.40s (file %.40s)", show_text(s, HF_F_WEIGHT), show_text(s, HF_F_FILE_WEIGHT));
	if (show_number(s, HF_F_QUEUED))
		snprintf(cell[8], sizeof cell[8], "%.40s (%.40s wait)", show_text(s, HF_F_FLOWS), show_text(s, HF_F_QUEUED));
	slots_cell(s, HF_F_SLOTS, cell[10]);
	if (show_get(s, HF_F_DEADLINE_S, &v) && v.kind == HF_JSON_NUMBER)
		snprintf(cell[11], sizeof cell[11], "%s", show_duration(show_number(s, HF_F_DEADLINE_S)));
	if (show_get(s, HF_F_AGENT, &v) && v.kind == HF_JSON_OBJECT && show_get(&v, HF_F_SAID_S, &said) && said.kind == HF_JSON_NUMBER)
		snprintf(cell[12], sizeof cell[12], "%.80s (%.20s ago)", show_text(&v, HF_F_SAID), show_duration(show_number(&v, HF_F_SAID_S)));
	else
		snprintf(cell[12], sizeof cell[12], "%s", v.kind == HF_JSON_OBJECT ? "said nothing" : "-");
	if (show_get(s, HF_F_LAST_FAILURE_S, &v) && v.kind == HF_JSON_NUMBER)
		snprintf(cell[13], sizeof cell[13], "%.80s (%.20s ago)", show_text(s, HF_F_LAST_FAILURE), show_duration(show_number(s, HF_F_LAST_FAILURE_S)));
	else
		snprintf(cell[13], sizeof cell[13], "-");
	return true;
}

/* Rows in columns as wide as they need; the last is not padded. fill answers false for what is no row. */
static void show_table(const char *const *head, unsigned columns, const struct hf_json *list, bool (*fill)(const struct hf_json *item, char cell[COLUMNS][128]))
{
	char cell[COLUMNS][128];
	size_t width[COLUMNS], at = 0;
	struct hf_json v;

	for (unsigned i = 0; i < columns; i++)
		width[i] = strlen(head[i]);
	while (hf_json_next(list, &at, NULL, &v))
		for (unsigned i = 0; fill(&v, cell) && i < columns; i++)
			width[i] = strlen(cell[i]) > width[i] ? strlen(cell[i]) : width[i];
	for (unsigned i = 0; i < columns; i++)
		snprintf(cell[i], sizeof cell[i], "%s", head[i]);
	at = 0;
	do {
		for (unsigned i = 0; i + 1 < columns; i++)
			printf("%-*s  ", (int)width[i], cell[i]);
		printf("%s\n", cell[columns - 1]);
	} while (hf_json_next(list, &at, NULL, &v) && fill(&v, cell));
}

void show_servers(const struct hf_json *a)
{
	static const char *const head[COLUMNS] = {"POOL", "SERVER", "VIA", "ADDRESS", "STATE", "FOR", "WEIGHT", "SESSIONS", "FLOWS", "CAP", "SLOTS", "OFF IN", "AGENT", "LAST FAILURE"};
	struct hf_json list;

	if (show_get(a, HF_F_SERVERS, &list))
		show_table(head, COLUMNS, &list, row);
}

static bool session_row(const struct hf_json *s, char cell[COLUMNS][128])
{
	struct hf_json v;
	bool table = show_get(s, HF_F_FLOWS, &v), other = table && show_get(s, HF_F_COUNTED, &v) && v.kind == HF_JSON_FALSE;

	snprintf(cell[0], sizeof cell[0], "%.120s", show_get(s, HF_F_KEY, &v) && v.kind == HF_JSON_STRING ? show_text(s, HF_F_KEY) : show_text(s, HF_F_FINGERPRINT));
	snprintf(cell[1], sizeof cell[1], "%s", show_text(s, HF_F_SERVER));
	snprintf(cell[2], sizeof cell[2], "%.40s%s%s", show_text(s, HF_F_STATE), other ? " (other name)" : "", show_get(s, HF_F_TENTATIVE, &v) && v.kind == HF_JSON_TRUE ? " (unproved)" : "");
	snprintf(cell[3], sizeof cell[3], "%s", table ? show_text(s, HF_F_FLOWS) : "-");
	snprintf(cell[4], sizeof cell[4], "%s", table ? show_duration(show_number(s, HF_F_SINCE_S)) : "-");
	snprintf(cell[5], sizeof cell[5], "%s", table ? show_duration(show_number(s, HF_F_SEEN_S)) : "-");
	snprintf(cell[6], sizeof cell[6], "%s", table ? show_text(s, HF_F_WHY) : "-");
	snprintf(cell[7], sizeof cell[7], "%s", show_duration(show_number(s, HF_F_EXPIRES_S)));
	return true;
}

/* A user with two names is one session. */
static void session_count(const struct hf_json *p)
{
	uint64_t more = show_number(p, HF_F_MATCHING) - show_number(p, HF_F_COUNTED);
	struct hf_json v;

	printf("pool %s: %s sessions, %s of them live", show_text(p, HF_F_NAME), show_text(p, HF_F_COUNTED), show_text(p, HF_F_CONNECTED));
	if (show_get(p, HF_F_DEADLINE_S, &v) && v.kind == HF_JSON_NUMBER)
		printf("; %s is off in %s", show_text(p, HF_F_SERVER), show_duration(show_number(p, HF_F_DEADLINE_S)));
	if (more)
		printf("; %llu more entr%s: other names of them, or over and still remembered", (unsigned long long)more, more == 1 ? "y" : "ies");
	printf("\n");
}

void show_sessions(const struct hf_json *a)
{
	static const char *const head[] = {"SESSION", "SERVER", "STATE", "FLOWS", "SINCE", "SEEN", "WHY", "ENDS IN"};
	struct hf_json pools, p, list, v;
	size_t at = 0;

	if (!show_get(a, HF_F_POOLS, &pools))
		return;
	while (hf_json_next(&pools, &at, NULL, &p)) {
		size_t k = 0, n = 0;

		session_count(&p);
		if (!show_get(&p, HF_F_SESSIONS, &list) || !hf_json_next(&list, &k, NULL, &v))
			continue;
		show_table(head, 8, &list, session_row);
		for (k = 0; hf_json_next(&list, &k, NULL, &v);)
			n++;
		if (n < show_number(&p, HF_F_MATCHING))
			printf("... and %llu more (--limit)\n", (unsigned long long)(show_number(&p, HF_F_MATCHING) - n));
	}
}

static bool foreseen_row(const struct hf_json *s, char cell[COLUMNS][128])
{
	static const enum hf_field plain[] = {HF_F_NAME, HF_F_STATE, HF_F_WEIGHT, HF_F_SLOTS_BEFORE, HF_F_SLOTS_AFTER, HF_F_SESSIONS_BEFORE, HF_F_SESSIONS_AFTER};

	for (unsigned i = 0; i < 7; i++)
		snprintf(cell[i], sizeof cell[i], "%s", show_text(s, plain[i]));
	state_cell(s, cell[1]);
	slots_cell(s, HF_F_SLOTS_AFTER, cell[4]);
	return true;
}

static double share(uint64_t part, uint64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0; }

void show_simulation(const struct hf_json *a)
{
	static const char *const head[] = {"SERVER", "STATE", "WEIGHT", "SLOTS", "AFTER", "SESSIONS", "LATER"};
	struct hf_json list;
	uint64_t entries = show_number(a, HF_F_ENTRIES);

	printf("%s %s in pool %s; nothing has been changed\n", show_text(a, HF_F_CHANGE), show_text(a, HF_F_SERVER), show_text(a, HF_F_POOL));
	printf("  keys that would move                 %.2f %%, %.2f %% between servers that are not changed\n", share(show_number(a, HF_F_SLOTS_MOVED), show_number(a, HF_F_SLOTS)),
	       share(show_number(a, HF_F_SLOTS_ASTRAY), show_number(a, HF_F_SLOTS)));
	printf("  sessions that would move             %s of %s\n", show_text(a, HF_F_ENTRIES_MOVED), show_text(a, HF_F_ENTRIES));
	printf("  sessions away from their slot's owner  %s now, %s after (%.2f %%)\n", show_text(a, HF_F_EXCEPTIONS_BEFORE), show_text(a, HF_F_EXCEPTIONS_AFTER),
	       share(show_number(a, HF_F_EXCEPTIONS_AFTER), entries));
	printf("  LATER is when %s new ones have come and as many old ones have gone; %.2f %% of the new ones would find their owner full\n",
	       show_text(a, HF_F_ARRIVALS), share(show_number(a, HF_F_SPILLED), show_number(a, HF_F_ARRIVALS)));
	if (show_get(a, HF_F_SERVERS, &list))
		show_table(head, 7, &list, foreseen_row);
}

static bool trace_row(const struct hf_json *m, char cell[COLUMNS][128])
{
	bool out = strcmp(show_text(m, HF_F_WAY), "out") == 0;
	struct hf_json v;

	snprintf(cell[0], sizeof cell[0], "%llu.%03llu", (unsigned long long)(show_number(m, HF_F_AFTER_US) / 1000), (unsigned long long)(show_number(m, HF_F_AFTER_US) % 1000));
	snprintf(cell[1], sizeof cell[1], "%s", out ? "<-" : "->");
	snprintf(cell[2], sizeof cell[2], "%.100s", show_text(m, HF_F_PEER));
	snprintf(cell[3], sizeof cell[3], "%s", show_text(m, HF_F_TRANSPORT));
	snprintf(cell[4], sizeof cell[4], "%s", show_text(m, HF_F_PORT));
	snprintf(cell[5], sizeof cell[5], "%s", show_text(m, HF_F_SERVER));
	if (show_get(m, HF_F_CODE, &v) && v.kind == HF_JSON_NUMBER)
		snprintf(cell[6], sizeof cell[6], "%.20s (%.40s)", show_text(m, HF_F_CODE), show_text(m, HF_F_METHOD));
	else
		snprintf(cell[6], sizeof cell[6], "%.60s", show_text(m, HF_F_METHOD));
	snprintf(cell[7], sizeof cell[7], "%s", show_text(m, HF_F_WHY));
	return true;
}

void show_trace(const struct hf_json *a)
{
	static const char *const head[] = {"MS", "", "PEER", "VIA", "OUR PORT", "SERVER", "MESSAGE", "WHY"};
	struct hf_json list, first;
	size_t at = 0;

	if (!show_get(a, HF_F_MESSAGES, &list) || !hf_json_next(&list, &at, NULL, &first))
		return;
	printf("%s, %s ago; -> came to us, <- left us\n", show_text(a, HF_F_KEY), show_duration(show_number(&first, HF_F_AGE_MS) / 1000));
	show_table(head, 8, &list, trace_row);
}
