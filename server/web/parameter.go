package web

import (
	"regexp"
	"strings"
)

// Errors of grpc-gateway about a parameter of the path or the query. The first group is the field.
var (
	unparsed = regexp.MustCompile(`^(?:type mismatch, parameter: ([\w.]+), error: |parsing (?:field|list) "(\w+)": )` +
		`strconv\.Parse(\w+): parsing ("(?:[^"\\]|\\.)*"): (.*)$`)
	repeated = regexp.MustCompile(`^too many values for field "(\w+)": `)
)

// describe returns the error of grpc-gateway about a parameter in the words of the command line, without names of Go
// functions. It returns other messages unchanged.
func describe(message string) string {
	if m := repeated.FindStringSubmatch(message); m != nil {
		return "query parameter " + jsonName(m[1]) + ": expected one value"
	}
	m := unparsed.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	expected := "expected a whole number"
	switch {
	case m[3] == "Bool":
		expected = "expected true or false"
	case m[5] == "value out of range":
		expected = "number out of range"
	}
	return jsonName(m[1]+m[2]) + " " + m[4] + ": " + expected
}

// jsonName returns the JSON name of a field: pageSize for page_size.
func jsonName(field string) string {
	words := strings.Split(field, "_")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:min(1, len(word))]) + word[min(1, len(word)):]
	}
	return strings.Join(words, "")
}
