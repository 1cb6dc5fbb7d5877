/* The scanner reads sixteen octets at a time: each octet is judged by itself, whatever stands beside it and wherever it stands among them.
 * Breaks when: a bound in scan_line.h or scan_seek.h is off by one, or octets above 127 are let through as letters. */
#include "sip_data.h"

static struct sip_msg msg;
static char text[512];

/* A message in which `part` stands, of which the octet at `at` is c. Returns what the scanner says. */
static enum sip_fault scan(const char *form, const char *part, size_t at, int c)
{
	char changed[128];
	int n;

	memcpy(changed, part, strlen(part) + 1);
	changed[at] = 'X';
	n = snprintf(text, sizeof text, form, changed);
	((char *)memmem(text, (size_t)n, changed, strlen(changed)))[at] = (char)c;
	return data_scan(hf_bytes_of(text, (size_t)n), false, &usual_limits, &msg);
}

static bool is_token(int c) { return c && (strchr("-.!%*_+`'~", c) || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')); }

#define REST "Via: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:a@h>;tag=f\r\nTo: <sip:b@h>\r\nCall-ID: c\r\nCSeq: 1 BYE\r\n"

/* A known name is known in both cases and in no other spelling; one that is not known must be a token all the same. */
static void names(void **state)
{
	static const char *const known[] = {"Expires", "Replaces", "Supported", "Max-Forwards", "Session-Expires", "Subscription-State"};

	(void)state;
	for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
		for (size_t at = 0; known[k][at]; at++)
			for (int c = 0; c < 256; c++) {
				enum sip_fault fault = scan("BYE sip:b@h SIP/2.0\r\n%s:60\r\n" REST "\r\n", known[k], at, c);
				bool same = hf_lower((uint8_t)c) == hf_lower((uint8_t)known[k][at]);
				bool found = msg.has_expires || msg.replaces.p || msg.has_max_forwards || msg.has_session_expires || msg.subscription_state.p;

				assert_int_equal(found, same && k != 2);
				if (c == ':' || c == ' ' || c == '\t') /* the name ends there, if there is one, and is another */
					continue;
				if ((fault == SIP_GOOD) != is_token(c))
					fail_msg("%s, octet %zu is %d: %d", known[k], at, c, fault);
			}
}

/* The value of a parameter ends at blanks, ; " < and , and nowhere else. */
static void values(void **state)
{
	static const char branch[] = "z9hG4bK-0123456789-abcdefg";

	(void)state;
	for (size_t at = 7; at < sizeof branch - 1; at++)
		for (int c = 1; c < 256; c++) {
			(void)scan("BYE sip:b@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=%s;x=y\r\n" REST "\r\n", branch, at, c);
			if (msg.via[0].branch.n != (strchr(" \t\r\n;\"<,", c) ? at : sizeof branch - 1) && c != '\n' && c != '\r')
				fail_msg("octet %zu is %d: %zu", at, c, msg.via[0].branch.n);
		}
}

/* No blank and no control octet stands in an address. */
static void addresses(void **state)
{
	static const char address[] = "sip:alice.and.bob@example.com";

	(void)state;
	for (size_t at = 0; at < sizeof address - 1; at++)
		for (int c = 0; c < 256; c++) {
			enum sip_fault fault = scan("BYE sip:b@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <%s>;tag=f\r\nTo: <sip:b@h>\r\nCall-ID: c\r\n"
				"CSeq: 1 BYE\r\n\r\n", address, at, c);

			if (c != '>' && (fault == SIP_GOOD) != (c > ' ' && c != 127))
				fail_msg("octet %zu is %d: %d", at, c, fault);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(values), cmocka_unit_test(addresses)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
