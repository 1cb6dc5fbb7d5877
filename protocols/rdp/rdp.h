/* The RDP front, as protocols/fronts.c sees it. */
#ifndef HOLDFAST_RDP_H
#define HOLDFAST_RDP_H

#include "holdfast/front.h"

extern const struct hf_front hf_rdp_front;

#endif
