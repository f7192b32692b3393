package apply

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// outputOnly lists the fields that members alone set, and those that name an object.
var outputOnly = strings.Fields(`name created_at_ms generation period next remaining frozen deleted last last_at_most template ended_periods moved formats_unknown
	open_reservations unknown_numbers oldest_open_at_ms id disabled begun exhausts_at_ms unit_ms epoch_at_ms`)

// A new field of the API that people set is missing in files until it has a setting.
func TestEveryFieldHasASetting(t *testing.T) {
	t.Parallel()
	for message, fields := range map[protoreflect.ProtoMessage][]string{
		&snowraftv1.Config{}:   fieldsIn(configSettings),
		&snowraftv1.Sequence{}: fieldsIn(sequenceSettings),
		&snowraftv1.Token{}:    fieldsIn(tokenSettings),
		&snowraftv1.Layout{}:   fieldsIn(layoutSettings),
	} {
		all := message.ProtoReflect().Descriptor().Fields()
		for i := range all.Len() {
			if name := string(all.Get(i).Name()); !slices.Contains(fields, name) && !slices.Contains(outputOnly, name) {
				t.Errorf("%s: the field %s has no setting", message.ProtoReflect().Descriptor().Name(), name)
			}
		}
	}
}

// fieldsIn returns the fields of settings. Those of a layout have no masks.
func fieldsIn[M any](all []setting[M]) (fields []string) {
	for _, s := range all {
		fields = append(fields, s.field, strings.ReplaceAll(s.key, "-", "_"))
	}
	return fields
}
