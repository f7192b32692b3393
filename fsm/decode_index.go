package fsm

import (
	"cmp"
	"slices"
)

// index derives the parts that a snapshot omits, and checks that workers and history,
// which overlap, agree.
func (l *layout) index() error {
	if err := l.workers.index(); err != nil {
		return err
	}
	return l.checkHistory()
}

// index builds the heaps and the lists of the holders' workers.
func (w *workers) index() error {
	w.buildAge()
	byToken := make([]int, w.count())
	for number := range w.count() {
		byToken[number] = number
	}
	slices.SortFunc(byToken, func(a, b int) int { return cmp.Compare(w.at(a).token, w.at(b).token) })
	for i, number := range byToken {
		if i > 0 && w.at(byToken[i-1]).token == w.at(number).token {
			return corrupt("workers %d and %d have the same fencing token", byToken[i-1], number)
		}
		w.remember(number)
	}
	return nil
}

// checkHistory checks the grants, newest first. Windows of one worker must not overlap,
// the last grant of each worker must equal the worker's own record, and no such grant
// may be missing.
func (l *layout) checkHistory() error {
	h := &l.history
	current := 0
	upTo := map[uint64]int64{} // begin of the next later window of each worker
	for i := range slices.Backward(h.entries) {
		g, k := h.at(i), l.workers.at(int(h.at(i).Worker))
		after, later := upTo[g.Worker]
		switch {
		case g.From < 0 || g.From > g.Until:
			return corrupt("a grant of ticks %d to %d", g.From, g.Until)
		case later && g.Until > after, !later && g.Token != k.token && g.Until > k.from, g.Token > k.token:
			return corrupt("the grant under fencing token %d overlaps a later one of worker %d", g.Token, g.Worker)
		case g.Token == k.token:
			if g.From != k.from || g.Until != k.highWater || g.Holder != k.holder || g.Owner != k.owner || !g.Process.equal(k.process) || g.NonceHash != k.nonceHash {
				return corrupt("the grant under fencing token %d is not what worker %d says", g.Token, g.Worker)
			}
			current++
		}
		upTo[g.Worker] = g.From
	}
	want := 0
	for number := range l.workers.count() {
		if len(h.entries) < maxHistory || l.workers.at(number).token >= h.at(0).Token {
			want++
		}
	}
	if current != want {
		return corrupt("the history of layout %q lacks %d of the last grants", l.name, want-current)
	}
	return nil
}
