#!/bin/sh
# Writes the Helm chart into dist: the same bytes from the same commit. VERSION is that
# of version.sh, unless it is set.
set -eu
umask 022
cd "$(dirname "$0")/../.."

version=$(internal/tools/version.sh)
mkdir -p dist
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} \
	go -C deploy/helm run ./pack -version "${version#v}" -out "$PWD/dist"
