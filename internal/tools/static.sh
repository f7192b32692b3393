#!/bin/sh
# Builds the program as releases ship it: static, without symbols, and the same
# bytes from the same commit in any directory. VERSION is that of version.sh, unless
# it is set. With PROGRAMS, a directory, each program is built once and kept there.
#
# usage: static.sh GOOS GOARCH OUT
set -eu

if [ $# -ne 3 ]; then
	echo "usage: static.sh GOOS GOARCH OUT" >&2
	exit 2
fi
out=$(dirname "$3")
mkdir -p "$out"
out=$(cd "$out" && pwd)/$(basename "$3")

if [ -n "${PROGRAMS-}" ] && [ -e "$PROGRAMS/$1_$2" ]; then
	cp "$PROGRAMS/$1_$2" "$out"
	exit
fi

cd "$(dirname "$0")/../.."
VERSION=${VERSION:-$(internal/tools/version.sh)}
commit=$(git describe --always --abbrev=40 --exclude='*' --dirty 2>/dev/null || true) # none in a copy without .git
# Of the settings that "go env -w" wrote, only those count that say where Go finds modules and keeps files.
eval "$(go env | sed -n -E 's/^(GOAUTH|GOCACHE|GOINSECURE|GOMODCACHE|GONOPROXY|GONOSUMDB|GOPATH|GOPRIVATE|GOPROXY|GOSUMDB|GOTMPDIR|GOTOOLCHAIN|GOVCS)=/export &/p')"
GOENV=off GOOS=$1 GOARCH=$2 CGO_ENABLED=0 GOFLAGS= GOEXPERIMENT= GOFIPS140=off GOAMD64=v1 GOARM64=v8.0 \
	go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION -X main.commit=$commit" -o "$out" ./cmd/snowraft
if [ -n "${PROGRAMS-}" ]; then
	mkdir -p "$PROGRAMS"
	cp "$out" "$PROGRAMS/$1_$2"
fi
