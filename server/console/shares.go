package console

import (
	"sync"
	"time"
)

// shareFor is the age up to which viewers share a loaded page. It is less than the interval between loads, so that no data on
// a page becomes two seconds old.
const shareFor = 500 * time.Millisecond

// shares loads each page that has its own calls once for all viewers with the same rights and query.
type shares struct {
	now func() time.Time

	mu  sync.Mutex
	all map[viewKey]*share
}

// share is the last rendering of a page.
type share struct {
	mu    sync.Mutex // held while one viewer loads; the others wait for its result
	at    time.Time  // load time; zero before the first load
	texts map[string][]byte
	err   error
}

// get returns the elements of a page by ID. It calls render unless another viewer's result is recent enough. The caller must
// not change the result.
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
		have.at = s.now() // set after render, so that waiting viewers take the result, however long it took
	}
	return have.texts, have.err
}
