/* The SIP front, as protocols/fronts.c sees it. */
#ifndef HOLDFAST_SIP_H
#define HOLDFAST_SIP_H

#include "holdfast/front.h"

extern const struct hf_front hf_sip_front;

#endif
