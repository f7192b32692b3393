#!/bin/sh
# Counts the duplicates of raw files again, with the tools of a shell alone: recount.sh FILE...
# It compares each count with that in the outcome beside the file, and fails for a difference.
set -eu
status=0
for raw; do
	twice=$(awk -F '\t' '$3 == "=" { print $4 }' "$raw" | LC_ALL=C sort | LC_ALL=C uniq -c | awk '{ n += $1 - 1 } END { print n + 0 }')
	counted=$(sed -n 's/^ *"duplicates": \([0-9]*\),*$/\1/p' "${raw%.tsv}.json")
	echo "$raw: $twice duplicates"
	if [ "$twice" != "$counted" ]; then
		echo "$raw: the outcome says $counted" >&2
		status=1
	fi
done
exit $status
