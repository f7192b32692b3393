#!/bin/sh
# A night of chaos: a minute of each kind of fault alone, ten of all of them and ten of the siege
# with a secret, ten of all of them with members of two versions, runs of all with new seeds for the rest of HOURS (8), with three and with five members in turns, then the scenarios and the
# planted bugs. It goes on after a failure and says at the
# end what failed; directories of runs that did not pass stay in jepsen-runs.
#
# A run takes more than ten times as long as the planted bug that is the slowest to be caught,
# see README.md.
#
# usage: HOURS=8 jepsen/nightly.sh
set -u
cd "$(dirname "$0")/.."

end=$(($(date +%s) + ${HOURS:-8} * 3600))
seed=$(date +%Y%m%d)00
failed=
mkdir -p jepsen-runs && go build -o jepsen-runs/jepsen ./jepsen || exit 3
# once ARGUMENTS... makes a run, and keeps it if it does not pass.
once() {
	dir=jepsen-runs/night-$$-$seed
	if jepsen-runs/jepsen run --workload all --members $members --seed $seed --out "$dir" "$@"; then
		rm -rf "$dir"
	else
		failed="$failed $dir:$?"
	fi
	seed=$((seed + 1))
}

members=5 # rings and bridges need them
for nemesis in $(jepsen-runs/jepsen list nemeses | cut -d ' ' -f 1); do
	echo "=== $nemesis alone, seed $seed"
	once --nemesis "$nemesis" --duration 1m
done
echo "=== with a secret, seed $seed"
once --nemesis all --duration 10m --secure
echo "=== two versions, seed $seed"
once --nemesis all --duration 10m --mixed
siege=jepsen-runs/night-$$-siege
if jepsen-runs/jepsen siege --duration 10m --secure --out "$siege"; then
	rm -rf "$siege"
else
	failed="$failed $siege:$?"
fi
while [ "$(date +%s)" -lt "$end" ]; do
	members=$((seed % 2 * 2 + 3))
	echo "=== seed $seed, $members members"
	once --nemesis all --duration 30m
done
# restored-cluster continues for a full minute after its backup; TestRestore and "make chaos-smoke" have seconds.
jepsen-runs/jepsen scenario all --lapse 1m || failed="$failed scenario:$?"
jepsen-runs/jepsen mutants || failed="$failed mutants:$?"
if [ -n "$failed" ]; then
	echo "FAILED:$failed"
	exit 1
fi
echo "all passed"
