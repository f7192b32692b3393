package cluster

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/events"
)

// noted collects the texts of events.
type noted []string

func (n *noted) Note(kind events.Kind, _ slog.Level, text string) {
	*n = append(*n, string(kind)+": "+text)
}

func (n *noted) take() []string {
	taken := *n
	*n = nil
	return taken
}

func TestChronicleNotesDifferences(t *testing.T) {
	t.Parallel()
	a := Member{ID: "1", Name: "a", Voter: true, Alive: true, Starts: 1}
	b := Member{ID: "2", Name: "b", Voter: true, Alive: true, Starts: 1}
	c := Member{ID: "3", Name: "c", Voter: true, Alive: true, Starts: 1}
	dead := func(m Member) Member { m.Alive = false; return m }
	again := func(m Member) Member { m.Starts++; return m }
	nonvoter := func(m Member) Member { m.Voter = false; return m }
	nameless := func(m Member) Member { m.Name, m.Alive, m.Starts = "", false, 0; return m }
	unnamed := func(m Member) Member { m.Name = ""; return m }
	renamed := func(m Member) Member { m.Name = "d"; return m }
	led := func(m Member, term uint64) sighting { return sighting{leader: m, term: term} }
	var got noted
	ch := chronicle{events: &got, self: "2"}
	for i, step := range []struct {
		sighting sighting
		members  []Member
		want     []string
	}{
		{sighting{}, nil, nil},
		{led(a, 1), []Member{a, b}, []string{"election: a leads in term 1"}},
		{led(a, 1), []Member{a, b}, nil},
		{led(a, 1), []Member{a, b, nonvoter(c)}, []string{"membership: c (3) joined as a nonvoter"}},
		{led(a, 1), []Member{a, b, c}, []string{"membership: c was promoted to voter"}},
		{sighting{term: 1}, []Member{dead(a), b, c}, []string{"election: no leader known; a led in term 1", "membership: a is unreachable"}},
		{sighting{term: 1}, []Member{dead(a), b, dead(c)}, []string{"membership: c is unreachable", "membership: quorum lost: 1 of 3 voters reachable, 2 needed"}},
		{led(b, 3), []Member{dead(a), b, again(c)}, []string{"membership: c is reachable", "membership: quorum regained: 2 of 3 voters reachable"}},
		{led(b, 3), []Member{nameless(a), b, again(c)}, nil},
		{led(c, 4), []Member{dead(a), b, again(again(c))}, []string{"election: c leads in term 4", "membership: c was restarted"}},
		{led(c, 4), []Member{b, again(again(c))}, []string{"membership: a (1) left the cluster or was removed"}},
		{led(c, 4), []Member{renamed(b), again(again(c))}, []string{"membership: b (2) was renamed to d"}},
		{led(c, 4), []Member{unnamed(b), again(again(c))}, nil},
	} {
		step.sighting.quorum = QuorumOf(step.members)
		ch.record(step.sighting, step.members)
		if taken := got.take(); !slices.Equal(taken, step.want) {
			t.Errorf("step %d notes %q, want %q", i, taken, step.want)
		}
	}
}

func TestChronicleNotesClockJumps(t *testing.T) {
	t.Parallel()
	now := clock.Reading{Wall: 1_000_000, Mono: 1000}
	watch := clock.NewWatch(func() clock.Reading { return now }, nil, clock.Limits{WaitThreshold: time.Second, MaxOffset: 500 * time.Millisecond})
	var got noted
	ch := chronicle{events: &got}
	for i, step := range []struct {
		wall, mono int64
		want       []string
	}{
		{0, 0, nil},
		{1000, 1000, nil},
		{1200, 1000, nil}, // a correction by NTP
		{6000, 1000, []string{
			"clock: this clock moved forward by 5s, or the machine was suspended",
			"clock: this clock is 5.2s from the majority's, limit 500ms",
		}},
		{-4000, 1000, []string{"clock: this clock moved backwards by 5s", "clock: this clock agrees with the majority's again"}},
	} {
		now.Wall += step.wall
		now.Mono += step.mono
		ch.recordClock(watch)
		if taken := got.take(); !slices.Equal(taken, step.want) {
			t.Errorf("step %d notes %q, want %q", i, taken, step.want)
		}
	}
}
