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

// watches shares one call of WatchOverview among all viewers with the same rights and the same windows.
type watches struct {
	view snowraftv1.ViewServiceClient

	mu  sync.Mutex
	all map[watchKey]*watch
}

// watchKey holds the inputs of an overview. Equal principal pointers are the same token.
type watchKey struct {
	principal *trust.Principal
	layout    string
}

// watch receives overviews, and calls again when a call ends. It keeps only the newest overview, so that slow viewers delay
// nothing.
type watch struct {
	view   snowraftv1.ViewServiceClient
	key    watchKey
	users  int // guarded by watches.mu
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	overview *snowraftv1.Overview // immutable after it was received
	err      error
	changed  chan struct{} // closed at the next change
}

func newWatches(view snowraftv1.ViewServiceClient) *watches {
	return &watches{view: view, all: make(map[watchKey]*watch)}
}

// join returns a watch with the rights of a context. leave must be called once afterwards.
func (s *watches) join(ctx context.Context, layout string) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := watchKey{trust.PrincipalOf(ctx), layout}
	w := s.all[key]
	if w == nil {
		w = &watch{view: s.view, key: key, done: make(chan struct{}), changed: make(chan struct{})}
		ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx)) // serves several viewers
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

// newest returns the newest overview, or the error that explains its absence, and a channel that is closed at the next
// change. Before the first result, the overview and the error are nil.
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

// run receives overviews until ctx ends.
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

// receive makes one call and returns the reason for its end.
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
