/* Files that TLS is made of, as text and octets: what is in them is the library's to judge. Control thread. */
#ifndef NET_TLS_FILE_H
#define NET_TLS_FILE_H

#include "holdfast/hash.h"
#include "holdfast/writer.h"

#define TLS_PATH 1025
/* As a C string. False: there is none, or it is longer than the options allow. */
bool tls_path(struct hf_bytes file, char out[TLS_PATH]);
/* Can it be read, and is anything in it? False: why = "OPTION FILE: what the system says". */
bool tls_file_there(const char *option, struct hf_bytes file, struct hf_writer *why);
/* What is in it goes into a hash: the same name may hold another certificate tomorrow. Without a file nothing but that does. */
void tls_file_mix(struct hf_sip *h, struct hf_bytes file);
/* Writes "OPTION FILE: WHAT TEXT"; returns false. */
bool tls_file_bad(struct hf_writer *why, const char *option, struct hf_bytes file, const char *what, const char *text);

#endif
