#!/bin/sh
# Compares the protos of the working tree with those of an earlier commit and
# fails at a change that breaks clients, logs or snapshots.
#
# The earlier commit is PROTO_AGAINST, or else the last release's tag, or else
# the commit before HEAD. A shallow clone, which may lack all of them, is completed
# first. Where there is none (no repository, its first commit, a shallow clone
# whose origin is gone), there is nothing to compare with and that is said.
set -eu

against=${PROTO_AGAINST:-}
if [ -z "$against" ]; then
	if [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = true ]; then
		git fetch --quiet --unshallow --tags || echo "this clone is shallow, and may lack the last release" >&2
	fi
	against=$(git describe --tags --abbrev=0 --match 'v[0-9]*' HEAD 2>/dev/null ||
		git rev-parse --quiet --verify --short HEAD~1 2>/dev/null || true)
fi
if [ -z "$against" ] || ! git rev-parse --quiet --verify "$against:proto" >/dev/null 2>&1; then
	if [ -n "${PROTO_AGAINST:-}" ]; then
		echo "PROTO_AGAINST=$PROTO_AGAINST: expected a commit that has a proto folder" >&2
		exit 1
	fi
	echo "no earlier commit here to compare the protos with: nothing compared"
	exit 0
fi

before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
git archive "$against" proto | tar -xf - -C "$before"
if ! bin/buf breaking proto --against "$before/proto"; then
	echo "The protos broke since $against: see \"Protos\" in CONTRIBUTING.md." >&2
	exit 1
fi
echo "The protos are compatible with $against."
