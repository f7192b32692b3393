#!/bin/sh
# Generates the Go code and the OpenAPI document from the protos, in the folder given.
#
# usage: generate.sh FOLDER
set -eu

PATH="$(pwd)/bin:$PATH"
(
	cd "$1"
	buf generate
	buf generate --template buf.gen.openapi.yaml
)
document=$1/snowraft/v1/snowraft.swagger.json
go run ./internal/apijson/openapi <"$document" >"$document.words"
mv "$document.words" "$document"
