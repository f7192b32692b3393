package events

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/snowraft/snowraft/internal/clock"
)

// machine is a clock that tests set.
type machine struct{ clock.Reading }

func (m *machine) pass(d time.Duration) {
	m.Wall += d.Milliseconds()
	m.Mono += d.Milliseconds()
}

func newRing() (*Ring, *machine, *clock.Watch) {
	m := &machine{clock.Reading{Wall: 1_000_000, Mono: 1000}}
	watch := clock.NewWatch(func() clock.Reading { return m.Reading }, nil, clock.Limits{WaitThreshold: time.Second, MaxOffset: time.Second})
	return New(watch), m, watch
}

func TestStormKeepsEventsOfOtherKinds(t *testing.T) {
	t.Parallel()
	r, m, _ := newRing()
	r.Note(Election, slog.LevelInfo, "b leads")
	for i := range 100_000 {
		m.pass(time.Millisecond)
		r.Refused(fmt.Sprint("REASON_", i%(2*PerKind)), slog.LevelWarn)
		r.Note(Window, slog.LevelWarn, fmt.Sprint("worker lost: ", i))
	}
	of := make(map[Kind]int)
	for _, e := range r.List() {
		of[e.Kind]++
	}
	if of[Election] != 1 || of[Refusal] != PerKind || of[Window] != PerKind {
		t.Errorf("events by kind: %v", of)
	}
	if len(r.open) > 2*PerKind+1 {
		t.Errorf("%d events open, of at most %d kept", len(r.open), 2*PerKind+1)
	}
}

func TestRepetitionsFoldIntoOneEvent(t *testing.T) {
	t.Parallel()
	r, m, _ := newRing()
	began := m.Wall
	for range 1000 {
		r.Refused("NO_LEADER", slog.LevelWarn)
		m.pass(100 * time.Millisecond)
	}
	r.Refused("CLOCK_BEHIND", slog.LevelWarn)
	list := r.List()
	if len(list) != 2 || list[1].Reason != "NO_LEADER" || list[1].Count != 1000 ||
		list[1].FirstMillis != began || list[1].LastMillis != began+99_900 || list[0].Count != 1 {
		t.Errorf("events %+v", list)
	}
	m.pass(foldPause*time.Millisecond + time.Second)
	r.Refused("NO_LEADER", slog.LevelWarn)
	if list = r.List(); len(list) != 3 || list[0].Count != 1 {
		t.Errorf("after a pause: %+v", list)
	}
	for range 20 { // longer than one event covers
		m.pass(foldPause * time.Millisecond)
		r.Refused("NO_LEADER", slog.LevelWarn)
	}
	if list = r.List(); len(list) != 4 || list[0].Count+list[1].Count != 21 {
		t.Errorf("for twenty minutes: %+v", list)
	}
}

func TestRepetitionShowsTheLastEvent(t *testing.T) {
	t.Parallel()
	r, m, _ := newRing()
	began := m.Wall
	r.Note(Process, slog.LevelInfo, "started")
	r.Add(Event{Kind: Denial, Level: slog.LevelInfo, Text: "delete sequence \"a\": failed", Address: "10.0.0.1:1"}, "key")
	m.pass(time.Second)
	r.Add(Event{Kind: Denial, Level: slog.LevelWarn, Text: "delete sequence\n\"b\": refused", Address: "10.0.0.2:2"}, "key")
	want := Event{
		Sequence: 2, Kind: Denial, Level: slog.LevelWarn, Text: "delete sequence\ufffd\"b\": refused", Count: 2,
		FirstMillis: began, LastMillis: began + 1000, Address: "10.0.0.2:2",
	}
	if got := r.List()[0]; got != want {
		t.Errorf("event %+v, want %+v", got, want)
	}
}

func TestTimesAreThoseOfTheMajority(t *testing.T) {
	t.Parallel()
	r, m, watch := newRing()
	r.Note(Process, slog.LevelInfo, "started") // 10 s behind, still unknown
	m.pass(2 * time.Second)
	for _, peer := range []string{"b", "c"} {
		watch.ObservePeer(peer, m.Wall+10_000, 0)
	}
	r.Note(Clock, slog.LevelError, "behind")
	now := m.Wall + 10_000
	m.Wall += 10_000 // corrected
	m.pass(3 * time.Second)
	watch.Update()
	r.Note(Clock, slog.LevelInfo, "right")
	want := []int64{now + 3000, now, now - 2000}
	for i, e := range r.List() {
		if e.LastMillis != want[i] || e.FirstMillis != want[i] {
			t.Errorf("%s at %d, want %d", e.Text, e.LastMillis, want[i])
		}
	}
}

func TestTextsAreCutAndPrintable(t *testing.T) {
	t.Parallel()
	r, _, _ := newRing()
	r.Note(Process, slog.LevelInfo, "a\x1b[31m\n\xff"+strings.Repeat("é", 100_000))
	text := r.List()[0].Text
	if len(text) > maxText+20 || strings.ContainsAny(text, "\x1b\n") || !utf8.ValidString(text) || !strings.HasSuffix(text, "...") {
		t.Errorf("text of %d bytes: %q", len(text), text[:20])
	}
}
