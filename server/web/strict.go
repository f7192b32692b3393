package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// strict is a connection that rejects calls with query parameters that match no field of the request. The gateway would drop
// them: a misspelled count, or a count in the query of a POST, would then mean 1. It also sets the defaults of
// JSON, which differ from those of gRPC.
type strict struct{ grpc.ClientConnInterface }

// Invoke implements grpc.ClientConnInterface.
func (s strict) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if c := callOf(ctx); c != nil && len(c.query) > 0 {
		if e := checkQuery(method, args.(proto.Message).ProtoReflect().Descriptor(), slices.Sorted(maps.Keys(c.query))); e != nil {
			return e
		}
	}
	if req, ok := args.(*snowraftv1.GenerateIdsRequest); ok && req.Packed == nil {
		req.Packed = new(true) // the IDs of a range are sums beyond the precision of JavaScript's numbers
	}
	return s.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

func checkQuery(method string, request protoreflect.MessageDescriptor, keys []string) error {
	rule := rpc.RuleOf(method).HTTP
	given := make(map[string]string) // keys by field
	for _, key := range keys {
		field, ok := fieldOf(request, key)
		switch {
		case rule.GetBody() == "*":
			return invalid(fmt.Sprintf("query parameter %s: send the fields of this request in its body", key))
		case inPath(rule, key) || key == rule.GetBody() || (rule.GetBody() != "" && strings.HasPrefix(key, rule.GetBody()+".")):
			return invalid(fmt.Sprintf("query parameter %s: it belongs elsewhere in this request; see /openapi.json", key))
		case !ok:
			return invalid(fmt.Sprintf("unknown query parameter %s; see /openapi.json", key))
		case given[field] != "":
			return invalid(fmt.Sprintf("query parameters %s and %s name the same field; send one of them", given[field], key))
		}
		given[field] = key
	}
	return nil
}

// checkNames returns an error if a field in the body differs from the same field in the path, such as {"name": "b"} for
// /v1/sequences/a. The path would silently take precedence.
func checkNames(params map[string]string, r io.Reader) *rpc.Error {
	b, ok := r.(body)
	if !ok {
		return nil
	}
	for path, inPath := range params {
		_, field, nested := strings.Cut(path, ".")
		if !nested {
			continue // a field of the request, which is not in the body
		}
		var fields map[string]json.RawMessage
		err := json.NewDecoder(b).Decode(&fields)
		_, _ = b.Seek(0, io.SeekStart)
		var inBody *string
		if err != nil || json.Unmarshal(fields[field], &inBody) != nil {
			continue // the decoder of the whole body reports the error
		}
		if inBody != nil && *inBody != inPath {
			return invalid(fmt.Sprintf("the body has the %s %q and the path %q: expected the same, or none in the body", field, *inBody, inPath))
		}
	}
	return nil
}

func inPath(rule *annotations.HttpRule, key string) bool {
	template := rule.GetGet() + rule.GetPost() + rule.GetPatch() + rule.GetPut() + rule.GetDelete()
	return strings.Contains(template, "{"+key+"}") || strings.Contains(template, "{"+key+"=")
}

// fieldOf returns the proto name of the field that a key names. The key has the JSON name or the proto name of the field, and
// may name a nested field, such as "sequence.name".
func fieldOf(m protoreflect.MessageDescriptor, key string) (path string, ok bool) {
	name, rest, nested := strings.Cut(key, ".")
	f := m.Fields().ByJSONName(name)
	if f == nil {
		f = m.Fields().ByTextName(name)
	}
	switch {
	case f == nil:
		return "", false
	case !nested:
		return f.TextName(), true
	case f.Message() == nil || f.IsList():
		return "", false
	}
	path, ok = fieldOf(f.Message(), rest)
	return f.TextName() + "." + path, ok
}
