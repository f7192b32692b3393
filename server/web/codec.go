package web

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/encoding/protojson"
)

// codec is the JSON of /v1: names in lowerCamelCase, 64-bit numbers as strings,
// every field that has no presence of its own, no field that is not known.
var codec = &jsonCodec{runtime.JSONPb{MarshalOptions: protojson.MarshalOptions{EmitDefaultValues: true}}}

type jsonCodec struct{ runtime.JSONPb }

// Marshal writes one line that is the same for the same message: protojson
// itself adds spaces at random.
func (c *jsonCodec) Marshal(v any) ([]byte, error) {
	raw, err := c.JSONPb.Marshal(v)
	if err != nil {
		return nil, err
	}
	line := bytes.NewBuffer(make([]byte, 0, len(raw)+1))
	if err := json.Compact(line, raw); err != nil {
		return nil, err
	}
	line.WriteByte('\n')
	return line.Bytes(), nil
}

// NewDecoder reads a whole body, which must be one JSON value; an empty one is io.EOF.
func (c *jsonCodec) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		raw, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(raw)) == 0 {
			return io.EOF
		}
		// All of it: what comes after a value would be dropped without a word.
		if err := json.Unmarshal(raw, new(json.RawMessage)); err != nil {
			return err
		}
		return c.Unmarshal(raw, v)
	})
}
