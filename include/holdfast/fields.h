/* The names of the fields in answers of the admin socket and in the session log: one table for who writes them and who reads them (base floor). */
#ifndef HOLDFAST_FIELDS_H
#define HOLDFAST_FIELDS_H

#define HF_FIELDS(X) \
	X(OK, "ok") X(ERROR, "error") X(FINDINGS, "findings") \
	X(VERSION, "version") X(BOOT, "boot") X(PID, "pid") X(UPTIME_S, "uptime_s") X(WORKERS, "workers") \
	X(CONFIG_FILE, "config_file") X(CONFIG_GENERATION, "config_generation") \
	X(SERVICES, "services") X(PROTOCOL, "protocol") X(LISTEN, "listen") X(PARCELS, "parcels") X(DROPS, "drops") \
	X(POOLS, "pools") X(AFFINITY, "affinity") X(HASH, "hash") X(ENTRIES, "entries") X(EXCEPTIONS, "exceptions") X(MAX_ENTRIES, "max_entries") \
	X(STORE, "store") X(CONDITION, "condition") X(AGE_MS, "age_ms") X(LOG_OCTETS, "log_octets") X(FILE_OCTETS, "file_octets") \
	X(SERVERS, "servers") X(POOL, "pool") X(NAME, "name") X(ADDRESS, "address") X(TRANSPORT, "transport") X(STATE, "state") \
	X(WEIGHT, "weight") X(FILE_WEIGHT, "file_weight") X(SESSIONS, "sessions") X(CAP, "cap") X(SLOTS, "slots") X(SINCE_S, "since_s") \
	X(LAST_FAILURE, "last_failure") X(LAST_FAILURE_S, "last_failure_s") X(REMOVED, "removed") \
	X(AGENT, "agent") X(SAID, "said") X(SAID_S, "said_s") X(PERCENT, "percent") X(MAX_SESSIONS, "max_sessions") \
	X(MARKS, "marks") X(DEADLINE_S, "deadline_s") X(CONNECTING, "connecting") X(QUEUED, "queued") X(WARNING, "warning") \
	X(KEY, "key") X(FINGERPRINT, "fingerprint") X(SLOT, "slot") X(OWNER, "owner") X(SERVER, "server") X(WHY, "why") \
	X(EXPIRES_S, "expires_s") X(RUNNER_UP, "runner_up") X(TOKEN, "token") X(USER, "user") \
	X(STORIES, "stories") X(SERVICE, "service") X(FROM, "from") X(STEPS, "steps") X(STEP, "step") X(VERDICT, "verdict") X(TEXT, "text") \
	X(PASSED, "passed_over") X(LIFE, "life") X(LIFE_S, "life_s") X(OCTETS, "octets") X(REASON, "reason") \
	X(TENTATIVE, "tentative") X(FLOWS, "flows") X(SEEN_S, "seen_s") X(MATCHING, "matching") X(COUNTED, "counted") X(CONNECTED, "connected") \
	X(CHANGE, "change") X(SLOTS_MOVED, "slots_moved") X(SLOTS_ASTRAY, "slots_astray") X(ENTRIES_MOVED, "entries_moved") \
	X(EXCEPTIONS_BEFORE, "exceptions_before") X(EXCEPTIONS_AFTER, "exceptions_after") X(ARRIVALS, "arrivals") X(SPILLED, "spilled") \
	X(BEGIN, "begin") X(DURATION_MS, "duration_ms") X(SOURCE, "source") X(FAILOVERS, "failovers") X(OCTETS_UP, "octets_up") X(OCTETS_DOWN, "octets_down") \
	X(PROVED, "proved") X(FOLLOWS, "follows") X(FOLLOWS_MS, "follows_ms") X(LEGS, "legs") X(FACTS, "facts") X(ANSWERED_MS, "answered_ms") \
	X(CODE, "code") X(ENDED, "ended") X(SESSION_LOG, "session_log") X(FILE, "file") X(WRITTEN, "written") X(LOST, "lost") X(WAITING, "waiting") \
	X(REQUESTS, "requests") X(ANSWERS, "answers") X(PLACED, "placed") X(MESSAGES, "messages") X(AFTER_US, "after_us") X(WAY, "way") X(PEER, "peer") X(PORT, "port") \
	X(METHOD, "method") \
	X(EXPORT, "export") X(SENT, "sent") X(DATAGRAM_FLOWS, "datagram_flows") \
	X(SLOTS_BEFORE, "slots_before") X(SLOTS_AFTER, "slots_after") X(SESSIONS_BEFORE, "sessions_before") X(SESSIONS_AFTER, "sessions_after") \
	X(FAIR_SLOTS, "fair_slots") X(RULE, "rule") X(LED, "led")

enum hf_field {
#define X(e, name) HF_F_##e,
	HF_FIELDS(X)
#undef X
	HF_F_COUNT
};

#endif
