/* The gateway as a program (app floor): what main calls. Everything here runs on the main thread, which is the control thread. */
#ifndef HOLDFAST_APP_H
#define HOLDFAST_APP_H

#include <stdbool.h>

/* How a run ended; also the exit codes of `holdfast`. */
enum hf_exit {
	HF_EXIT_DONE = 0,
	HF_EXIT_CONFIG = 1, /* the configuration, the secret or the state was refused */
	HF_EXIT_USAGE = 2,
	HF_EXIT_SYSTEM = 3, /* a listener, file or socket cannot be opened */
};

struct hf_app_args {
	const char *file;     /* of the configuration */
	bool accept_new_hash; /* another hash key than the state was written with is taken */
};

/* Runs until SIGTERM or SIGINT. What is found in the file goes to stderr, all else to the log. */
enum hf_exit hf_app_run(const struct hf_app_args *args);
/* The verdict of a start, with nothing opened or written. */
enum hf_exit hf_app_check(const struct hf_app_args *args);
/* Every option with its help and default, to stdout, as a file that is itself valid. */
enum hf_exit hf_app_print_config(void);

#endif
