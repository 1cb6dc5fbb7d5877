#!/bin/sh
# Builds Holdfast from this clone and shows it at work, or runs a configuration of yours.
#   sh conf/quickstart.sh            build, then a demonstration of ten seconds: scripted servers, calls and desktops, all on loopback
#   sh conf/quickstart.sh MY.ini     build, then run that file in the foreground (Ctrl-C ends it)
# For Debian 12, as root or with sudo (only to install packages). Changes nothing outside build/ and /tmp/holdfast-demo.
# The demonstration fails (exit 1) when a single live session was moved.
# HOLDFAST_BUILD=DIR: the programs of that build; nothing is installed or built.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
peers=$root/tests/peers
demo=/tmp/holdfast-demo
sock=$demo/admin.sock
ini=$demo/demo.ini
# Without libfreerdp: it is for holdfast-rdp-probe alone, which no demonstration needs.
packages="cmake gcc make libc6-dev pkg-config libosip2-dev libwinpr2-dev libevent-dev libc-ares-dev libssl-dev python3"

case ${1:-} in -h|--help) sed -n '2,7p' "$0" | cut -c3-; exit 0 ;; esac
[ $# -le 1 ] || { sed -n '2,7p' "$0" | cut -c3- >&2; exit 2; }
mine=
if [ $# = 1 ]; then
	[ -r "$1" ] || { echo "quickstart: cannot read $1" >&2; exit 2; }
	mine=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
fi

bold= plain=
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
title() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
note() { printf '   %s\n' "$*"; }
fail() { printf 'quickstart: %s\n' "$*" >&2; exit 1; }

# ---- build

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"
	elif command -v sudo >/dev/null 2>&1; then sudo "$@"
	else fail "needs root or sudo to install:$missing"; fi
}

# Shows that a long step is alive: a dot a second, the seconds at the end, the log when it fails.
step() {
	what=$1 log=$2
	shift 2
	printf '   %s ' "$what"
	from=$(date +%s)
	"$@" >"$log" 2>&1 &
	job=$!
	while kill -0 $job 2>/dev/null; do printf .; sleep 1; done
	if wait $job; then printf ' %d s\n' $(($(date +%s) - from)); else printf ' failed\n'; tail -n 25 "$log" >&2; fail "$what failed, see $log"; fi
}

install_missing() {
	as_root apt-get -o DPkg::Lock::Timeout=600 update && as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends $missing
}

configure() { cmake -S "$root" -B "$root/build" -DCMAKE_BUILD_TYPE=Release; }
compile() { cmake --build "$root/build" --target holdfast holdfastctl -j "$(nproc)"; }

prepare() {
	missing=
	for p in $packages; do
		dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing="$missing $p"
	done
	mkdir -p "$root/build" || exit 1
	if [ -n "$missing" ]; then
		command -v apt-get >/dev/null 2>&1 || fail "this is not Debian; install by hand:$missing"
		note "to install:$missing"
		[ "$(id -u)" = 0 ] || as_root true || exit 1                     # the password is asked for here, not in the background
		step "installing them" "$root/build/apt.log" install_missing
	fi
	step "configuring" "$root/build/configure.log" configure
	step "compiling" "$root/build/compile.log" compile
}

title "Building Holdfast"
build=${HOLDFAST_BUILD:-$root/build}
if [ -n "${HOLDFAST_BUILD:-}" ]; then note "it is built, in $build"; else prepare; fi
holdfast=$build/holdfast
ctl() { "$build/holdfastctl" -s "$sock" "$@"; }
note "$("$holdfast" --version)"

if [ -n "$mine" ]; then
	title "Running $mine (Ctrl-C ends it)"
	exec "$holdfast" -c "$mine"
fi

# ---- the demonstration's processes: each peer reads commands from a pipe and answers with lines of JSON

pids=
cleanup() {
	trap - EXIT INT TERM
	for p in $pids; do kill "$p" 2>/dev/null; done
	for p in $pids; do wait "$p" 2>/dev/null; done
	case $demo in /tmp/holdfast-demo) rm -rf "$demo" ;; esac
}
if ! mkdir -m 700 "$demo" 2>/dev/null; then
	[ -O "$demo" ] && [ ! -L "$demo" ] || fail "$demo exists and is not yours"
	[ ! -e "$demo/gateway.pid" ] || ! kill -0 "$(cat "$demo/gateway.pid")" 2>/dev/null || fail "a demonstration is running already (pid $(cat "$demo/gateway.pid"))"
	[ ! -S "$sock" ] || ! ctl status >/dev/null 2>&1 || fail "a gateway of yours runs in $demo, which a demonstration empties: take the lines with $demo out of its file (a copy of conf/demo.ini?)"
	rm -rf "$demo" && mkdir -m 700 "$demo" || exit 1
