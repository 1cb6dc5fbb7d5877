/* The protocols of the gateway: a third one is a folder beside these and a line here. */
#include "holdfast/front.h"

#include "rdp/rdp.h"
#include "sip/sip.h"

const struct hf_front *const hf_fronts[] = {&hf_sip_front, &hf_rdp_front, NULL};
