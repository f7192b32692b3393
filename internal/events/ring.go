package events

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/snowraft/snowraft/internal/clock"
)

const (
	// PerKind is the most events of a kind that a [Ring] keeps.
	PerKind = 60
	// maxText bounds the text of an event, in bytes.
	maxText = 400
	// foldPause is the pause after which a repetition is an event of its own, and foldFor the time that one event covers at
	// most, both in ms.
	foldPause = 60_000
	foldFor   = 600_000
)

// Ring keeps the last events of a member. Its methods may be called from any goroutine, and take a lock for a moment.
type Ring struct {
	watch *clock.Watch

	mu    sync.Mutex
	count uint64
	kinds map[Kind][]*entry // the oldest first, at most PerKind of each
	open  map[string]*entry // by kind and key: what a repetition is folded into
}

// entry is an event with its times on the monotonic clock, in ms.
type entry struct {
	Event
	key         string
	first, last int64
	// unsettled: no other clock was known yet, so that the time is worked out when it is read.
	unsettled bool
}

// New returns an empty ring. It takes its times from the judge of the member's clock.
func New(watch *clock.Watch) *Ring {
	return &Ring{watch: watch, kinds: make(map[Kind][]*entry), open: make(map[string]*entry)}
}

// Note records an event. One with the same text, not long ago, counts once more instead.
func (r *Ring) Note(kind Kind, level slog.Level, text string) {
	r.Add(Event{Kind: kind, Level: level, Text: text}, text)
}

// Add records an event without a time. One of its kind with the same key, not long ago, counts once
// more instead, with the new text.
func (r *Ring) Add(e Event, key string) {
	now := r.watch.Now()
	at, key := now.Wall-r.watch.Offset().Milliseconds(), string(e.Kind)+" "+key
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.open[key]; old != nil && now.Mono-old.last <= foldPause && now.Mono-old.first <= foldFor {
		old.Count++
		old.last, old.LastMillis = now.Mono, at
		if e.Text != old.key {
			old.Text = clean(e.Text)
		}
		return
	}
	r.count++
	added := &entry{Event: e, key: key, first: now.Mono, last: now.Mono, unsettled: !r.watch.Settled()}
	added.Sequence, added.Count, added.FirstMillis, added.LastMillis, added.Text = r.count, 1, at, at, clean(e.Text)
	all := r.kinds[e.Kind]
	if len(all) == PerKind {
		if gone := all[0]; r.open[gone.key] == gone {
			delete(r.open, gone.key)
		}
		all = slices.Delete(all, 0, 1)
	}
	r.kinds[e.Kind], r.open[key] = append(all, added), added
}

// Refused counts a request that failed with a reason.
func (r *Ring) Refused(reason string, level slog.Level) {
	r.Add(Event{Kind: Refusal, Level: level, Text: "requests failed: " + reason, Reason: reason}, reason)
}

// List returns the events, those with the latest last occurrence first.
func (r *Ring) List() []Event {
	now, settled := r.watch.Now(), r.watch.Settled()
	at := now.Wall - r.watch.Offset().Milliseconds()
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
	slices.SortFunc(all, Compare)
	return all
}

// Compare orders events by their last occurrence, the latest first, and those of one moment and process by their number.
func Compare(a, b Event) int {
	switch {
	case a.LastMillis != b.LastMillis:
		if a.LastMillis > b.LastMillis {
			return -1
		}
		return 1
	case a.Sequence > b.Sequence:
		return -1
	case a.Sequence < b.Sequence:
		return 1
	}
	return 0
}

// clean returns a text of printable characters, cut to maxText.
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