fi
trap cleanup EXIT
trap 'exit 130' INT TERM
mkdir "$demo/run" && cp "$root/conf/demo.ini" "$ini" || exit 1

python3 - 127.0.0.1:15060 127.0.0.11:15060 127.0.0.12:15060 127.0.0.13:15060 127.0.0.14:15060 +127.0.0.1:13389 +127.0.0.21:13389 +127.0.0.22:13389 <<'P' || exit 1
import socket, sys
for at in sys.argv[1:]:
    host, port = at.lstrip("+").split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if at[0] == "+" else socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(at[0] == "+"))
        try:
            s.bind((host, int(port)))
        except OSError as e:
            sys.exit(f"quickstart: {'tcp' if at[0] == '+' else 'udp'} port {port} of {host} cannot be used ({e.strerror}); end what holds it, or change conf/demo.ini and this script")
P

# peer NAME PROGRAM ARGS...: starts it and waits until it is ready
peer() {
	name=$1 program=$2
	shift 2
	mkfifo "$demo/$name.in" || exit 1
	: >"$demo/$name.out"
	python3 "$peers/$program" "$@" <>"$demo/$name.in" >>"$demo/$name.out" 2>"$demo/$name.err" &
	pids="$pids $!"
	eval "pid_$name=$!"
	answer "$name" 1 >/dev/null
}

# The NUMBERth line that a peer has written, once it is there.
answer() {
	tries=0
	until [ "$(wc -l <"$demo/$1.out")" -ge "$2" ]; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { cat "$demo/$1.err" >&2; fail "no answer from the scripted peer $1"; }
		sleep 0.05
	done
	sed -n "$2p" "$demo/$1.out"
}

# tell NAME COMMAND, and hear NAME: what it says for people is printed, the whole answer is left in $got. ask is both.
tell() {
	count=$(($(wc -l <"$demo/$1.out") + 1))
	echo "$2" >"$demo/$1.in"
}
hear() {
	got=$(answer "$1" "$count") || exit 1
	case $got in '{"ok": true'*) ;; *) fail "peer $1: $got" ;; esac
	said=$(printf '%s\n' "$got" | sed -n 's/.*"say": "\([^"]*\)".*/\1/p')
	[ -z "$said" ] || note "$said"
}
ask() { tell "$1" "$2"; hear "$1"; }

# number FIELD: of the last answer
number() { printf '%s\n' "$got" | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }

run_ctl() {
	printf '   $ holdfastctl %s\n' "$*"
	ctl "$@" | sed 's/^/     /' || exit 1
}

wait_state() {
	tries=0
	until ctl --json servers | python3 -c 'import json, sys
name, state = sys.argv[1:]
sys.exit(not any(x["name"] == name and x["state"] == state for x in json.load(sys.stdin)["servers"]))' "$1" "$2"; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || fail "$1 did not become $2: $(ctl servers)"
		sleep 0.1
	done
}

calls=0 moved=0 broken=0
# What became of the calls that were just placed.
placed() { calls=$((calls + $(number answered))) broken=$((broken + $(number asked) - $(number answered))); }
# Every live session is asked who serves it: what another server answers has moved.
check_all() {
	ask phones "ask all"
	moved=$((moved + $(number moved))) broken=$((broken + $(number lost)))
	ask desktops check
	moved=$((moved + $(number moved))) broken=$((broken + $(number lost)))
}

