#!/bin/sh
# Makes the .deb and the .rpm for one architecture, the same bytes for the same commit and version.
#
# usage: package.sh GOARCH DIR    VERSION: that of version.sh, unless it is set
set -eu
cd "$(dirname "$0")/../.."

arch=$1 out=$2
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

VERSION=$(internal/tools/version.sh)
export VERSION
version=${VERSION#v}
# Versions of packages sort: twelve commits after v1.2.3 are 1.2.3+12.g0123abc.
package_version=$(printf '%s' "$version" | sed -E 's/-([0-9]+)-(g[0-9a-f]+)$/+\1.\2/; s/-([0-9]+)-(g[0-9a-f]+)-dirty$/+\1.\2.dirty/')

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

internal/tools/static.sh linux "$arch" "$stage/snowraft"
go run ./internal/build/sbom -licenses "$stage/licenses.txt" "$stage/snowraft"
# Completions are printed by the program, so by one that runs here.
internal/tools/static.sh "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$stage/here"
for shell in bash fish zsh; do
	"$stage/here" completion "$shell" >"$stage/snowraft.$shell"
done

mkdir -p "$out"
for format in deb rpm; do
	ARCH=$arch PACKAGE_VERSION=$package_version STAGE=$stage bin/nfpm package --config deploy/linux/nfpm.yaml \
		--packager "$format" --target "$out/snowraft_${version}_linux_$arch.$format"
done
