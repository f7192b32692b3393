// Package known finds fields and enum values of a message that are not in this program's schema. A program that ignored
// them could do something else than the sender requested, or than the other replicas do. Its only function is [Check].
package known

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Check returns an error that names the first field or enum value in m, at any depth, that is not in this program's
// schema; nil if there is none. The depth of m is bounded by the depth of the schema, which must have no recursive
// message.
func Check(m protoreflect.Message) error {
	if unknown := m.GetUnknown(); len(unknown) > 0 {
		number, _, _ := protowire.ConsumeTag(unknown)
		return fmt.Errorf("unknown field %d in %s", number, m.Descriptor().FullName())
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Message() == nil && field.Enum() == nil || !m.Has(field) { // every number and every text is known
			continue
		}
		if err := checkField(field, m.Get(field)); err != nil {
			return err
		}
	}
	return nil
}

func checkField(field protoreflect.FieldDescriptor, value protoreflect.Value) error {
	if field.IsMap() {
		var err error
		value.Map().Range(func(_ protoreflect.MapKey, value protoreflect.Value) bool {
			err = checkValue(field.MapValue(), value)
			return err == nil
		})
		return err
	}
	if !field.IsList() {
		return checkValue(field, value)
	}
	list := value.List()
	for i := range list.Len() {
		if err := checkValue(field, list.Get(i)); err != nil {
			return err
		}
	}
	return nil
}

func checkValue(field protoreflect.FieldDescriptor, value protoreflect.Value) error {
	switch {
	case field.Message() != nil:
		return Check(value.Message())
	case field.Enum() != nil && field.Enum().Values().ByNumber(value.Enum()) == nil:
		return fmt.Errorf("unknown value %d of %s in %s", value.Enum(), field.Enum().FullName(), field.FullName())
	}
	return nil
}
