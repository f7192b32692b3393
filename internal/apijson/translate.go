package apijson

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// translator replaces the strings of enum fields in valid JSON, and copies every other byte.
type translator struct {
	in     []byte
	at     int // next position to read
	out    []byte
	copied int // bytes of in that out covers
	swap   func(f protoreflect.FieldDescriptor, text string) (string, error)
}

// translate returns JSON of a message with what swap makes of each string of an enum field. in must be
// valid JSON. Whether it is JSON of such a message is left to protojson, which wrote it or reads it
// next: values of other types stay as they are. So recursion is as deep as the message's type.
func translate(in []byte, m protoreflect.MessageDescriptor, swap func(protoreflect.FieldDescriptor, string) (string, error)) ([]byte, error) {
	t := &translator{in: in, swap: swap}
	if err := t.message(m); err != nil {
		return nil, err
	}
	return append(t.out, in[t.copied:]...), nil
}

// message translates the next value, expected to be a message of this type.
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

// value translates the next value, expected to be one of this field.
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

// each calls do before each value of the next object, with its key, or of the next array. It skips
// values that do not begin with open.
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

// skip moves behind the next value.
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
		default: // a part of a number or a word, or what stands between values
		}
		t.at++
		if depth == 0 && (t.at == len(t.in) || !inLiteral(t.in[t.at-1]) || !inLiteral(t.in[t.at])) {
			return
		}
	}
}

// inLiteral reports whether numbers, true, false and null consist of such bytes.
func inLiteral(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// unquote returns the text of a JSON string.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // it is valid
	return text
}
