#!/bin/sh
# Compares INCR of Snowraft with INCR of Redis, with the same client on the same
# machine, in turns: relaxed next to a Redis without persistence, strict next to one
# that syncs each write, each with and without pipelining. Prints the median
# rate of each side and the median of the rounds' ratios.
#
# Needs redis-server and redis-benchmark (Debian: redis-server redis-tools) and bin/snowraft.
#
# usage: bench-redis.sh [ROUNDS [REQUESTS]]
set -eu

rounds=${1:-5}
requests=${2:-200000}
base=27700 # ports from here on
dir=$(mktemp -d)
pids=
stop() {
	# shellcheck disable=SC2086 # a list
	kill $pids 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT INT TERM

start() {
	log=$1
	shift
	"$@" >"$dir/$log.log" 2>&1 &
	pids="$pids $!"
}

for i in 0 1 2; do
	p=$((base + 10 * i))
	start "member$i" bin/snowraft serve --name "m$i" --data-dir "$dir/m$i" --bootstrap-expect 3 \
		--join "127.0.0.1:$((base + 3)),127.0.0.1:$((base + 13)),127.0.0.1:$((base + 23))" \
		--api-addr "127.0.0.1:$p" --http-addr "127.0.0.1:$((p + 1))" --raft-addr "127.0.0.1:$((p + 2))" \
		--gossip-addr "127.0.0.1:$((p + 3))" --redis-addr "127.0.0.1:$((p + 4))"
done
memory=$((base + 50)) disk=$((base + 51))
mkdir "$dir/memory" "$dir/disk"
start memory redis-server --port $memory --bind 127.0.0.1 --save '' --appendonly no --dir "$dir/memory"
start disk redis-server --port $disk --bind 127.0.0.1 --save '' --appendonly yes --appendfsync always --dir "$dir/disk"

numbers() { bin/snowraft seq "$@" --addr "127.0.0.1:$base" >/dev/null 2>&1; }
tries=0
until numbers create bench:relaxed; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ]; then
		cat "$dir"/*.log >&2
		exit 1
	fi
	sleep 0.2
done
numbers create bench:strict --mode strict
leader=$(bin/snowraft member list --addr "127.0.0.1:$base" | awk '/leader/ { print substr($1, 2) }')
led=$((base + 10 * leader + 4))
followed=$((base + 10 * ((leader + 1) % 3) + 4))

# rate PORT KEY PIPELINE prints INCRs a second.
rate() {
	redis-benchmark -h 127.0.0.1 -p "$1" -c 50 -n $((requests * (1 + $3 / 4))) -P "$3" -q INCR "$2" 2>/dev/null |
		tr '\r' '\n' | sed -n 's/.*: \([0-9.]*\) requests per second.*/\1/p' | tail -1
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

printf '%-34s %12s %12s %8s\n' "$rounds rounds, 50 connections" snowraft redis ratio
for pipeline in 1 16; do
	for case in "relaxed leader $led $memory" "relaxed follower $followed $memory" \
		"strict leader $led $disk" "strict follower $followed $disk"; do
		# shellcheck disable=SC2086 # split into its words
		set -- $case
		rm -f "$dir/ours" "$dir/theirs" "$dir/ratios"
		for _ in $(seq "$rounds"); do
			theirs=$(rate "$4" bench "$pipeline")
			ours=$(rate "$3" "bench:$1" "$pipeline")
			echo "$ours" >>"$dir/ours"
			echo "$theirs" >>"$dir/theirs"
			echo "$ours $theirs" | awk '{ print $1 / $2 }' >>"$dir/ratios"
		done
		printf '%-34s %12.0f %12.0f %8.2f\n' "$1, at the $2, -P $pipeline" \
			"$(median <"$dir/ours")" "$(median <"$dir/theirs")" "$(median <"$dir/ratios")"
	done
done
