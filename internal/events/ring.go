package events

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/snowraft/snowraft/internal/clock"
)

const (
	// PerKind is the largest number of events of a kind that a [Ring] keeps.
	PerKind = 60
	// maxText bounds the text of an event, in bytes.
	maxText = 400
	// foldPause is the pause after which a repetition becomes a new event. foldFor is the longest time that one event covers.
	// Both are in ms.
	foldPause = 60_000
	foldFor   = 600_000
)

// Ring keeps the latest events of a member. Its methods may be called from any goroutine and hold a lock only briefly.
type Ring struct {
	watch *clock.Watch

	mu    sync.Mutex
	count uint64
	kinds map[Kind][]*entry // oldest first, at most PerKind per kind
	open  map[string]*entry // keyed by kind and key; receives repetitions
}

// entry is an event with its times on the monotonic clock, in ms.
type entry struct {
	Event
	key         string
	first, last int64
	// unsettled means that no other clock was known at the time of the event. List then derives the Unix time later.
	unsettled bool
}

// New returns an empty ring. Its times come from watch.
func New(watch *clock.Watch) *Ring {
	return &Ring{watch: watch, kinds: make(map[Kind][]*entry), open: make(map[string]*entry)}
}

// Note records an event as [Ring.Add] does, with its text as the key.
func (r *Ring) Note(kind Kind, level slog.Level, text string) {
	r.Add(Event{Kind: kind, Level: level, Text: text}, text)
}

// Add records an event; the event's own number, count and times are ignored. If an event of the same kind and key is recent,
// the new event replaces it, with the number and the first time of the recent event and its count plus 1. An event is recent if
// it occurred last within 60 s and first within 600 s. Add cuts long texts and replaces unprintable characters.
func (r *Ring) Add(e Event, key string) {
	now := r.watch.Now()
	at, key := r.watch.Majority(), string(e.Kind)+" "+key
	e.Text = clean(e.Text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.open[key]; old != nil && now.Mono-old.last <= foldPause && now.Mono-old.first <= foldFor {
		e.Sequence, e.Count, e.FirstMillis, e.LastMillis = old.Sequence, old.Count+1, old.FirstMillis, at
		old.Event, old.last = e, now.Mono
		return
	}
	r.count++
	added := &entry{Event: e, key: key, first: now.Mono, last: now.Mono, unsettled: !r.watch.Settled()}
	added.Sequence, added.Count, added.FirstMillis, added.LastMillis = r.count, 1, at, at
	all := r.kinds[e.Kind]
	if len(all) == PerKind {
		if gone := all[0]; r.open[gone.key] == gone {
			delete(r.open, gone.key)
		}
		all = slices.Delete(all, 0, 1)
	}
	r.kinds[e.Kind], r.open[key] = append(all, added), added
}

// Refused records a failed request with its reason.
func (r *Ring) Refused(reason string, level slog.Level) {
	r.Add(Event{Kind: Refusal, Level: level, Text: "requests failed: " + reason, Reason: reason}, reason)
}

// List returns copies of the events, sorted by Compare.
func (r *Ring) List() []Event {
	now, settled := r.watch.Now(), r.watch.Settled()
	at := r.watch.Majority()
	var all []Event
	r.mu.Lock()
	for _, kind := range r.kinds {
		for _, e := range kind {
			listed := e.Event
			if e.unsettled && settled {
				listed.FirstMillis, listed.LastMillis = at-(now.Mono-e.first), at-(now.Mono-e.last)
			}
			all = append(all, listed)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(all, latestFirst)
	return all
}

// latestFirst orders events by their last occurrence, latest first. Events of the same moment are ordered by their number, highest
// first; the numbers of different processes are unrelated.
func latestFirst(a, b Event) int {
	return cmp.Or(cmp.Compare(b.LastMillis, a.LastMillis), cmp.Compare(b.Sequence, a.Sequence))
}

// clean removes unprintable characters and cuts the text to maxText.
func clean(text string) string {
	if len(text) > maxText {
		text = text[:maxText] + "..."
	}
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return unicode.ReplacementChar
		}
		return c
	}, strings.ToValidUTF8(text, ""))
}
