package fsm

// EachWorker calls visit with up to limit workers of a layout that were granted at least once, in ascending order,
// beginning at the number from. The record is valid until visit returns, and has no time of the grant. An unknown layout
// has no workers.
func (s *State) EachWorker(layout string, from uint64, limit int, visit func(*WorkerRecord)) {
	l, ok := s.layouts[layout]
	if !ok || from >= uint64(l.workers.count()) {
		return
	}
	var r WorkerRecord
	for number := int(from); number < l.workers.count() && limit > 0; number, limit = number+1, limit-1 {
		r = WorkerRecord{l.workers.record(number), l.workers.see(number).released}
		visit(&r)
	}
}
