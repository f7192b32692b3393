package web

import (
	"bytes"
	"fmt"
	"io"
	"reflect"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/apijson"
)

// codec reads and writes the JSON of /v1, one line per message.
var codec = &jsonCodec{}

// jsonCodec implements runtime.Marshaler for protobuf messages. Bodies hold nothing else.
type jsonCodec struct{ runtime.JSONPb }

// Marshal writes a message.
func (*jsonCodec) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message", v)
	}
	line, err := apijson.Marshal(m)
	return append(line, '\n'), err
}

// Unmarshal reads into a message, or into a field of a message. The type of such a field is a pointer to a message.
func (*jsonCodec) Unmarshal(raw []byte, v any) error {
	if m, ok := v.(proto.Message); ok {
		return apijson.Unmarshal(raw, m)
	}
	field := reflect.ValueOf(v).Elem()
	field.Set(reflect.New(field.Type().Elem()))
	m, ok := reflect.TypeAssert[proto.Message](field)
	if !ok {
		return fmt.Errorf("%T is not a message", v)
	}
	return apijson.Unmarshal(raw, m)
}

// NewDecoder returns a decoder that reads a whole body, which must be one JSON value. An empty body is io.EOF.
func (c *jsonCodec) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		raw, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(raw)) == 0 {
			return io.EOF
		}
		return c.Unmarshal(raw, v)
	})
}
