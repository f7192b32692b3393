#!/bin/sh
# An order service of pipes: reads a key of an order per line, and prints the key, an ID and a number, such as
# "cart-4711 253081673229410738 ORD-00001". A repeated key gets the same number, and a new ID. Needs curl.
set -eu

members=$(echo "$SNOWRAFT_MEMBERS" | tr , ' ') # the members' addresses of HTTP

# post sends a request to one member after another, until one serves it.
# A request_id makes a repetition harmless, whatever became of the first try.
post() {
	for pause in 0 0.2 0.5 1 2; do
		sleep "$pause"
		for member in $members; do
			if answer=$(curl -sSf --max-time 3 -H "Authorization: Bearer ${SNOWRAFT_TOKEN:-}" -X POST "$@" "http://$member$path"); then
				echo "$answer"
				return
			fi
		done
	done
	echo "no member serves $path" >&2
	return 1
}

while read -r key; do
	path=/id
	id=$(post)
	path=/seq/orders
	number=$(post --data-urlencode "request_id=$key")
	echo "$key $id $number"
done
