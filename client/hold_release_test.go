package client

import (
	"context"
	"errors"
	"testing"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/snowflake"
)

// refusedRelease is a granter that refuses releases.
type refusedRelease struct {
	allocator.Granter
	err error
}

func (r refusedRelease) ReleaseWorker(context.Context, allocator.ReleaseRequest) error { return r.err }

// A worker that the cluster no longer holds for this process needs no release.
func TestCloseOfHeldWorkerThatWasRefused(t *testing.T) {
	t.Parallel()
	failed := errors.New("no quorum")
	for err, want := range map[error]error{allocator.ErrWindowMismatch: nil, failed: failed} {
		h := &HeldWorker{granter: refusedRelease{err: err}, layout: snowflake.Default(), cancel: func() {}, lost: make(chan struct{})}
		if got := h.Close(t.Context()); !errors.Is(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
