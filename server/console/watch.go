package console

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// watch receives overviews, and begins again when the call ends. It keeps only the newest, so that a viewer that reads
// slowly delays nothing.
type watch struct {
	view    snowraftv1.ViewServiceClient
	layout  string
	changed chan struct{} // has an element when newest would return something new

	mu       sync.Mutex
	overview *snowraftv1.Overview
	err      error
}

func newWatch(view snowraftv1.ViewServiceClient, layout string) *watch {
	return &watch{view: view, layout: layout, changed: make(chan struct{}, 1)}
}

// newest returns the newest overview, or why there is none.
func (w *watch) newest() (*snowraftv1.Overview, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.overview, w.err
}

func (w *watch) set(overview *snowraftv1.Overview, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.overview, w.err = overview, err
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// run returns when ctx ends.
func (w *watch) run(ctx context.Context) {
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
	stream, err := w.view.WatchOverview(ctx, &snowraftv1.WatchOverviewRequest{WindowsOfLayout: w.layout})
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
