package console

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// watches has one call to WatchOverview for all viewers that have the same rights and see the same windows.
type watches struct {
	view snowraftv1.ViewServiceClient

	mu  sync.Mutex
	all map[watchKey]*watch
}

// watchKey is what an overview depends on. Equal pointers are the same token.
type watchKey struct {
	principal *trust.Principal
	layout    string
}

// watch receives overviews, and begins again when the call ends. It keeps only the newest, so that a viewer that reads
// slowly delays nothing.
type watch struct {
	view   snowraftv1.ViewServiceClient
	key    watchKey
	users  int // guarded by watches.mu
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	overview *snowraftv1.Overview // not changed once it is here
	err      error
	changed  chan struct{} // closed when there is something new
}

func newWatches(view snowraftv1.ViewServiceClient) *watches {
	return &watches{view: view, all: make(map[watchKey]*watch)}
}

// join returns a watch with the rights of a context; leave is called once after it.
func (s *watches) join(ctx context.Context, layout string) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := watchKey{trust.PrincipalOf(ctx), layout}
	w := s.all[key]
	if w == nil {
		w = &watch{view: s.view, key: key, done: make(chan struct{}), changed: make(chan struct{})}
		ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx)) // of several viewers
		s.all[key] = w
		go w.run(ctx)
	}
	w.users++
	return w
}

func (s *watches) leave(w *watch) {
	s.mu.Lock()
	w.users--
	last := w.users == 0
	if last {
		delete(s.all, w.key)
	}
	s.mu.Unlock()
	if last {
		w.cancel()
		<-w.done
	}
}

// newest returns the newest overview, or why there is none, and a channel that is closed when there is something newer. Both
// are nil before the first one.
func (w *watch) newest() (*snowraftv1.Overview, <-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.overview, w.changed, w.err
}

func (w *watch) set(overview *snowraftv1.Overview, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.overview, w.err = overview, err
	close(w.changed)
	w.changed = make(chan struct{})
}

// run returns when ctx ends.
func (w *watch) run(ctx context.Context) {
	defer close(w.done)
	for {
		err := w.receive(ctx)
		if ctx.Err() != nil {
			return
		}
		w.set(nil, err)
		again := time.NewTimer(pulse)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return
		}
	}
}

// receive returns why the call ended.
func (w *watch) receive(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.view.WatchOverview(ctx, &snowraftv1.WatchOverviewRequest{WindowsOfLayout: w.key.layout})
	if err != nil {
		return err
	}
	for {
		resp, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return rpc.NewError(rpc.Internal, "the overview ended")
		case err != nil:
			return err
		case resp.GetOverview() == nil:
			return rpc.NewError(rpc.Internal, "the overview is empty")
		}
		w.set(resp.GetOverview(), nil)
	}
}
