package api

import (
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The defaults of omitted fields depend on the given fields, whatever the order of the mask.
func TestDefaultsOfSequences(t *testing.T) {
	t.Parallel()
	check := func(what string, spec *commandv1.SequenceSpec, err error) {
		if err != nil || spec.GetStart() != -1 || spec.GetMin() != math.MinInt64 || spec.GetMax() != -1 ||
			spec.GetMinBlock() != 20_000_000 || spec.GetMaxBlock() != 20_000_000 {
			t.Errorf("%s: %v, %v", what, spec, err)
		}
	}
	m := &snowraftv1.Sequence{Name: "s", Increment: proto.Int64(-1), MinBlock: 20_000_000}
	created, err := newSequenceSpec(m)
	check("created", created, err)

	updated, err := newSequenceSpec(&snowraftv1.Sequence{Name: "s", Start: proto.Int64(5), Min: proto.Int64(2), Max: proto.Int64(9)})
	if err != nil {
		t.Fatal(err)
	}
	fields, err := updateFields(&snowraftv1.UpdateSequenceRequest{Sequence: m, UpdateMask: &fieldmaskpb.FieldMask{
		Paths: []string{"max_block", "max", "min", "start", "increment", "min_block"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	check("updated", updated, updateSpec(updated, m, fields))
}

// A body of {} is a mask with one empty path.
func TestUpdateWithoutFieldsIsRefused(t *testing.T) {
	t.Parallel()
	none := &fieldmaskpb.FieldMask{Paths: []string{""}}
	_, sequence := updateFields(&snowraftv1.UpdateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "s"}, UpdateMask: none})
	_, config := configFields(&snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{}, UpdateMask: none})
	for _, err := range []error{sequence, config} {
		if err == nil || !strings.HasPrefix(err.Error(), "no field to change; set at least one of ") {
			t.Errorf("error = %v", err)
		}
	}
}
