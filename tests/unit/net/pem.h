/* Certificates of the tests, good until 2126: an authority, and two that it vouches for, each with its key behind it. Made by openssl, for the
 * documentation's names: "gw" DNS:gw.example.com, URI:sip:example.com, IP:192.0.2.1; "second" DNS:second.example.com. */
#ifndef TEST_NET_PEM_H
#define TEST_NET_PEM_H

static const char pem_ca[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBiTCCAS+gAwIBAgIUIGUKpRhGVPDfToYhi7vEqlaqM9gwCgYIKoZIzj0EAwIw\n"
	"GTEXMBUGA1UEAwwOY2EuZXhhbXBsZS5jb20wIBcNMjYxMTMwMTMxODU1WhgPMjEy\n"
	"NjExMDYxMzE4NTVaMBkxFzAVBgNVBAMMDmNhLmV4YW1wbGUuY29tMFkwEwYHKoZI\n"
	"zj0CAQYIKoZIzj0DAQcDQgAEMgzpef8qb0PxVBg3ijzTcEIJw96rpiKEpcti7NxT\n"
	"Qp5zMw8RDniS3A0lMRAoeXLbYZPgRf9uJJXYPMzE56X6saNTMFEwHQYDVR0OBBYE\n"
	"FHeWbR59Y1Lmb1BJuzhA74CVov0mMB8GA1UdIwQYMBaAFHeWbR59Y1Lmb1BJuzhA\n"
	"74CVov0mMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAOonn6Rx\n"
	"+vW9tw7ZU7NCFlNIQlyzShEHk7RMqGjnvx78AiBYnJUpn0KdVFch+RyL46E05am9\n"
	"YNtzOpykqO82mo//fQ==\n"
	"-----END CERTIFICATE-----\n";

static const char pem_gw[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBnjCCAUSgAwIBAgIUXlF0/gYgeBOjBBWiNxjMaqYzeDYwCgYIKoZIzj0EAwIw\n"
	"GTEXMBUGA1UEAwwOY2EuZXhhbXBsZS5jb20wIBcNMjYxMTMwMTMxODU1WhgPMjEy\n"
	"NjA3MjkxMzE4NTVaMA0xCzAJBgNVBAMMAmd3MFkwEwYHKoZIzj0CAQYIKoZIzj0D\n"
	"AQcDQgAE6bbJMea1EnvVc3oMdIK4pl5vh3oLjHqO7BCQYRMwwifncB268L+CeTC0\n"
	"njEQ9kM9Q+8LknWPTWpt6mAXVr5fk6N0MHIwMAYDVR0RBCkwJ4IOZ3cuZXhhbXBs\n"
	"ZS5jb22GD3NpcDpleGFtcGxlLmNvbYcEwAACATAdBgNVHQ4EFgQUuCZhdbPIlp+y\n"
	"zvPgR3RCme6oq4kwHwYDVR0jBBgwFoAUd5ZtHn1jUuZvUEm7OEDvgJWi/SYwCgYI\n"
	"KoZIzj0EAwIDSAAwRQIgZxKsuRjidBksdZ32RdcMH1yhsifHgNkecBqa09xuIQwC\n"
	"IQCky9FH4gLNk6ltrwu5SwBU5OBgiCUXYl18btJb6VR8lA==\n"
	"-----END CERTIFICATE-----\n"
	"-----BEGIN EC PRIVATE KEY-----\n"
	"MHcCAQEEIPsWcJgH8QFAxOlYaMHggKTyt+6yBQBq4cyn/PFeV3gdoAoGCCqGSM49\n"
	"AwEHoUQDQgAE6bbJMea1EnvVc3oMdIK4pl5vh3oLjHqO7BCQYRMwwifncB268L+C\n"
	"eTC0njEQ9kM9Q+8LknWPTWpt6mAXVr5fkw==\n"
	"-----END EC PRIVATE KEY-----\n";

static const char pem_second[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBjzCCATWgAwIBAgIUXlF0/gYgeBOjBBWiNxjMaqYzeDcwCgYIKoZIzj0EAwIw\n"
	"GTEXMBUGA1UEAwwOY2EuZXhhbXBsZS5jb20wIBcNMjYxMTMwMTMxODU1WhgPMjEy\n"
	"NjA3MjkxMzE4NTVaMBExDzANBgNVBAMMBnNlY29uZDBZMBMGByqGSM49AgEGCCqG\n"
	"SM49AwEHA0IABHn8UmpDFUampEpJlZ7MWPaz5gIL900iMebKpIDQZajP8v9ioi0O\n"
	"0yMO006rzz/QHeml75ykkrYjXpHtqIUIKFujYTBfMB0GA1UdEQQWMBSCEnNlY29u\n"
	"ZC5leGFtcGxlLmNvbTAdBgNVHQ4EFgQUUHVcJR2m9Gmo7SdKwEKGdorv/oYwHwYD\n"
	"VR0jBBgwFoAUd5ZtHn1jUuZvUEm7OEDvgJWi/SYwCgYIKoZIzj0EAwIDSAAwRQIh\n"
	"AI44PCC57Gd18gFn0RpCfHgsygyRMvdygCWdwMcTLDzWAiBRgC/sWWczsn3TKXvx\n"
	"Ma8g/OQyaxNd4s10n+Ll3EnviA==\n"
	"-----END CERTIFICATE-----\n"
	"-----BEGIN EC PRIVATE KEY-----\n"
	"MHcCAQEEIGH8iT2tT6uY4VLe+uWDBg3ffW1zlcA98IIbNEgtOn8soAoGCCqGSM49\n"
	"AwEHoUQDQgAEefxSakMVRqakSkmVnsxY9rPmAgv3TSIx5sqkgNBlqM/y/2KiLQ7T\n"
	"Iw7TTqvPP9Ad6aXvnKSStiNeke2ohQgoWw==\n"
	"-----END EC PRIVATE KEY-----\n";

#endif
