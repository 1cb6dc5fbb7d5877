/* Octets as they are pasted: the same request from every program that shows it, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "holdfast/hexdump.h"

static const uint8_t request[43] = "\x03\x00\x00\x2b\x26\xe0\x00\x00\x00\x00\x00" "Cookie: mstshash=alice\r\n" "\x01\x00\x08\x00\x0b\x00\x00";

static void reads(const char *text)
{
	uint8_t out[64];
	size_t n = 0;

	assert_int_equal(hf_hexdump_read(hf_bytes_str(text), out, sizeof out, &n), HF_OK);
	assert_int_equal(n, sizeof request);
	assert_memory_equal(out, request, n);
}

/* Without take_offset the numbers are octets; without the end of take_octets, or its way over hexdump's middle, the text is, or half a line is lost. */
static void dumps(void **state)
{
	(void)state;
	reads("00000000: 0300 002b 26e0 0000 0000 0043 6f6f 6b69  ...+&......Cooki\n" /* xxd */
	      "00000010: 653a 206d 7374 7368 6173 683d 616c 6963  e: mstshash=alic\n"
	      "00000020: 650d 0a01 0008 000b 0000 00              e..........\n");
	reads("00000000: 03 00 00 2b 26 e0 00 00 00 00 00 43 6f 6f 6b 69 65 3a 20 6d 73 74 73 68 61 73 68 3d 61 6c 69 63  ...+&......Cookie: mstshash=alic\n" /* xxd -g1 -c32 */
	      "00000020: 65 0d 0a 01 00 08 00 0b 00 00 00                                                                 e..........");
	reads("00000000  03 00 00 2b 26 e0 00 00  00 00 00 43 6f 6f 6b 69  |...+&......Cooki|\r\n" /* hexdump -C */
	      "00000010  65 3a 20 6d 73 74 73 68  61 73 68 3d 61 6c 69 63  |e: mstshash=alic|\r\n"
	      "00000020  65 0d 0a 01 00 08 00 0b  00 00 00                 |e..........|\r\n"
	      "0000002b\r\n");
	reads("0000000 03 00 00 2b 26 e0 00 00 00 00 00 43 6f 6f 6b 69\n" /* od -t x1: offsets in eights */
	      "0000020 65 3a 20 6d 73 74 73 68 61 73 68 3d 61 6c 69 63\n"
	      "0000040 65 0d 0a 01 00 08 00 0b 00 00 00\n"
	      "0000053\n");
	reads("\n\t0x0000:  0300 002b 26e0 0000 0000 0043 6f6f 6b69  ...+&......Cooki\n" /* tcpdump -X */
	      "\t0x0010:  653a 206d 7374 7368 6173 683d 616c 6963  e:.mstshash=alic\n"
	      "\t0x0020:  650d 0a01 0008 000b 0000 00              e..........\n");
	reads("0000   03 00 00 2b 26 e0 00 00 00 00 00 43 6f 6f 6b 69   ...+&......Cooki\n" /* Wireshark, hex and ASCII */
	      "0010   65 3a 20 6d 73 74 73 68 61 73 68 3d 61 6c 69 63   e: mstshash=alic\n"
	      "0020   65 0d 0a 01 00 08 00 0b 00 00 00                  e..........\n");
	reads("0000   03 00 00 2b 26 e0 00 00 00 00 00 43 6f 6f 6b 69\n" /* ... and hex alone */
	      "0010   65 3a 20 6d 73 74 73 68 61 73 68 3d 61 6c 69 63\n"
	      "0020   65 0d 0a 01 00 08 00 0b 00 00 00\n");
}

