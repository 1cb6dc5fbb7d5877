/* Runs a fuzz target over files and the files of folders, where there is no libFuzzer; each again at every cut of a short file.
 * Inputs lie in memory of their own length, so that a sanitizer sees one octet beyond. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CUT_MAX 4096 /* longer files run whole only: the plain run stays short */

static void run_one(const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	if (!copy)
		abort();
	memcpy(copy, data, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

static int run_file(const char *path)
{
	static uint8_t buf[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f) {
		perror(path);
		return 1;
	}
	n = fread(buf, 1, sizeof buf, f);
	fclose(f);
	for (size_t cut = n <= CUT_MAX ? 0 : n; cut <= n; cut++)
		run_one(buf, cut);
	return 0;
}

static int run_folder(const char *path, unsigned *files)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[2048];
	int bad = 0;

	if (!d) {
		perror(path);
		return 1;
	}
	while ((e = readdir(d)))
		if (e->d_name[0] != '.') {
			snprintf(name, sizeof name, "%s/%s", path, e->d_name);
			bad |= run_file(name);
			++*files;
		}
	closedir(d);
	return bad;
}

int main(int argc, char **argv)
{
	unsigned files = 0;
	struct stat st;
	int bad = 0;

	for (int i = 1; i < argc; i++)
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
			bad |= run_folder(argv[i], &files);
		} else {
			bad |= run_file(argv[i]);
			files++;
		}
	printf("%u files\n", files);
	return bad || files == 0;
}
