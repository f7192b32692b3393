#!/bin/sh
# Fuzzes with each Fuzz function of the module in turn. Fails at an input that
# fails, which is then in testdata/fuzz beside the test, and if there is no Fuzz function.
#
# usage: fuzz.sh DURATION [flags of go test]
set -eu

for_each=$1
shift
targets=$(grep -rnE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+\(' . |
	sed -E 's|^(.*)/[^/]*:[0-9]+:func (Fuzz[A-Za-z0-9_]+)\(.*|\1 \2|' | sort)
if [ -z "$targets" ]; then
	echo "no Fuzz function found" >&2
	exit 1
fi

printf '%s\n' "$targets" | while read -r dir name; do
	echo "$dir $name"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$for_each" "$@" "$dir" </dev/null || exit 1
done
