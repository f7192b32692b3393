package console

import (
	"sync"
	"time"

	"github.com/snowraft/snowraft/trust"
)

// maxShared is the largest number of shared views. The number of views is unbounded, because viewers choose the query.
const maxShared = 16

// shares renders a page once for all viewers that see the same, so that further viewers cost little more than the answer.
type shares struct {
	now func() time.Time

	mu  sync.Mutex
	all map[view]*share
}

// view identifies a page as viewers see it. Equal admissions are those of one token whose rights have not changed.
type view struct {
	path, query string
	rights      trust.Admission
	signedIn    bool
}

// share is the last rendering of a view.
type share struct {
	busy chan struct{} // filled while one viewer renders; the others wait for its result
	at   time.Time     // time after the rendering; zero before the first one
	body []byte
	err  error
}

// get returns a page, and the error that it shows. It calls render unless another viewer's result is younger than age. The caller
// must not change the result.
func (s *shares) get(of view, age time.Duration, render func() ([]byte, error)) ([]byte, error) {
	s.mu.Lock()
	have := s.all[of]
	if have == nil {
		if s.all == nil || len(s.all) >= maxShared {
			s.all = make(map[view]*share)
		}
		have = &share{busy: make(chan struct{}, 1)}
		s.all[of] = have
	}
	s.mu.Unlock()
	have.busy <- struct{}{} // at most some seconds: pages load within loadTimeout
	defer func() { <-have.busy }()
	if have.at.IsZero() || s.now().Sub(have.at) >= age {
		have.body, have.err = render()
		have.at = s.now() // set after render, so that waiting viewers take the result, however long it took
	}
	return have.body, have.err
}
