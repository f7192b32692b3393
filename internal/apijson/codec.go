package apijson

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Marshal returns a message as one line, without its end. Equal messages give equal lines. Fields
// without presence are included when they have their default value.
func Marshal(m proto.Message) ([]byte, error) {
	raw, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer // without the spaces that protojson adds at random
	if err := json.Compact(&line, raw); err != nil {
		return nil, err
	}
	return translate(line.Bytes(), m.ProtoReflect().Descriptor(), wordOf)
}

// Unmarshal reads a message from the one JSON value in raw, whose size the caller has limited. It
// refuses fields, words and types that the message does not have. Names of fields and of enum values
// may also be those of the protos. Errors quote short keys and values only: a long one may be a secret,
// sent in the wrong field.
func Unmarshal(raw []byte, m proto.Message) error {
	if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
		return err // in clearer words than those of protojson
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

// shorten omits what an error quotes if it is long.
func shorten(part string) string {
	if len(part) > maxQuoted {
		return "..."
	}
	return part
}
