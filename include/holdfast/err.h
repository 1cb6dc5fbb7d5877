/* Errors of calls, and the check for our own mistakes (base floor).
 * Three kinds of wrong are kept apart: a call failed (enum hf_err, must be used), a peer misbehaved or a flow
 * ended (a reason, reason.h), we are wrong (HF_BUG_ON, never for what a peer or operator can cause). */
#ifndef HOLDFAST_ERR_H
#define HOLDFAST_ERR_H

#define HF_MUST_USE __attribute__((warn_unused_result))
#define HF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

enum hf_err {
	HF_OK = 0,
	HF_ENOMEM,   /* no memory, or a bound of our own was reached */
	HF_EINVAL,   /* an argument or a text is not of its form */
	HF_ERANGE,   /* a number is outside its range */
	HF_EEXIST,   /* it is there already */
	HF_ENOENT,   /* there is no such thing */
	HF_EFULL,    /* a bounded table or queue is full */
	HF_EIO,      /* the system refused: errno says why */
	HF_ECLOSED,  /* the other side is gone */
};

/* A short word for an error ("no memory", ...); never NULL. */
const char *hf_err_text(enum hf_err e);

/* Ends the process with a line that names file, line and condition. */
_Noreturn void hf_bug(const char *file, int line, const char *cond);
#define HF_BUG_ON(cond) do { if (cond) hf_bug(__FILE__, __LINE__, #cond); } while (0)

#endif
