#!/bin/sh
# Builds and tests everything:   sh tests/run.sh [--full] [--no-install] [WHAT...]
#   WHAT: unit, lint, scenario [NAME...], asan, tsan, clang; without it all of them.
#   --full        the long forms (HOLDFAST_FULL=1)          --no-install  take what is there, install nothing
#   BUILD=DIR     where the builds go (default: build-test beside this tree's files, ignored by git)
#   HOLDFAST_SHARED=DIR  where the torture set lies; without it the tests that need it are skipped.
# Runs as root or with sudo when packages are missing; starts no service. The last line counts; exit 1 when something failed.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
begin=$(date +%s)
BUILD=${BUILD:-$root/build-test}
jobs=$(nproc 2>/dev/null || echo 2)
install=yes
what=
names=
passed=0 failed=0 skipped=0
failures=
second_tries=

BUILD_PACKAGES="cmake gcc make libc6-dev pkg-config libosip2-dev libevent-dev libc-ares-dev libssl-dev"
TEST_PACKAGES="libcmocka-dev freerdp2-dev clang libclang-rt-14-dev python3 openssl sip-tester kamailio kamailio-tls-modules socat baresip-core freerdp2-x11 xrdp xvfb xauth imagemagick xterm x11-xserver-utils tigervnc-standalone-server rdesktop freerdp2-shadow-x11 winpr-utils sipsak sipvicious tshark valgrind chromium libxxhash-dev"
# Other machines, for what must come out the same on all: 64 bits, 32 bits, big-endian.
CROSS_PACKAGES="gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static"

say() { printf '[%4ds] %s\n' $(($(date +%s) - begin)) "$*"; }
usage() { sed -n '2,8p' "$0" | sed 's/^# \{0,1\}//'; exit 2; }

while [ $# -gt 0 ]; do
	case $1 in
	--full) HOLDFAST_FULL=1; export HOLDFAST_FULL ;;
	--no-install) install=no ;;
	-h|--help) usage ;;
	unit|lint|asan|tsan|clang) what="$what $1" ;;
	scenario) what="$what scenario"; shift; names="$*"; break ;;
	*) echo "run.sh: what is $1?" >&2; usage ;;
	esac
	shift
done
what=${what:-lint unit clang asan scenario tsan}
mkdir -p "$BUILD"

good() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); failures="$failures
  $*"; say "FAILED: $*"; }

# long LOG COMMAND...: its output goes to LOG, and every 15 s its last line to the screen
long() {
	log=$1
	shift
	"$@" >>"$log" 2>&1 &
	job=$! seconds=0
	while kill -0 $job 2>/dev/null; do
		sleep 1
		seconds=$((seconds + 1))
		[ $((seconds % 15)) != 0 ] || say "  $(tail -n 1 "$log" | cut -c1-100)"
	done
	wait $job
}

# ---- packages

missing() {
	for p in "$@"; do
		dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || echo "$p"
	done
}

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1; then sudo -E "$@"; else return 127; fi
}

# A package that brings a service must not start it here: policy-rc.d says no for as long as we install.
install_packages() {
	policy=/usr/sbin/policy-rc.d ours=no
	if [ ! -e $policy ]; then
		ours=yes
		as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy"
	fi
	as_root apt-get -o DPkg::Lock::Timeout=600 update -qq &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "$@"
	rc=$?
	[ $ours = no ] || as_root rm -f $policy
	return $rc
}

packages() {
	winpr=libwinpr2-dev
	[ -n "$(missing libwinpr3-dev)" ] || winpr=libwinpr3-dev
	list=$(missing $BUILD_PACKAGES $winpr $TEST_PACKAGES $CROSS_PACKAGES)
	[ -n "$list" ] || return 0
	if [ $install = no ]; then
		say "not installed:" $list
		return 0
	fi
	say "installing" $list
	: >"$BUILD/apt.log"
	if ! long "$BUILD/apt.log" install_packages $list; then
		tail -n 15 "$BUILD/apt.log"
		say "could not install them (as root, or with sudo?)"
		[ -z "$(missing $BUILD_PACKAGES $winpr libcmocka-dev python3)" ] || exit 1
	fi
}

