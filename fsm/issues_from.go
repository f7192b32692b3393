package fsm

// IssuesFrom returns the time, in Unix ms, from which all layouts can issue IDs after a restore: the time at which the
// first tick after the floor has begun in each of them. It is 0 in a cluster that was not restored.
func (s *State) IssuesFrom() int64 {
	if s.restored == nil {
		return 0
	}
	begins := s.restored.GetFloorAtMs()
	for _, l := range s.layouts {
		if fence := s.fence(l); fence < l.ticks {
			begins = max(begins, l.layout.MillisAt(fence))
		}
	}
	return begins
}
