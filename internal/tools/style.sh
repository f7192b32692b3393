#!/bin/sh
# Counts wording to avoid, by the patterns of style.txt, and fails if a pattern has more hits than its number there. It then
# shows the hits in lines that were added since the number was set. With --update, it lowers the numbers to the present hits.
#
# usage: style.sh [--update]
set -eu

cd "$(dirname "$0")/../.."
table=internal/tools/style.txt
tab=$(printf '\t')

# hits lists the hits of a pattern, one per line.
hits() {
	git grep -ohP "$1" -- '*.go' '*.md' '*.proto' '*.golden' ':!*.pb.go' ':!*.pb.gw.go' || [ $? = 1 ]
}

# added lists the lines that were added since a commit, as FILE:LINE, in the files that hits reads.
added() {
	git diff -U0 "$1" -- '*.go' '*.md' '*.proto' '*.golden' ':!*.pb.go' ':!*.pb.gw.go' |
		awk '/^\+\+\+ / { file = substr($0, 7) } /^\+/ && !/^\+\+\+ / { print file ": " substr($0, 2) }'
}

risen=0
new=''
while IFS="$tab" read -r most instead pattern; do
	case $most in
	'#'*)
		new="$new$most${instead:+$tab$instead}${pattern:+$tab$pattern}
"
		continue
		;;
	esac
	count=$(hits "$pattern" | wc -l)
	if [ "$count" -gt "$most" ]; then
		risen=1
		printf 'wording: %s hits of %s, at most %s; write instead: %s\n' "$count" "$pattern" "$most" "$instead" >&2
		base=$(git log -1 --format=%H -- "$table")
		added "${base:-HEAD}" | grep -P -- "$pattern" | sed 's/^/  /' >&2 || true
	fi
	[ "$count" -ge "$most" ] || most=$count
	new="$new$most$tab$instead$tab$pattern
"
done <"$table"

if [ "${1:-}" = --update ]; then
	printf '%s' "$new" >"$table"
fi
exit $risen
