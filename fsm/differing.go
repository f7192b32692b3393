package fsm

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// differing names the fields in which two messages of one type differ, in words: "start and block duration".
func differing(a, b proto.Message) string {
	var names []string
	fields := a.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); !a.ProtoReflect().Get(f).Equal(b.ProtoReflect().Get(f)) {
			names = append(names, words(f.Name()))
		}
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}

// words returns the name of a field without its unit.
func words(name protoreflect.Name) string {
	text := strings.ReplaceAll(string(name), "_", " ")
	return strings.TrimSuffix(strings.TrimSuffix(text, " ms"), " at")
}
