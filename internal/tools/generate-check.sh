#!/bin/sh
# Generates the code anew in a copy and fails if the committed code differs in
# a single byte, or has files that nothing generates any more.
set -eu

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R proto "$copy/proto"
find "$copy/proto" \( -name '*.pb.go' -o -name '*.pb.gw.go' -o -name '*.swagger.json' \) -exec rm {} +
internal/tools/generate.sh "$copy/proto"
if ! diff -r proto "$copy/proto"; then
	echo "The generated code is not current: run \"make generate\" and commit the result." >&2
	exit 1
fi
