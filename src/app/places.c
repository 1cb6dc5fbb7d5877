/* Directories, the admin socket's path and the user to become. Called at start; --check uses places_find alone, which changes nothing. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "gateway.h"
#include "holdfast/log.h"
#include "report.h"

static void finding(struct hf_findings *f, const char *text)
{
	report_add(f, true, hf_bytes_str(text));
}

static void copy(char *to, size_t n, struct hf_bytes b)
{
	snprintf(to, n, "%.*s", (int)b.n, (const char *)b.p);
}

static void find_user(struct places *p, struct hf_bytes name, struct hf_findings *f)
{
	char text[160];
	struct passwd *pw;

	copy(p->user, sizeof p->user, name);
	if (name.n == 0)
		return;
	pw = getpwnam(p->user);
	if (!pw) {
		snprintf(text, sizeof text, "user: there is no user %s on this system", p->user);
		finding(f, text);
		return;
	}
	p->uid = pw->pw_uid;
	p->gid = pw->pw_gid;
	if (geteuid() == 0 || geteuid() == p->uid)
		return;
	snprintf(text, sizeof text, "user: only root can become %s; the gateway stays who starts it", p->user);
	report_add(f, false, hf_bytes_str(text));
}

/* The directory that a path stands in. */
static void above(const char *path, char *up, size_t size)
{
	size_t n = strlen(path);

	while (n && path[n - 1] == '/')
		n--;
	while (n && path[n - 1] != '/')
		n--;
	while (n > 1 && path[n - 1] == '/')
		n--;
	snprintf(up, size, "%.*s", n ? (int)n : 1, n ? path : ".");
}

/* Is it there, or can it be made? `before` is made earlier. What we may not look at is left to the start. */
static void check_dir(const char *option, const char *path, const char *before, struct hf_findings *f)
{
	char up[PATH_MAX], text[256];
	struct stat st;

	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return;
		snprintf(text, sizeof text, "%s: %.150s is there and is no directory", option, path);
		finding(f, text);
		return;
	}
	if (errno != ENOENT)
		return;
	above(path, up, sizeof up);
	if (strcmp(up, before) == 0 || stat(up, &st) == 0 || errno != ENOENT)
		return;
	snprintf(text, sizeof text, "%s: cannot make %.150s: the directory above it is missing, make that first", option, path);
	finding(f, text);
}

enum hf_err places_find(const struct hf_conf_gateway *conf, struct places *p, struct hf_findings *f)
{
	unsigned before = f->errors;

	memset(p, 0, sizeof *p);
	copy(p->state, sizeof p->state, conf->state_dir);
	hf_conf_run_dir(conf, p->run, sizeof p->run);
	if (!conf->admin_off)
		hf_conf_admin_socket(conf, p->admin, sizeof p->admin);
	copy(p->secret, sizeof p->secret, conf->cluster_secret_file);
	p->secret_ours = conf->cluster_secret_file.n == 0;
	if (p->secret_ours && (size_t)snprintf(p->secret, sizeof p->secret, "%.*s/cluster.secret", (int)conf->state_dir.n, (const char *)conf->state_dir.p) >= sizeof p->secret)
		finding(f, "state-dir: the path is too long");
	if (strlen(p->admin) >= sizeof ((struct sockaddr_un *)0)->sun_path)
		finding(f, "admin-socket: the path is longer than the 107 octets that the system allows for a socket");
	find_user(p, conf->user, f);
	check_dir("state-dir", p->state, "", f);
	check_dir("run-dir", p->run, p->state, f);
	return f->errors > before ? HF_EINVAL : HF_OK;
}

bool places_change_user(const struct places *p) { return p->user[0] && geteuid() == 0; }

/* Where everybody may make names (/tmp, /dev/shm), somebody else can have made this one before us, as a directory or a link. */
static bool is_foreign(const struct places *p, const char *path)
{
	char up[PATH_MAX];
	struct stat st;

	above(path, up, sizeof up);
	if (stat(up, &st) != 0 || !(st.st_mode & S_IWOTH) || lstat(path, &st) != 0)
		return false;
	return st.st_uid != 0 && st.st_uid != geteuid() && !(places_change_user(p) && st.st_uid == p->uid);
}

static enum hf_err make_dir(const struct places *p, const char *option, const char *path, struct hf_writer *why)
{
	struct stat st;

	if (mkdir(path, 0750) == 0) {
		if (!places_change_user(p) || chown(path, p->uid, p->gid) == 0)
			return HF_OK;
	} else if (errno == EEXIST && is_foreign(p, path)) {
		hf_w_printf(why, "%s: %.800s belongs to another user, and everybody may write above it: remove it, or choose another place", option, path);
		return HF_EIO;
	} else if (errno == EEXIST && stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return HF_OK;
		errno = ENOTDIR;
	}
	hf_w_printf(why, "%s: cannot make %.800s: %s", option, path, strerror(errno));
	return HF_EIO;
}

enum hf_err places_make(const struct places *p, struct hf_writer *why)
{
	enum hf_err e = make_dir(p, "state-dir", p->state, why);

	return e != HF_OK ? e : make_dir(p, "run-dir", p->run, why);
}

void places_be_user(const struct places *p, bool user)
{
	if (user && (initgroups(p->user, p->gid) < 0 || setegid(p->gid) < 0 || seteuid(p->uid) < 0))
		hf_log(HF_LOG_WARN, "event=user user=%s error=\"%m\"", p->user); /* places_drop_root will fail so too */
	if (!user && (seteuid(0) < 0 || setegid(getgid()) < 0 || setgroups(0, NULL) < 0)) /* root needs none */
		hf_log(HF_LOG_WARN, "event=user user=root error=\"%m\"");
}

enum hf_err places_drop_root(const struct places *p, struct hf_writer *why)
{
	if (!places_change_user(p))
		return HF_OK;
	if (initgroups(p->user, p->gid) == 0 && setgid(p->gid) == 0 && setuid(p->uid) == 0 && (p->uid == 0 || setuid(0) < 0))
		return HF_OK;
	hf_w_printf(why, "user: cannot become %s: %s", p->user, strerror(errno));
	return HF_EIO;
}
