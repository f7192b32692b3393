package console

import (
	"sync"
	"time"
)

// shareFor is the age up to which viewers take what another one loaded: less than the interval at which pages load, so that
// nothing on them is old for two seconds.
const shareFor = 500 * time.Millisecond

// shares loads pages that live from calls of their own once for all viewers with the same rights and query.
type shares struct {
	now func() time.Time

	mu  sync.Mutex
	all map[viewKey]*share
}

// share is what a page was last rendered to.
type share struct {
	mu    sync.Mutex // held while one viewer loads; the others wait for the same
	at    time.Time  // when it was loaded; zero before
	texts map[string][]byte
	err   error
}

// get returns the elements of a page, by ID, which render writes unless another viewer just did. The result is not changed.
func (s *shares) get(key viewKey, render func() (map[string][]byte, error)) (map[string][]byte, error) {
	s.mu.Lock()
	have := s.all[key]
	if have == nil {
		if s.all == nil || len(s.all) >= maxCached {
			s.all = make(map[viewKey]*share)
		}
		have = &share{}
		s.all[key] = have
	}
	s.mu.Unlock()
	have.mu.Lock()
	defer have.mu.Unlock()
	if have.at.IsZero() || s.now().Sub(have.at) >= shareFor {
		have.texts, have.err = render()
		have.at = s.now() // those that waited take it, however long it took
	}
	return have.texts, have.err
}
