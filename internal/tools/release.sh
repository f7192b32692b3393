#!/bin/sh
# Makes the files of a release in dist. The same commit, Go and tools make the same
# bytes, in any directory and under any user, umask and time zone: "make release-check"
# compares two runs. It needs GNU tar.
set -eu
umask 022
export LC_ALL=C TZ=UTC
cd "$(dirname "$0")/../.."

VERSION=$(internal/tools/version.sh)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export VERSION SOURCE_DATE_EPOCH
number=${VERSION#v}

rm -rf dist
mkdir dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PROGRAMS="$work/programs" # for static.sh

# Completions are printed by the program, so by one that runs here.
internal/tools/static.sh "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$work/here"
mkdir "$work/completions"
"$work/here" completion bash >"$work/completions/snowraft.bash"
"$work/here" completion zsh >"$work/completions/_snowraft"
"$work/here" completion fish >"$work/completions/snowraft.fish"

platforms="linux_amd64 linux_arm64 darwin_amd64 darwin_arm64"
for platform in $platforms; do
	program=$work/snowraft_${number}_$platform/snowraft
	internal/tools/static.sh "${platform%_*}" "${platform#*_}" "$program"
	set -- "$@" "$program"
done
go run ./internal/build/sbom -version "$VERSION" -time "$SOURCE_DATE_EPOCH" \
	-bom "dist/snowraft_${number}_sbom.cdx.json" -licenses "$work/licenses.txt" "$@"

for platform in $platforms; do
	name=snowraft_${number}_$platform
	cp -R "$work/completions" "$work/licenses.txt" LICENSE README.md "$work/$name/"
	tar --create --directory "$work" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
		--owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' "$name" |
		gzip --no-name >"dist/$name.tar.gz"
done

make --no-print-directory packages image chart VERSION="$VERSION"

(cd dist && sha256sum -- *) >"$work/checksums.txt"
cp "$work/checksums.txt" dist/
echo "dist holds Snowraft $VERSION:"
cat dist/checksums.txt
