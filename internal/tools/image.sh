#!/bin/sh
# Writes the container image of the program into dist, as an OCI archive for each
# architecture, without a container engine. The same commit, Go and CA certificates
# make the same bytes. VERSION and SOURCE_DATE_EPOCH are those of the commit, unless
# they are set.
#
# The CA certificates are those of this machine (Debian: ca-certificates), unless
# CA_CERTIFICATES names another file.
set -eu
cd "$(dirname "$0")/../.."

VERSION=$(internal/tools/version.sh)
export VERSION
number=${VERSION#v}
created=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p dist
go build -o "$work/image" ./internal/build/image
for arch in amd64 arm64; do
	internal/tools/static.sh linux "$arch" "$work/snowraft"
	go run ./internal/build/sbom -licenses "$work/licenses.txt" "$work/snowraft"
	out=dist/snowraft_${number}_image_linux_$arch.tar
	"$work/image" -version "$VERSION" -revision "$(git rev-parse HEAD)" -created "$created" -arch "$arch" \
		-program "$work/snowraft" -licenses "$work/licenses.txt" -certificates "${CA_CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}" -out "$out"
	echo "$out"
done
