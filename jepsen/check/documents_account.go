package check

import (
	"maps"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
)

// mostNumbers is the greatest number of a period that a run can reach.
const mostNumbers = 1 << 24

// fatesOf returns the fate of each number of an account, from the first to the last. Missing numbers have none. It returns
// false if the account contradicts itself.
func (b *books) fatesOf(a history.Account) (fates []string, ok bool) {
	size := a.Last - a.First + 1
	if size < 0 || size > mostNumbers {
		b.v.fail("the account of %q in %q has %d numbers", a.Sequence, a.Period, size)
		return nil, false
	}
	fates = make([]string, size)
	counts := map[string]uint64{}
	end := a.First
	for _, run := range a.Runs {
		if run.First < end || run.First+int64(run.Count)-1 > a.Last { //nolint:gosec // G115: a count of numbers
			b.v.fail("the account of %q in %q lists the numbers from %d out of order or beyond %d", a.Sequence, a.Period, run.First, a.Last)
			return nil, false
		}
		for range run.Count {
			fates[run.First-a.First] = run.Fate
			run.First++
		}
		counts[run.Fate] += run.Count
		end = run.First
	}
	missing := a.Missing // the highest ones without a run
	for i := len(fates) - 1; i >= 0; i-- {
		switch {
		case fates[i] != "":
		case missing > 0:
			missing--
		default:
			fates[i] = history.FateConfirmed
			counts[history.FateConfirmed]++
		}
	}
	want := map[string]uint64{
		history.FateConfirmed: a.Confirmed, history.FateVoid: a.Void, history.FateTaken: a.Taken, history.FateOpen: a.Open,
		history.FateUnknown: a.Unknown,
	}
	maps.DeleteFunc(want, func(_ string, n uint64) bool { return n == 0 })
	if !maps.Equal(counts, want) {
		b.v.fail("the account of %q in %q counts %v numbers by fate, but lists %v", a.Sequence, a.Period, want, counts)
		return nil, false
	}
	return fates, true
}

// judgeAccount compares the fates of a period's numbers with the rows in the database.
func (b *books) judgeAccount(a history.Account) {
	fates, ok := b.fatesOf(a)
	if !ok {
		return
	}
	for i, fate := range fates {
		at := place{a.Sequence, a.Period, a.First + int64(i)}
		row, exists := b.rows[at]
		b.v.Facts[fate]++
		wrong := false
		switch fate {
		case history.FateConfirmed:
			wrong = row.Key == ""
		case history.FateVoid:
			wrong = !exists || row.Key != ""
		case history.FateTaken:
			wrong = exists && !row.Elsewhere
		case "":
			wrong = exists || len(b.held[at]) > 0
			fate = "missing"
		}
		switch {
		case wrong && !exists:
			b.v.fail("the number %v is %s in its account, and has no row in the database", at, fate)
		case wrong:
			b.v.fail("the number %v is %s in its account, and the row in the database has the key %q", at, fate, row.Key)
		}
	}
}

// judgeRows finds documents and reservations of which the accounts know nothing, and confirmed keys without a document.
func (b *books) judgeRows() {
	last := make(map[place]int64) // keyed by the places with number 0
	for _, a := range b.accounts {
		last[place{a.Sequence, a.Period, 0}] = a.Last
	}
	beyond := func(at place) bool {
		n, ok := last[place{at.sequence, at.period, 0}]
		return !ok || at.number > n
	}
	if len(b.accounts) > 0 {
		for at := range b.rows {
			if beyond(at) {
				b.v.fail("the number %v is in the database, and beyond the last one of its account", at)
			}
		}
		for at := range b.held {
			if beyond(at) {
				b.v.fail("the number %v was reserved, and is beyond the last one of its account", at)
			}
		}
	}
	for _, all := range b.byKey {
		i := slices.IndexFunc(all, func(h *holding) bool { return h.confirmed != nil })
		if i < 0 {
			continue
		}
		h := all[i]
		if at, ok := b.byOrder[[2]string{h.sequence, h.key}]; !ok {
			b.v.fail("key %q was confirmed with the number %v, and has no document", h.key, h.at)
		} else if at != h.at {
			b.v.fail("key %q was confirmed with the number %v, and its document has the number %v", h.key, h.at, at)
		}
	}
}
