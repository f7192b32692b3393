package fsm

// WorkerRecord is a worker that was granted at least once, with its last window.
type WorkerRecord struct {
	GrantRecord
	Released bool // released by its holder, so that the token is void
}

// Workers returns up to limit workers of a layout that were granted at least once,
// in ascending order, beginning at the number from. The next page, if there is one,
// begins at the number after the last worker of this one. An unknown layout has no
// workers.
func (s *State) Workers(layout string, from uint64, limit int) []WorkerRecord {
	l, ok := s.layouts[layout]
	if !ok || from >= uint64(l.workers.count()) || limit <= 0 {
		return nil
	}
	records := make([]WorkerRecord, min(limit, l.workers.count()-int(from)))
	for i := range records {
		number := int(from) + i
		records[i] = WorkerRecord{l.workers.record(number), l.workers.see(number).released}
	}
	return records
}

// WhoIs returns the grant that covers a tick of a layout's worker, if that grant is
// remembered. The last 10,000 grants of each layout and the last grant of each worker
// are remembered.
func (s *State) WhoIs(layout string, worker uint64, tick int64) (GrantRecord, bool) {
	l, ok := s.layouts[layout]
	if !ok || worker >= uint64(l.workers.count()) {
		return GrantRecord{}, false
	}
	if g, ok := l.history.find(worker, tick); ok {
		return g, true
	}
	g := l.workers.record(int(worker))
	return g, g.From <= tick && tick < g.Until
}

// Neighbors returns the grants of a layout's worker with the tokens just before and just after token, as far as they are
// remembered. The token of a missing grant is 0.
func (s *State) Neighbors(layout string, worker, token uint64) (previous, next GrantRecord) {
	l, ok := s.layouts[layout]
	if !ok || worker >= uint64(l.workers.count()) {
		return previous, next
	}
	last := l.workers.record(int(worker))
	closer := func(g *GrantRecord) {
		switch {
		case g.Worker != worker:
		case g.Token < token:
			previous = *g
		case g.Token > token && next.Token == 0:
			next = *g
		}
	}
	for i := range l.history.entries { // ascending tokens
		closer(l.history.at(i))
	}
	closer(&last)
	return previous, next
}

// record returns the last window of a worker, without the time of its grant.
func (w *workers) record(number int) GrantRecord {
	k := w.see(number)
	return GrantRecord{
		Worker: uint64(number), Token: k.token, Holder: k.holder, Owner: k.owner, Process: k.process, NonceHash: k.nonceHash,
		From: k.from, Until: k.highWater,
	}
}

// granted returns the current window of a worker.
func (w *workers) granted(number int) Grant {
	k := w.see(number)
	return Grant{Worker: uint64(number), Token: k.token, From: k.from, Until: k.highWater}
}
