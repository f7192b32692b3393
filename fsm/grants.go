package fsm

// WorkerRecord is a worker that was granted at least once, and its last window,
// [From, HighWater).
type WorkerRecord struct {
	Worker    uint64
	HighWater int64
	From      int64
	Token     uint64
	Holder    string
	Nonce     [nonceBytes]byte
	Released  bool
}

// Workers returns up to limit workers of a layout that were granted at least once,
// in ascending order, beginning at the number from. What follows after the last one
// returned, if any, begins at the number after it. An unknown layout has none.
func (s *State) Workers(layout string, from uint64, limit int) []WorkerRecord {
	l, ok := s.layouts[layout]
	if !ok || from >= uint64(len(l.workers.used)) || limit <= 0 {
		return nil
	}
	used := l.workers.used[from:]
	used = used[:min(limit, len(used))]
	records := make([]WorkerRecord, 0, len(used))
	for i := range used {
		k := &used[i]
		records = append(records, WorkerRecord{
			Worker: from + uint64(i), HighWater: k.highWater, From: k.from, Token: k.token,
			Holder: k.holder, Nonce: k.nonce, Released: k.released,
		})
	}
	return records
}

// WhoIs returns the grant that a layout's worker and tick belong to, if it is
// remembered: the last 10,000 grants of each layout are, and the last of each worker.
func (s *State) WhoIs(layout string, worker uint64, tick int64) (GrantRecord, bool) {
	l, ok := s.layouts[layout]
	if !ok || worker >= uint64(len(l.workers.used)) {
		return GrantRecord{}, false
	}
	if g, ok := l.history.find(worker, tick); ok {
		return g, true
	}
	k := &l.workers.used[worker]
	if tick < k.from || tick >= k.highWater {
		return GrantRecord{}, false
	}
	return GrantRecord{
		Worker: worker, Token: k.token, Holder: k.holder, Nonce: k.nonce, From: k.from, Until: k.highWater,
	}, true
}

// granted returns the current window of a worker.
func (w *workers) granted(number int) Grant {
	k := &w.used[number]
	return Grant{Worker: uint64(number), Token: k.token, From: k.from, Until: k.highWater}
}
