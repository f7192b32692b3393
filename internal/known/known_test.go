package known_test

import (
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/internal/known"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestCheckFindsWhatTheSchemaLacks(t *testing.T) {
	t.Parallel()
	unknown := func(m proto.Message) {
		m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1))
	}
	update := func(change func(*snowraftv1.UpdateSequenceRequest)) proto.Message {
		m := &snowraftv1.UpdateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: "s", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"mode"}},
		}
		change(m)
		return m
	}
	list := &snowraftv1.CreateLayoutRequest{Layout: &snowraftv1.Layout{Fields: []*snowraftv1.Field{{Bits: 1}, {Bits: 2}}}}
	for what, c := range map[string]struct {
		m    proto.Message
		want string
	}{
		"nothing":   {update(func(*snowraftv1.UpdateSequenceRequest) {}), ""},
		"top level": {update(func(m *snowraftv1.UpdateSequenceRequest) { unknown(m) }), "unknown field 999 in snowraft.v1.UpdateSequenceRequest"},
		"nested":    {update(func(m *snowraftv1.UpdateSequenceRequest) { unknown(m.GetSequence()) }), "unknown field 999 in snowraft.v1.Sequence"},
		"mask":      {update(func(m *snowraftv1.UpdateSequenceRequest) { unknown(m.GetUpdateMask()) }), "unknown field 999 in google.protobuf.FieldMask"},
		"enum":      {update(func(m *snowraftv1.UpdateSequenceRequest) { m.Sequence.Mode = 77 }), "unknown value 77 of snowraft.v1.SequenceMode in snowraft.v1.Sequence.mode"},
		"map":       {&errdetails.ErrorInfo{Metadata: map[string]string{"a": "b"}}, ""},
		"list": {func() proto.Message {
			unknown(list.GetLayout().GetFields()[1])
			return list
		}(), "unknown field 999 in snowraft.v1.Field"},
	} {
		got := ""
		if err := known.Check(c.m.ProtoReflect()); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: Check() = %q, want %q", what, got, c.want)
		}
	}
}
