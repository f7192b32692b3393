#!/bin/sh
# Fuzzes with each Fuzz function of the module in turn. Fails at an input that fails, which is then
# in testdata/fuzz beside the test, and if there is no Fuzz function.
#
# usage: fuzz.sh DURATION
set -eu

for_each=$1
targets=$(grep -rnE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+\(' . |
	sed -E 's|^(.*)/[^/]*:[0-9]+:func (Fuzz[A-Za-z0-9_]+)\(.*|\1 \2|' | sort)
if [ -z "$targets" ]; then
	echo "no Fuzz function found" >&2
	exit 1
fi

output=$(mktemp)
trap 'rm -f "$output"' EXIT

# only_out_of_time tells whether the fuzzer failed with its own deadline and nothing
# else: it does now and then when the time is up (golang/go#48157), with no failing input.
only_out_of_time() {
	grep -q '^    context deadline exceeded$' "$output" && ! grep -qE '^    (---|.*_test\.go:|Failing input)|panic:' "$output"
}

# Not a pipe, so that a failure ends the script and not a subshell.
while read -r dir name; do
	echo "$dir $name"
	if ! go test -run '^$' -fuzz "^$name\$" -fuzztime "$for_each" "$dir" >"$output" 2>&1 </dev/null &&
		! only_out_of_time; then
		cat "$output"
		exit 1
	fi
	grep '^fuzz:' "$output" | tail -n 1
	echo "ok  	$dir	$name"
done <<LIST
$targets
LIST