# JsSIP for pages in a browser: by npm where that is there, once.
library() {
	[ -n "${HOLDFAST_JSSIP:-}" ] && return
	HOLDFAST_JSSIP=$BUILD/npm/node_modules
	export HOLDFAST_JSSIP
	[ $install = yes ] && [ ! -d "$HOLDFAST_JSSIP/jssip" ] && command -v npm >/dev/null 2>&1 || return
	say "installing jssip by npm"
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$BUILD/npm" jssip >"$BUILD/npm.log" 2>&1 || say "could not install jssip ($BUILD/npm.log)"
}

# ---- builds: build NAME TARGET|all CMAKE_OPTION...

build() {
	name=$1 target=$2
	shift 2
	say "building $name"
	if cmake -S "$root" -B "$BUILD/$name" -DHF_TESTS=ON "$@" >"$BUILD/$name.log" 2>&1 &&
		long "$BUILD/$name.log" cmake --build "$BUILD/$name" --target $target -j "$jobs"; then
		good
		return 0
	fi
	grep -nE 'error|warning|Error' "$BUILD/$name.log" | head -n 30
	bad "build $name ($BUILD/$name.log)"
	return 1
}

# Once, for those who need it; its exit code each time.
build_plain() {
	[ -n "${plain_rc:-}" ] || { build plain all -DCMAKE_C_COMPILER=gcc -DCMAKE_C_FLAGS=-Werror; plain_rc=$?; }
	return $plain_rc
}

# ---- what runs

