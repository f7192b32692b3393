#!/bin/sh
# Runs the tests that a build tag adds, and no others: those declared in test
# files whose build constraint names the tag. Fails if there are none.
#
# usage: tagged-tests.sh TAG [flags of go test]
set -eu

tag=$1
shift
files=$(grep -rlE --include="*_test.go" "^//go:build (.*[^!A-Za-z0-9_])?$tag([^A-Za-z0-9_]|\$)" . || true)
if [ -z "$files" ]; then
	echo "no test file with the build tag $tag" >&2
	exit 1
fi

status=0
for dir in $(printf '%s\n' "$files" | xargs -n 1 dirname | sort -u); do
	tests=$(printf '%s\n' "$files" | grep "^$dir/[^/]*\$" |
		xargs sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' | grep -vx TestMain | paste -s -d '|' - || true)
	if [ -z "$tests" ]; then
		continue # helpers of another package's tests
	fi
	ran=yes
	# Tests of processes take minutes, more than 10 on a busy machine.
	# In its directory, what a test that passes prints is shown.
	go -C "$dir" test -tags "$tag" -count=1 -timeout 25m -run "^($tests)\$" "$@" || status=1
done
if [ -z "${ran-}" ]; then
	echo "no test in the files with the build tag $tag" >&2
	exit 1
fi
exit "$status"
