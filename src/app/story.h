/* The story of a message (app floor, inside); see story.c. */
#ifndef APP_STORY_H
#define APP_STORY_H

#include "holdfast/reason.h"
#include "tell.h"

/* Something that is counted on the way, and ends nothing. */
void story_fact(struct teller *t, const struct hf_reason_def *r);
/* One service's, as an item of j. */
void story_tell(struct gateway *g, const struct hf_story *s, struct hf_bytes message, struct json *j);

#endif
