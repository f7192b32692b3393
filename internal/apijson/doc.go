// Package apijson is the JSON of the API. HTTP uses it at /v1, and the command line prints it with
// -o json. It is proto JSON in which the values of the API's enums are words, such as "strict" for
// SEQUENCE_MODE_STRICT. docs/json.md is its reference. [Marshal] writes it, and [Unmarshal] reads
// it.
package apijson
