#!/bin/sh
# Runs the chaos tests for a night:
#   - each kind of fault alone, for one minute;
#   - all faults in a cluster with a secret, and in a mixed run, for ten minutes each;
#   - the siege of a cluster with a secret, for ten minutes;
#   - all faults with new seeds, for the rest of HOURS (default 8), with three and five members in turns;
#   - the scenarios and the planted bugs.
# The script continues after a failure, and lists all failures at the end. The directories of runs that did not pass
# stay in jepsen-runs.
#
# A run with a new seed takes more than ten times as long as the planted bug that is caught last; see README.md.
#
# usage: HOURS=8 jepsen/nightly.sh
set -u
cd "$(dirname "$0")/.."

end=$(($(date +%s) + ${HOURS:-8} * 3600))
seed=$(date +%Y%m%d)00
failed=
mkdir -p jepsen-runs && go build -o jepsen-runs/jepsen ./jepsen || exit 3
# once ARGUMENTS... makes a run, and keeps its directory if the run does not pass.
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
# The cluster of restored-cluster continues for one minute after its backup. In the gate and TestRestore, it
# continues for seconds.
jepsen-runs/jepsen scenario all --lapse 1m || failed="$failed scenario:$?"
jepsen-runs/jepsen mutants || failed="$failed mutants:$?"
if [ -n "$failed" ]; then
	echo "FAILED:$failed"
	exit 1
fi
echo "all passed"
