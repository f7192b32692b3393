package fsm

import (
	"fmt"
	"slices"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func TestListingStaysWhileCommandsAreApplied(t *testing.T) {
	m := New(Options{})
	index := uint64(1)
	apply := func(cmd *commandv1.Command) {
		index++
		mustApply(t, m, index, at(epoch, cmd))
	}
	apply(create(plain("a", numbers(1, 1, 1, 10)), 0))
	apply(create(plain("b"), 0))
	apply(create(plain("c", numbers(-1, -2, -9, -1)), 0))
	before := m.Listing()
	for i := range 200 {
		apply(create(plain(fmt.Sprintf("d%03d", i)), 0))
	}
	apply(allocate("a", 2, 4, 0))
	want := []Brief{
		{Name: "a", Remaining: 10, Total: 10, Bounded: true, Periods: Periods{Reset: resetNone, TimeZone: "UTC"}},
		{Name: "b", Periods: Periods{Reset: resetNone, TimeZone: "UTC"}},
		{Name: "c", Remaining: 5, Total: 5, Bounded: true, Periods: Periods{Reset: resetNone, TimeZone: "UTC"}},
	}
	if got := slices.Collect(before.After("", nil)); !slices.Equal(got, want) || before.Len() != 3 {
		t.Errorf("listing of before: %+v, want %+v", got, want)
	}
	now := m.Listing()
	for b := range now.After("a", nil) {
		if b.Name != "b" {
			t.Errorf("first after a: %+v", b)
		}
		break
	}
	if s, ok := now.Sequence("a"); now.Len() != 203 || !ok || s.Remaining != 6 {
		t.Errorf("listing of now: %d sequences, %+v", now.Len(), s)
	}
}

// A listing has the sequences that began with one template, without those of others and without created ones.
func TestListingOfTemplate(t *testing.T) {
	m := New(Options{})
	index := uint64(1)
	apply := func(cmd *commandv1.Command) {
		index++
		mustApply(t, m, index, at(epoch, cmd))
	}
	apply(raise(Version))
	generations := map[string]uint64{}
	for _, pattern := range []string{"a/*", "a/x*"} {
		apply(createTemplate(templateOf(pattern)))
		generations[pattern] = index
	}
	apply(create(plain("a/created"), 0))
	for _, name := range []string{"a/3", "a/1", "a/x1", "a/2"} {
		pattern := "a/*"
		if name == "a/x1" {
			pattern = "a/x*"
		}
		apply(begin(name, generations[pattern], 0))
	}
	for after, want := range map[string][]string{"": {"a/1", "a/2", "a/3"}, "a/1": {"a/2", "a/3"}, "a/15": {"a/2", "a/3"}, "a/3": nil, "b": nil} {
		var got []string
		for s := range m.Listing().Begun("a/*", after) {
			got = append(got, s.Spec.GetName())
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %q: %q, want %q", after, got, want)
		}
	}
}

// BenchmarkListing reads 100,000 sequences, like a list that is ordered by the numbers that remain.
func BenchmarkListing(b *testing.B) {
	m := manySequencesIn(b, sequenceEntries(b, manySequences, func(i int, s *commandv1.SequenceSpec) { s.Max = 1000 + int64(i) }))
	b.ReportAllocs()
	for b.Loop() {
		bounded := 0
		for s := range m.Listing().After("", nil) {
			if s.Bounded {
				bounded++
			}
		}
		if bounded != manySequences {
			b.Fatal(bounded)
		}
	}
}
