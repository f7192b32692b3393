package client

import (
	"time"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// SequenceUpdate holds new values for fields of a [SequenceSpec]. A nil field keeps its value. A zero value has the same
// meaning as in the specification.
type SequenceUpdate struct {
	Mode                       *SequenceMode
	Start, Increment, Min, Max *int64
	Reset                      *sequence.Reset
	YearStarts                 *sequence.YearStart
	Late                       *time.Duration
	TimeZone, Format           *string
	Description                *string
	BlockDuration              *time.Duration
	MinBlock, MaxBlock         *int
	Reuse                      *bool
}

// message returns the new values as a message of the API, with the mask of their fields.
func (u *SequenceUpdate) message(name string) (*snowraftv1.Sequence, *fieldmaskpb.FieldMask) {
	spec, mask := SequenceSpec{Name: name, Start: u.Start, Increment: u.Increment, Min: u.Min, Max: u.Max}, new(fieldmaskpb.FieldMask)
	for _, f := range []struct {
		path string
		set  bool
	}{
		{"start", u.Start != nil}, {"increment", u.Increment != nil}, {"min", u.Min != nil}, {"max", u.Max != nil},
		{"mode", take(&spec.Mode, u.Mode)}, {"reset", take(&spec.Reset, u.Reset)},
		{"year_starts", take(&spec.YearStarts, u.YearStarts)},
		{"late_ms", take(&spec.Late, u.Late)},
		{"time_zone", take(&spec.TimeZone, u.TimeZone)}, {"format", take(&spec.Format, u.Format)},
		{"description", take(&spec.Description, u.Description)}, {"block_duration_ms", take(&spec.BlockDuration, u.BlockDuration)},
		{"min_block", take(&spec.MinBlock, u.MinBlock)}, {"max_block", take(&spec.MaxBlock, u.MaxBlock)},
		{"reuse", take(&spec.Reuse, u.Reuse)},
	} {
		if f.set {
			mask.Paths = append(mask.Paths, f.path)
		}
	}
	return spec.message(), mask
}

// take sets a field if value is not nil, and reports whether it did.
func take[T any](field, value *T) bool {
	if value != nil {
		*field = *value
	}
	return value != nil
}
