package rpc_test

import (
	"regexp"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// small matches 64-bit fields that stay below 2^53: times, durations, and what the cluster counts up from 1.
var small = regexp.MustCompile(`(_ms|generation|token|\.Stream\w+\.id)$`)

// JavaScript rounds numbers above 2^53. Generated code must have IDs and numbers as strings.
func TestLargeFieldsAreStringsInJavaScript(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, file := range []protoreflect.FileDescriptor{snowraftv1.File_snowraft_v1_id_proto, snowraftv1.File_snowraft_v1_sequence_proto} {
		for i := range file.Messages().Len() {
			fields := file.Messages().Get(i).Fields()
			for j := range fields.Len() {
				f := fields.Get(j)
				switch f.Kind() {
				case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sfixed64Kind, protoreflect.Fixed64Kind:
				default:
					continue
				}
				if small.MatchString(string(f.FullName())) {
					continue
				}
				checked++
				if f.Options().(*descriptorpb.FieldOptions).GetJstype() != descriptorpb.FieldOptions_JS_STRING {
					t.Errorf("%s has no [jstype = JS_STRING]", f.FullName())
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("%d fields were checked", checked)
	}
}