/* Without a mark of between, or inside, nobody reads what is no dump. */
static void digits(void **state)
{
	(void)state;
	reads("0300002B26E0000000000043 6F6F6B69653A206D737473686173683D616C6963650D0A010008000B000000");
	reads("03 00 00 2b 26 e0 00 00 00 00 00 43 6f 6f 6b 69 65 3a 20 6d 73 74 73 68 61 73 68 3d 61 6c 69 63 6\r\n5 0d 0a 01 00 08 00 0b 00 00 00\n"); /* a terminal broke it */
	reads("03:00:00:2b:26:e0:00:00:00:00:00:43:6f:6f:6b:69:65:3a:20:6d:73:74:73:68:61:73:68:3d:61:6c:69:63:65:0d:0a:01:00:08:00:0b:00:00:00");
	reads("0x0300002b26e0000000000043 0x6f6f6b69653a206d737473686173683d616c6963650d0a010008000b000000");
	reads("\"\\x03\\x00\\x00\\x2b\\x26\\xe0\\x00\\x00\\x00\\x00\\x00\\x43\\x6f\\x6f\\x6b\\x69\\x65\\x3a\\x20\\x6d\\x73\\x74\\x73\\x68\\x61\\x73\\x68\"\n"
	      "\"\\x3d\\x61\\x6c\\x69\\x63\\x65\\x0d\\x0a\\x01\\x00\\x08\\x00\\x0b\\x00\\x00\\x00\";");
	reads("/* Frame (43 bytes) */\nstatic const unsigned char pkt1[43] = {\n0x03, 0x00, 0x00, 0x2b, 0x26, 0xe0, 0x00, 0x00, /* ...+&... */\n"
	      "0x00, 0x00, 0x00, 0x43, 0x6f, 0x6f, 0x6b, 0x69, 0x65, 0x3a, 0x20, 0x6d, 0x73, 0x74, 0x73, 0x68, 0x61, 0x73, 0x68,\n"
	      "0x3d, 0x61, 0x6c, 0x69, 0x63, 0x65, 0x0d, 0x0a, 0x01, 0x00, 0x08, 0x00, 0x0b, 0x00, 0x00, 0x00\n};\n");
	reads("03-00-00-2B-26-E0-00-00-00-00-00-43-6F-6F-6B-69-65-3A-20-6D-73-74-73-68-61-73-68-3D-61-6C-69-63-65-0D-0A-01-00-08-00-0B-00-00-00");
}

static enum hf_err result(const char *text, size_t cap, size_t want)
{
	uint8_t out[96];
	size_t n = 99;
	enum hf_err e = hf_hexdump_read(hf_bytes_str(text), out, cap, &n);

	assert_int_equal(n, e == HF_OK ? want : 99);
	return e;
}

/* A line that is missing, or text taken for octets, shows by the next offset; lines that hexdump left out are written. Never more than cap. */
static void others(void **state)
{
	(void)state;
	assert_int_equal(result("00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n00000030  01\n00000031\n", 96, 49), HF_OK);
	assert_int_equal(result("00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n00000030  01\n", 32, 0), HF_EFULL);
	assert_int_equal(result("00000000  00 00\n*\n00000030  01\n", 96, 0), HF_EINVAL);
	assert_int_equal(result("00000000: 0300 002b  ...+\n00000010: 0000  ..\n", 96, 0), HF_EINVAL);
	assert_int_equal(result("00000000: 0300 002b  ...+\nno offset\n", 96, 0), HF_EINVAL);
	assert_int_equal(result("0000 0000", 96, 4), HF_OK); /* four octets, no offset */
	assert_int_equal(result("00000000", 96, 4), HF_OK);
	assert_int_equal(result("", 96, 0), HF_OK);
	assert_int_equal(result("030", 96, 0), HF_EINVAL);
	assert_int_equal(result("0 3", 96, 0), HF_EINVAL);
	assert_int_equal(result("0g", 96, 0), HF_EINVAL);
	assert_int_equal(result("03 00 /* no end", 96, 0), HF_EINVAL);
	assert_int_equal(result("0300", 1, 0), HF_EFULL);
	assert_int_equal(result("0x", 96, 0), HF_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(dumps), cmocka_unit_test(digits), cmocka_unit_test(others)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
