#!/bin/sh
# Prints the version that a release of this commit has: the tag, or the tag and the
# commits since. Before the first tag, it is v0.0.0 with the time and the hash of the
# commit, as for Go modules. The version is always one of Semantic Versioning with a v
# in front, which packages and charts need and git describe does not ensure.
set -eu
cd "$(dirname "$0")/../.."

if [ -n "${VERSION-}" ]; then
	version=v${VERSION#v}
elif ! version=$(git describe --tags --match 'v[0-9]*' --abbrev=12 --dirty 2>/dev/null); then
	version=v0.0.0-$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd)-$(git describe --always --abbrev=12 --dirty)
fi
if ! printf '%s\n' "$version" | grep -qxE 'v(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}(-[0-9A-Za-z.-]+)?'; then
	echo "version \"$version\": expected a version such as v1.2.3 or v1.2.3-rc.1; tag the commit, or set VERSION" >&2
	exit 1
fi
echo "$version"
