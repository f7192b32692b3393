#!/bin/sh
# Makes the .deb and the .rpm for one architecture, the same bytes for the same commit and version.
#
# usage: package.sh VERSION GOARCH DIR
set -eu
cd "$(dirname "$0")/../.."

version=$1 arch=$2 out=$3
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# Versions of packages begin with a digit and sort: v1.2.3 is 1.2.3, twelve commits later is 1.2.3+12.g0123abc, and a
# repository without a tag has 0.0.0+0123abc.
version=${version#v}
package_version=$(printf '%s' "$version" | sed -E 's/-dirty$/.dirty/; s/-([0-9]+)-(g[0-9a-f]+)/+\1.\2/')
case $package_version in
[0-9]*.[0-9]*.[0-9]*) ;;
*) package_version=0.0.0+$package_version ;;
esac

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

VERSION=$1 internal/tools/static.sh linux "$arch" "$stage/snowraft"
for shell in bash fish zsh; do
	go run ./cmd/snowraft completion "$shell" >"$stage/snowraft.$shell"
done

mkdir -p "$out"
for format in deb rpm; do
	ARCH=$arch PACKAGE_VERSION=$package_version STAGE=$stage bin/nfpm package --config deploy/linux/nfpm.yaml \
		--packager "$format" --target "$out/snowraft_${version}_linux_$arch.$format"
done
