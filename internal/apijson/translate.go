package apijson

import (
	"bytes"
	"encoding/json"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// translator replaces the strings of enum fields in valid JSON, and copies every other byte.
type translator struct {
	in     []byte
	tokens *json.Decoder // reads in
	out    []byte
	copied int64 // number of bytes of in that out covers
	swap   func(f protoreflect.FieldDescriptor, text string) (string, error)
}

// translate returns the JSON of a message with each string of an enum field replaced by the result of swap. in must be
// valid JSON. translate copies values of types that the message does not have. protojson, which wrote
// the JSON or reads it next, checks the types. So the recursion is as deep as the message's type.
func translate(in []byte, m protoreflect.MessageDescriptor, swap func(protoreflect.FieldDescriptor, string) (string, error)) ([]byte, error) {
	if !translated(m) { // most answers, such as IDs, need no second reading
		return in, nil
	}
	t := &translator{in: in, tokens: json.NewDecoder(bytes.NewReader(in)), swap: swap}
	t.tokens.UseNumber() // no number is out of range
	if err := t.message(m); err != nil {
		return nil, err
	}
	return append(t.out, in[t.copied:]...), nil
}

// enums holds whether messages have enum fields, by descriptor.
var enums sync.Map

// translated reports whether a message of a type, or a message in it, has an enum field. A type that contains itself may have one.
func translated(m protoreflect.MessageDescriptor) bool {
	if has, known := enums.Load(m); known {
		return has.(bool)
	}
	enums.Store(m, true) // while the types of its fields are looked up
	has := false
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		has = has || ownEnum(f) || own(f.Message()) && translated(f.Message())
	}
	enums.Store(m, has)
	return has
}

// own reports whether a message type is one of the API's.
func own(m protoreflect.MessageDescriptor) bool {
	return m != nil && m.ParentFile().Package() == Package
}

// ownEnum reports whether the values of a field are those of an enum of the API.
func ownEnum(f protoreflect.FieldDescriptor) bool {
	return f.Enum() != nil && f.Enum().ParentFile().Package() == Package
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
			return t.skip()
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
	begin := t.next()
	switch {
	case own(f.Message()):
		return t.message(f.Message())
	case t.in[begin] != '"' || !ownEnum(f):
		return t.skip()
	}
	var text string
	if err := t.tokens.Decode(&text); err != nil {
		return err
	}
	text, err := t.swap(f, text)
	if err != nil {
		return err
	}
	t.out = append(append(append(append(t.out, t.in[t.copied:begin]...), '"'), text...), '"')
	t.copied = t.tokens.InputOffset()
	return nil
}

// each calls do before each value of the next object or array, with the key of a value in an object. It skips
// a next value that does not begin with open.
func (t *translator) each(open byte, do func(key string) error) error {
	if t.in[t.next()] != open {
		return t.skip()
	}
	_, err := t.tokens.Token()
	for err == nil && t.tokens.More() {
		key := json.Token("")
		if open == '{' {
			if key, err = t.tokens.Token(); err != nil {
				return err
			}
		}
		err = do(key.(string)) // keys are strings
	}
	if err == nil {
		_, err = t.tokens.Token()
	}
	return err
}

// next returns the position of the next value, key or closing bracket.
func (t *translator) next() int64 {
	at := t.tokens.InputOffset()
	for bytes.IndexByte([]byte(" \t\r\n,:"), t.in[at]) >= 0 {
		at++
	}
	return at
}

// skip moves past the next value.
func (t *translator) skip() error { return t.tokens.Decode(new(json.RawMessage)) }
