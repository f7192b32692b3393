#!/bin/sh
# Writes the Helm chart into dist: the same bytes from the same commit. VERSION is that
# of version.sh, unless it is set.
set -eu
umask 022
cd "$(dirname "$0")/../.."

version=$(internal/tools/version.sh)
version=${version#v}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make -s bin/helm
bin/helm package deploy/helm/snowraft --version "$version" --app-version "$version" --destination "$work" >/dev/null
# The archive of helm has the time of packing and the owner of the files.
tar -xzf "$work/snowraft-$version.tgz" -C "$work"
mkdir -p dist
(cd "$work" && find snowraft -type f | LC_ALL=C sort) |
	tar -cf - -C "$work" --files-from=- --format=ustar --mode=644 --owner=0 --group=0 --numeric-owner \
		--mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" |
	gzip -9n >"dist/snowraft-$version.tgz"
