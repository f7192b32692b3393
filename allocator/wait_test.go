package allocator_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

type waitKey struct{}

// waits is a Wait that records the named callers and the results of their waits.
type waits struct {
	begun []string
	ended []error
}

func (w *waits) observe(ctx context.Context) (context.Context, func(error)) {
	name, ok := ctx.Value(waitKey{}).(string)
	if !ok {
		return nil, nil
	}
	w.begun = append(w.begun, name)
	return context.WithValue(context.Background(), waitKey{}, name), func(err error) { w.ended = append(w.ended, err) }
}

// named is a Granter that records the caller on whose behalf a call was made: "" for no caller.
type named struct {
	*cluster
	callers []string
}

func (n *named) AcquireWorker(ctx context.Context, r allocator.AcquireRequest) (allocator.Grant, error) {
	name, _ := ctx.Value(waitKey{}).(string)
	n.callers = append(n.callers, name)
	return n.cluster.AcquireWorker(ctx, r)
}

func (n *named) ExtendWindow(ctx context.Context, r allocator.ExtendRequest) (allocator.Grant, error) {
	name, _ := ctx.Value(waitKey{}).(string)
	n.callers = append(n.callers, name)
	return n.cluster.ExtendWindow(ctx, r)
}

// A call that waits for a window lends its values to the request for that window, and to no later request.
func TestIssuerWaitLendsValuesToOneGrant(t *testing.T) {
	t.Parallel()
	var w waits
	run(t, func(r *rig) { r.cfg.Wait = w.observe }, func(r *rig) {
		if err := r.issuer.Close(r.Context()); err != nil {
			t.Fatal(err)
		}
		grants := &named{cluster: r.cluster}
		r.cfg.Granter = grants
		refused := errors.New("refused")
		r.cluster.set(func() { r.cluster.before = func(call) error { return refused } })
		var err error
		if r.issuer, err = allocator.Open(r.cfg); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the first request was refused
		r.cluster.set(func() { r.cluster.before = nil })
		if _, err := r.issuer.Next(context.WithValue(r.Context(), waitKey{}, "app"), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := r.issuer.Next(r.Context(), 0); err != nil {
			t.Fatal(err)
		}
		r.pass(time.Minute) // extensions
		if want := []string{"", "app", ""}; len(grants.callers) < 3 || !slices.Equal(grants.callers[:3], want) || slices.Contains(grants.callers[3:], "app") {
			t.Errorf("calls on behalf of %q, want %q and no more", grants.callers, want)
		}
	})
	if !slices.Equal(w.begun, []string{"app"}) || !slices.Equal(w.ended, []error{nil}) {
		t.Errorf("waits of %q ended with %v, want one of app", w.begun, w.ended)
	}
}

// namedBlocks is named for blocks.
type namedBlocks struct {
	endless
	mu      sync.Mutex // a block may be requested ahead at any time
	callers []string
}

func (n *namedBlocks) AllocateBlock(ctx context.Context, name string, count uint64, key allocator.ReturnKey) (allocator.Block, error) {
	caller, _ := ctx.Value(waitKey{}).(string)
	n.mu.Lock()
	n.callers = append(n.callers, caller)
	n.mu.Unlock()
	return n.endless.AllocateBlock(ctx, name, count, key)
}

func TestSequenceWaitLendsValuesToTheBlock(t *testing.T) {
	t.Parallel()
	var w waits
	blocks := new(namedBlocks)
	s := openEndless(t, func(cfg *allocator.SequenceConfig) { cfg.Granter, cfg.Wait = blocks, w.observe })
	app, gone := context.WithCancel(context.WithValue(t.Context(), waitKey{}, "app"))
	defer gone()
	if _, err := s.Next(app, 3_000_000); err != nil { // more numbers than the block has
		t.Fatal(err)
	}
	blocks.mu.Lock()
	defer blocks.mu.Unlock()
	if want := []string{"", "app"}; !slices.Equal(blocks.callers[:2], want) {
		t.Errorf("blocks on behalf of %q, want %q", blocks.callers, want)
	}
	if !slices.Equal(w.begun, []string{"app"}) || !slices.Equal(w.ended, []error{nil}) {
		t.Errorf("waits of %q ended with %v, want one of app", w.begun, w.ended)
	}
}
