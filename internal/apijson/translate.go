package apijson

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// translator replaces the strings of enum fields in valid JSON, and copies every other byte. The tokens of encoding/json would take
// three times as many allocations for each response.
type translator struct {
	in     []byte
	at     int // next position to read
	out    []byte
	copied int // number of bytes of in that out covers
	swap   func(f protoreflect.FieldDescriptor, text string) (string, error)
}

// translate returns the JSON of a message with each string of an enum field replaced by the result of swap. in must be
// valid JSON. translate copies values of types that the message does not have. protojson, which wrote
// the JSON or reads it next, checks the types. So the recursion is as deep as the message's type.
func translate(in []byte, m protoreflect.MessageDescriptor, swap func(protoreflect.FieldDescriptor, string) (string, error)) ([]byte, error) {
	t := &translator{in: in, swap: swap}
	if err := t.message(m); err != nil {
		return nil, err
	}
	return append(t.out, in[t.copied:]...), nil
}

// message translates the next value, which should be a message of type m.
func (t *translator) message(m protoreflect.MessageDescriptor) error {
	return t.each('{', func(key string) error {
		f := m.Fields().ByJSONName(key)
		if f == nil {
			f = m.Fields().ByTextName(key)
		}
		switch {
		case f == nil:
			t.skip()
			return nil
		case f.IsMap():
			return t.each('{', func(string) error { return t.value(f.MapValue()) })
		case f.IsList():
			return t.each('[', func(string) error { return t.value(f) })
		default:
			return t.value(f)
		}
	})
}

// value translates the next value, which should be a value of the field f.
func (t *translator) value(f protoreflect.FieldDescriptor) error {
	if m := f.Message(); m != nil && m.ParentFile().Package() == Package {
		return t.message(m)
	}
	begin := t.peek()
	t.skip()
	if t.in[begin] != '"' || f.Enum() == nil || f.Enum().ParentFile().Package() != Package {
		return nil
	}
	text, err := t.swap(f, unquote(t.in[begin:t.at]))
	if err != nil {
		return err
	}
	t.out = append(append(append(append(t.out, t.in[t.copied:begin]...), '"'), text...), '"')
	t.copied = t.at
	return nil
}

// each calls do before each value of the next object or array, with the key of a value in an object. It skips
// a next value that does not begin with open.
func (t *translator) each(open byte, do func(key string) error) error {
	if t.in[t.peek()] != open {
		t.skip()
		return nil
	}
	for t.at++; t.in[t.peek()] != open+('}'-'{'); {
		key := ""
		if open == '{' {
			begin := t.at
			t.skip()
			key = unquote(t.in[begin:t.at])
		}
		if err := do(key); err != nil {
			return err
		}
	}
	t.at++
	return nil
}

// peek moves to the next value, key or closing bracket, and returns its position.
func (t *translator) peek() int {
	for bytes.IndexByte([]byte(" \t\r\n,:"), t.in[t.at]) >= 0 {
		t.at++
	}
	return t.at
}

// skip moves past the next value.
func (t *translator) skip() {
	t.peek()
	for depth := 0; ; {
		switch c := t.in[t.at]; c {
		case '"':
			for t.at++; t.in[t.at] != '"'; t.at++ {
				if t.in[t.at] == '\\' {
					t.at++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default: // part of a number or a word, or a separator of values
		}
		t.at++
		if depth == 0 && (t.at == len(t.in) || !inLiteral(t.in[t.at-1]) || !inLiteral(t.in[t.at])) {
			return
		}
	}
}

// inLiteral reports whether c can be a byte of a number, true, false or null.
func inLiteral(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// unquote returns the text of a JSON string.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // the input is valid JSON
	return text
}