ctests() {
	name=$1
	shift
	say "unit tests, $name build"
	: >"$BUILD/$name.ctest"
	long "$BUILD/$name.ctest" ctest --test-dir "$BUILD/$name" -j "$jobs" --output-on-failure "$@"
	n=$(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed ' "$BUILD/$name.ctest")
	k=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$BUILD/$name.ctest")
	passed=$((passed + n)) skipped=$((skipped + k))
	fails=$(sed -nE 's|^ *[0-9]+/[0-9]+ Test +#[0-9]+: ([^ ]+) .*\*\*\*(.*)|\1 \2|p' "$BUILD/$name.ctest" | grep -v Skipped)
	if [ -n "$fails" ]; then
		grep -vE '^ *(Start|[0-9]+/[0-9]+ Test .* Passed)' "$BUILD/$name.ctest" | head -n 120
		count=$(echo "$fails" | wc -l)
		bad "$name: $(echo "$fails" | head -n 8 | tr '\n' ';')"
		failed=$((failed + count - 1))
	elif [ $((n + k)) = 0 ]; then
		tail -n 5 "$BUILD/$name.ctest"
		bad "$name: no test ran"
	fi
	say "$name: $n unit test programs passed"
	[ "$k" = 0 ] || say "$name, skipped:" $(sed -nE 's|^ *[0-9]+/[0-9]+ Test +#[0-9]+: ([^ ]+) .*\*\*\*Skipped.*|\1|p' "$BUILD/$name.ctest")
}

# scenarios BUILD-NAME LANES NAME...
scenarios() {
	name=$1 lanes=$2
	shift 2
	say "scenarios, $name build${*:+: }$*"
	: >"$BUILD/$name.scenarios"
	HOLDFAST_BIN="$BUILD/$name/holdfast" HOLDFASTCTL="$BUILD/$name/holdfastctl" HOLDFAST_BUILD="$BUILD/$name" \
		python3 "$root/tests/scenario/run.py" --again -j "$lanes" "$@" >"$BUILD/$name.scenarios" 2>&1 &
	runner=$!
	trap 'kill $runner 2>/dev/null; exit 130' INT TERM
	tail -n +1 -f --pid=$runner "$BUILD/$name.scenarios" | sed -u "s/^/        /"
	wait $runner
	rc=$?
	trap - INT TERM
	n=$(grep -c '^ok ' "$BUILD/$name.scenarios") f=$(grep -c '^FAIL ' "$BUILD/$name.scenarios") k=$(grep -c '^skip ' "$BUILD/$name.scenarios")
	passed=$((passed + n)) skipped=$((skipped + k))
	lucky=$(sed -n 's/^scenarios: .*(at the second try: \(.*\)).*/\1/p' "$BUILD/$name.scenarios")
	[ -z "$lucky" ] || second_tries="$second_tries
  scenarios, $name: $lucky"
	if [ "$f" -gt 0 ] || [ $rc -gt 1 ]; then
		bad "scenarios, $name: $(sed -n 's/^FAIL \([^ ]*\).*/\1/p' "$BUILD/$name.scenarios" | tr '\n' ' ')"
		[ "$f" -lt 2 ] || failed=$((failed + f - 1))
	fi
}

# sanitized BUILD-NAME NAME...: these, or with --full all but the hammer, which takes the address sanitizer by itself
sanitized() {
	name=$1
	shift
	[ "${HOLDFAST_FULL:-}" != 1 ] || set -- $(python3 "$root/tests/scenario/run.py" --list | grep -vx hammer)
	scenarios "$name" "$jobs" "$@"
}

do_lint() {
	say "lint"
	for args in --self-test ""; do
		if python3 tests/lint/check.py $args; then good; else bad "lint $args"; fi
	done
}

do_unit() { build_plain && ctests plain; }
do_clang() { build clang all -DCMAKE_C_COMPILER=clang -DCMAKE_C_FLAGS=-Werror; }

do_asan() {
	build asan all -DCMAKE_C_COMPILER=gcc -DHF_SANITIZE=address,undefined || return
	ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1 ctests asan
	HOLDFAST_SLOW=3 HOLDFAST_SANITIZED=1 HOLDFAST_CALLS=1000 sanitized asan start_stop reload admin sip_calls sip_cancel_ack sip_server_opened sip_refusals sip_cases sip_transports sip_websocket sip_web_frames rdp_users rdp_refusals rdp_cases
}

# The programs whose name says that they run threads, and the gateway itself under calls and desktops.
do_tsan() {
	build tsan holdfast -DCMAKE_C_COMPILER=gcc -DHF_SANITIZE=thread -DCMAKE_BUILD_TYPE=RelWithDebInfo || return
	cmake --build "$BUILD/tsan" --target holdfastctl -j "$jobs" >>"$BUILD/tsan.log" 2>&1
	rx='(thread|concurren|parallel|race)'
	list=$(ctest --test-dir "$BUILD/tsan" -N -R "$rx" 2>/dev/null | sed -nE 's|^ *Test +#[0-9]+: unit/([^/]+)/(.*)|\1_\2|p')
	if [ -n "$list" ]; then
		if cmake --build "$BUILD/tsan" --target $list -j "$jobs" >>"$BUILD/tsan.log" 2>&1; then ctests tsan -R "$rx"; else bad "build of the concurrent tests"; fi
	fi
	HOLDFAST_SLOW=4 HOLDFAST_SANITIZED=1 HOLDFAST_CALLS=1000 TSAN_OPTIONS=halt_on_error=0:exitcode=66 sanitized tsan reload sip_calls sip_nat rdp_users
}

do_scenario() { library; build_plain && scenarios plain "$jobs" $names; }

packages
for w in $what; do
	"do_$w"
done
[ -z "$failures" ] || echo "Failed:$failures"
[ -z "$second_tries" ] || echo "Passed at the second try (what failed at the first stands above):$second_tries"
say "done in $(($(date +%s) - begin)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
