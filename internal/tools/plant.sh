#!/bin/sh
# Makes a planted bug of the changes in the working tree: writes them into a patch
# below its header, which it keeps or begins, and undoes them in the sources.
#
# usage: plant.sh PACKAGE/testdata/mutants/NAME.patch [sources]
set -eu

patch=$1
shift
diff=$(git diff -- "$@" ':!*.patch')
if [ -z "$diff" ]; then
	echo "nothing is changed: make the bug in the sources first" >&2
	exit 1
fi
header=$(sed '/^diff --git/,$d' "$patch" 2>/dev/null || true)
if [ -z "$header" ]; then
	header='RULE. The bug ...

Caught by: go test ./PACKAGE -run TestNAME'
fi
mkdir -p "$(dirname "$patch")"
printf '%s\n\n%s\n' "$header" "$diff" >"$patch"
printf '%s\n' "$diff" | git apply --reverse
