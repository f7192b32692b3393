package layout

import (
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// TestPairsOf: another layout meets a past if it made, or can make, equal bits until now.
func TestPairsOf(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	layoutOf := func(name string, epoch time.Time, past bool, datacenter uint64) *snowflake.Layout {
		return snowflake.MustNew(snowflake.Spec{Name: name, UnitMillis: 1, EpochMillis: epoch.UnixMilli(), Past: past, Datacenter: datacenter, Fields: []snowflake.FieldBits{
			{Field: snowflake.FieldTime, Bits: 41}, {Field: snowflake.FieldDatacenter, Bits: 2}, {Field: snowflake.FieldWorker, Bits: 8}, {Field: snowflake.FieldSequence, Bits: 12},
		}})
	}
	year := func(n int) time.Time { return time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC) }
	archive := layoutOf("archive", year(2015), true, 1)
	for what, c := range map[string]struct {
		other *snowflake.Layout
		want  []pair
	}{
		"another epoch":      {layoutOf("other", year(2020), false, 1), []pair{{"archive", "other"}}},
		"another datacenter": {layoutOf("other", year(2020), false, 2), nil},
		"two pasts":          {layoutOf("other", year(2016), true, 1), []pair{{"archive", "other"}, {"other", "archive"}}},
	} {
		if got := pairsOf([]*snowflake.Layout{archive, c.other}, now.UnixMilli()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	if got := pairsOf([]*snowflake.Layout{archive}, now.UnixMilli()); got != nil {
		t.Errorf("a layout meets itself: %v", got)
	}
}
