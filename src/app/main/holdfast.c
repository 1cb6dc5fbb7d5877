/* The gateway's main: reads the command line and calls app. Which protocols there are is linked in (protocols/fronts.c). */
#include <getopt.h>
#include <stdio.h>

#include "holdfast/app.h"

enum { OPT_CHECK = 256, OPT_PRINT, OPT_ACCEPT };

static const struct option options[] = {
	{"config", required_argument, NULL, 'c'},
	{"check", no_argument, NULL, OPT_CHECK},
	{"print-config", no_argument, NULL, OPT_PRINT},
	{"accept-new-hash", no_argument, NULL, OPT_ACCEPT},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static void usage(FILE *to)
{
	fputs("usage: holdfast -c FILE [--check] [--accept-new-hash]\n"
	      "       holdfast --print-config | --version | --help\n"
	      "  -c FILE             run with this configuration, in the foreground\n"
	      "  --check             say whether a start would take the file, and open nothing\n"
	      "  --accept-new-hash   start although the cluster's hash key is another one than at the last start\n"
	      "  --print-config      print every option with its help and default\n",
	      to);
}

int main(int argc, char **argv)
{
	struct hf_app_args args = {0};
	int c, mode = 0;

	while ((c = getopt_long(argc, argv, "c:Vh", options, NULL)) != -1) {
		switch (c) {
		case 'c': args.file = optarg; break;
		case OPT_ACCEPT: args.accept_new_hash = true; break;
		case OPT_CHECK:
		case OPT_PRINT:
		case 'V':
		case 'h': mode = c; break;
		default: usage(stderr); return HF_EXIT_USAGE;
		}
	}
	if (mode == 'h')
		return usage(stdout), HF_EXIT_DONE;
	if (mode == 'V')
		return puts("holdfast " HF_VERSION) < 0 ? HF_EXIT_SYSTEM : HF_EXIT_DONE;
	if (optind == argc && mode == OPT_PRINT)
		return (int)hf_app_print_config();
	if (optind < argc || !args.file || !*args.file) {
		if (optind < argc)
			fprintf(stderr, "holdfast: '%s' is no option; a configuration is given with -c FILE\n", argv[optind]);
		else
			fputs("holdfast: -c FILE is missing\n", stderr);
		usage(stderr);
		return HF_EXIT_USAGE;
	}
	return (int)(mode == OPT_CHECK ? hf_app_check(&args) : hf_app_run(&args));
}
