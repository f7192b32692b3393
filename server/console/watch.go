package console

import (
	"context"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

const (
	// linger is the time after its last use at which a watch ends. It is longer than any interval of an open page's requests.
	linger = 3 * time.Second
	// rewatch is the pause after a failed call.
	rewatch = time.Second
)

// watches shares one call of WatchOverview among all viewers with the same token, while pages are open. A gateway's overviews
// therefore come from one member as long as it answers. The process bounds the calls.
type watches struct {
	watch func(ctx context.Context, send func(*snowraftv1.Overview) error) error // see Config
	end   context.Context                                                        // canceled by Console.Close

	mu  sync.Mutex
	all map[*trust.Principal]*watch // equal pointers are the same token
}

// watch receives overviews, and calls again when a call ends. It keeps only the newest overview.
type watch struct {
	of       *trust.Principal
	used     *time.Timer          // ends the watch
	overview *snowraftv1.Overview // newest; immutable after it was received
	err      error                // reason for a missing overview
	first    chan struct{}        // closed when overview or err is set first
}

// newest returns the newest overview with the rights of a context. The first call waits for it until ctx ends.
func (s *watches) newest(ctx context.Context) (*snowraftv1.Overview, error) {
	s.mu.Lock()
	of := trust.PrincipalOf(ctx)
	w := s.all[of]
	if w == nil || !w.used.Reset(linger) {
		serving, cancel := context.WithCancel(context.WithoutCancel(ctx)) // serves several viewers
		w = &watch{of: of, first: make(chan struct{})}
		w.used = time.AfterFunc(linger, func() { s.remove(w, cancel) })
		s.all[of] = w
		go s.run(serving, w)
	}
	s.mu.Unlock()
	select {
	case <-w.first:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return w.overview, w.err
}

// remove ends a watch.
func (s *watches) remove(w *watch, cancel context.CancelFunc) {
	cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[w.of] == w {
		delete(s.all, w.of)
	}
}

func (s *watches) set(w *watch, overview *snowraftv1.Overview, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.overview == nil && w.err == nil {
		close(w.first)
	}
	w.overview, w.err = overview, err
}

// run receives overviews until ctx or end does.
func (s *watches) run(ctx context.Context, w *watch) {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(s.end, cancel)()
	for ctx.Err() == nil {
		err := s.watch(ctx, func(o *snowraftv1.Overview) error {
			if o == nil {
				return rpc.NewError(rpc.Internal, "the overview is empty")
			}
			s.set(w, o, nil)
			return nil
		})
		if err == nil {
			err = rpc.NewError(rpc.Internal, "the overview ended")
		}
		s.set(w, nil, err)
		select {
		case <-time.After(rewatch):
		case <-ctx.Done():
		}
	}
}
