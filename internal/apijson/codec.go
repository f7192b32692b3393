package apijson

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Marshal returns a message as one line, without a line break. Equal messages give equal lines. The line
// includes fields without presence that have their default value.
func Marshal(m proto.Message) ([]byte, error) {
	raw, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer // removes the spaces that protojson adds at random
	if err := json.Compact(&line, raw); err != nil {
		return nil, err
	}
	return translate(line.Bytes(), m.ProtoReflect().Descriptor(), wordOf)
}

// Unmarshal reads a message from the single JSON value in raw, whose size the caller has limited. It
// refuses fields, words and types that the message does not have. It also accepts the names of fields and
// enum values in the protos. Errors quote only short keys and values: a long one may be a secret
// in the wrong field.
func Unmarshal(raw []byte, m proto.Message) error {
	if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
		return err // clearer than the error of protojson
	}
	raw, err := translate(raw, m.ProtoReflect().Descriptor(), nameOf)
	if err == nil {
		err = protojson.Unmarshal(raw, m)
	}
	if err != nil {
		return errors.New(quoted.ReplaceAllStringFunc(err.Error(), shorten))
	}
	return nil
}

// maxQuoted is the length of the longest key or value in an error, in bytes. A token is longer.
const maxQuoted = 64

// quoted matches a string with its quotes, and every other word.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\S+`)

// shorten replaces a long quoted part of an error with dots.
func shorten(part string) string {
	if len(part) > maxQuoted {
		return "..."
	}
	return part
}
