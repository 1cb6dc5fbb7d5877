/* The protocols of holdfast-toy: the gateway's own and the toy. */
#include "holdfast/front.h"

#include "rdp/rdp.h"
#include "sip/sip.h"
#include "toy.h"

const struct hf_front *const hf_fronts[] = {&hf_sip_front, &hf_rdp_front, &hf_toy_front, NULL};
