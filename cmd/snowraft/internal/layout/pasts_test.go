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

// A check of one layout names the pairs in which it is, among all layouts of the cluster.
func TestPairsWithALayout(t *testing.T) {
	layout := func(name string) *snowflake.Layout {
		spec := snowflake.Default().Spec()
		spec.Name = name
		return snowflake.MustNew(spec)
	}
	all := []pair{{"archive", "other"}, {"b", "archive"}, {"b", "c"}}
	if got := pairsWith([]*snowflake.Layout{layout("archive")}, all); !slices.Equal(got, all[:2]) {
		t.Errorf("%v, want %v", got, all[:2])
	}
	if got := pairsWith([]*snowflake.Layout{layout("d")}, all); got != nil {
		t.Errorf("%v of a layout in no pair", got)
	}
}

// The past of a layout counts as issued: it meets a system that stopped long ago, which the same layout without a past never does.
func TestPastMeetsAnExistingSystem(t *testing.T) {
	twitter, _ := snowflake.Preset("twitter")
	spec := twitter.Spec()
	old := system(t, "--preset twitter --since 2015-01-01T00:00:00Z --until 2016-01-01T00:00:00Z")
	if m := meet(old, snowflake.MustNew(spec), now); m.Meets {
		t.Errorf("without a past: %+v", m)
	}
	spec.Past = true
	m := meet(old, snowflake.MustNew(spec), now)
	if first := time.UnixMilli(m.FirstAtMS).UTC(); !m.Meets || first.Year() != 2015 || m.LastAtMS < m.FirstAtMS {
		t.Errorf("with a past: %+v, first at %v", m, first)
	}
	spec.Datacenter = 1
	if m := meet(system(t, "--preset twitter --datacenter 0 --until 2016-01-01T00:00:00Z"), snowflake.MustNew(spec), now); m.Meets {
		t.Errorf("in another datacenter: %+v", m)
	}
}