title "Starting the gateway before three scripted SIP servers (pbx1 to pbx3) and two scripted RDP hosts (ts1, ts2)"
note "They are small Python programs of tests/peers that say their name; no telephone system and no Windows is needed."
for i in 1 2 3; do peer pbx$i sip_server.py pbx$i 127.0.0.1$i:15060; done
for i in 1 2; do peer ts$i rdp_host.py ts$i 127.0.0.2$i:13389; done
: >"$demo/gateway.log"
"$holdfast" -c "$ini" 2>"$demo/gateway.log" &
gateway=$!
pids="$gateway $pids"
echo $gateway >"$demo/gateway.pid"
tries=0
until grep -q event=ready "$demo/gateway.log"; do
	kill -0 $gateway 2>/dev/null || { cat "$demo/gateway.log" >&2; fail "the gateway did not start"; }
	tries=$((tries + 1))
	[ $tries -lt 200 ] || fail "the gateway is not ready after 10 s"
	sleep 0.05
done
grep -E 'event=(listen|ready)' "$demo/gateway.log" | sed 's/^/     /'
for x in pbx1 pbx2 pbx3 ts1 ts2; do wait_state $x up; done
peer phones sip_client.py 127.0.0.1:15060 --name phones
peer desktops rdp_client.py 127.0.0.1:13389

title "600 calls are placed and held; 40 users open their desktops"
ask phones "call 600"
placed
call=$(printf '%s\n' "$got" | sed -n 's/.*"ids": \["\([^"]*\)".*/\1/p')
ask desktops "connect user=alice"
ask desktops "many 39"
run_ctl servers
note "Who went where, and why: one of the calls, and alice."
run_ctl where --pool pbx "$call"
run_ctl where --pool farm user:alice

title "A fourth SIP server joins (the file is changed, then reloaded) while 400 more calls are placed"
peer pbx4 sip_server.py pbx4 127.0.0.14:15060
sed -i 's/^server = pbx3 .*/&\nserver = pbx4 127.0.0.14:15060/' "$ini"
tell phones "call 400"
run_ctl reload
hear phones
placed
wait_state pbx4 up
ask phones "call 100"
placed
check_all

title "pbx1 is drained: it keeps its calls and takes no new ones; ts1 too"
run_ctl drain pbx1
run_ctl drain ts1
ask phones "call 150"
placed
ask desktops "many 10 prefix=newcomer"
check_all
note "alice disconnects and comes back, with another spelling of her name and from another address:"
ask desktops "close user=alice"
ask desktops "connect user=alice cookie=ALICE@example.net at=127.0.0.99"

title "pbx2 is killed with its calls up"
eval "victim=\$pid_pbx2"
ask phones "calls server=pbx2"
kill -9 "$victim"
wait_state pbx2 down
ask phones "forget server=pbx2"
dead=$(number forgotten)
note "$dead calls ended with it. All others go on, and new ones go to those that live:"
ask phones "call 100"
placed
check_all
run_ctl undrain pbx1
run_ctl undrain ts1
run_ctl servers

title "Everybody hangs up"
ask phones "bye all"
moved=$((moved + $(number moved)))
ask desktops stats
moved=$((moved + $(number split)))
for i in 1 3 4; do
	ask pbx$i stats >/dev/null
	moved=$((moved + $(number strangers)))
done

title "Result"
note "$calls calls and 50 users; one server joined, one drained, one died, one host drained."
note "$moved live sessions were moved. $broken calls or desktops failed, beside the $dead calls that were on the killed server."
if [ $moved != 0 ] || [ $broken != 0 ]; then
	cp "$demo/gateway.log" "$build/demo-gateway.log"
	fail "that should have been none; the gateway's log is $build/demo-gateway.log"
fi
cat <<END

${bold}== Your own servers${plain}
   Copy conf/sip.ini or conf/rdp.ini, write your servers and addresses into it, and look at it before it runs:
     cp conf/sip.ini my.ini; \${EDITOR:-nano} my.ini
     build/holdfast -c my.ini --check
     sh conf/quickstart.sh my.ini
   Then, in another terminal: build/holdfastctl servers   (-s SOCKET with another state-dir: the start says admin=SOCKET)
   After a change: build/holdfastctl reload. No live session moves.
END
