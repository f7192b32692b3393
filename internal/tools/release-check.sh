#!/bin/sh
# Makes a release twice from the same commit and fails if the two differ in a byte: once
# here, and once in a clone in another directory, with another umask, time zone and
# language, and with settings of Go that must not count. Leaves the first one in dist.
#
# Go's build cache is the same for both, so this does not show that the compiler repeats
# itself. For that, set GOCACHE to an empty directory in the second run.
#
# usage: release-check.sh [--once]    with --once: no second release
set -eu
cd "$(dirname "$0")/../.."

if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
	echo "files are changed: commit them first, because a clone has only what is committed" >&2
	exit 1
fi

make release
(cd dist && sha256sum --check --strict --quiet checksums.txt)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=$(internal/tools/version.sh | cut -c2-)
{
	echo checksums.txt
	echo "snowraft-$number.tgz"
	echo "snowraft_${number}_sbom.cdx.json"
	for arch in amd64 arm64; do
		for suffix in "darwin_$arch.tar.gz" "linux_$arch.tar.gz" "linux_$arch.deb" "linux_$arch.rpm" "image_linux_$arch.tar"; do
			echo "snowraft_${number}_$suffix"
		done
	done
} | sort >"$work/expected"
find dist -mindepth 1 -printf '%P\n' | sort | diff "$work/expected" - >&2 || {
	echo "dist holds other files than a release has" >&2
	exit 1
}

if [ "${1-}" = --once ]; then
	exit
fi
clone=$work/elsewhere
git -c advice.detachedHead=false clone --quiet --shared . "$clone"
mkdir "$clone/bin"
cp bin/nfpm "$clone/bin/" # newer than its go.mod there
cp "$(go env GOENV)" "$work/goenv" 2>/dev/null || true # with a proxy of this machine
(
	umask 077
	export TZ=Pacific/Auckland LC_ALL=C.UTF-8 GOAMD64=v3 GOFLAGS=-buildvcs=true GOENV="$work/goenv"
	go env -w GOFIPS140=latest
	make -C "$clone" release >"$work/log" 2>&1
) || {
	cat "$work/log"
	exit 1
}
diff --recursive dist "$clone/dist"
echo "two releases of $(git rev-parse HEAD) are equal"
(cd dist && wc -c -- *)
