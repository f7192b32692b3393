package allocator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
)

// A lane that hears that the cluster was set back issues nothing from the rest of its window, also if its clock returns into it.
func TestLaneStopsWhenTheClusterWasSetBack(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.pass(time.Hour) // a long window
		r.next(0)
		asked := len(r.cluster.calls("extend"))
		r.cluster.set(func() { r.cluster.before = func(call) error { return allocator.ErrSetBack } })
		until := r.lane().ServeUntil
		for len(r.cluster.calls("extend")) == asked {
			r.pass(time.Second)
		}
		if left := time.UnixMilli(r.clock.read().Wall).Before(until); !left {
			r.Fatal("the window ended before the extension, so that the test shows nothing")
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if id, err := r.issuer.Next(ctx, 0); !errors.Is(err, allocator.ErrSetBack) {
			r.Errorf("%d, %v", id, err)
		}
		if s := r.lane(); s.Token != 0 {
			r.Errorf("%+v, want no worker", s)
		}
		r.cluster.set(func() { r.cluster.before = nil }) // another cluster, restored
		r.pass(time.Minute)
		r.next(0)
	})
}

// A lane whose worker was refused, and that hears at its next request that the cluster was set back, issues nothing more either.
func TestLostLaneStopsWhenTheClusterWasSetBack(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.pass(time.Hour)
		r.next(0)
		r.cluster.set(func() {
			r.cluster.before = func(k call) error {
				if k.kind == "extend" {
					return allocator.ErrWindowMismatch
				}
				return allocator.ErrSetBack
			}
		})
		for asked := len(r.cluster.calls("acquire")); len(r.cluster.calls("acquire")) == asked; {
			r.pass(time.Second)
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if id, err := r.issuer.Next(ctx, 0); !errors.Is(err, allocator.ErrSetBack) {
			r.Errorf("%d, %v", id, err)
		}
	})
}

// A sequence that hears that the cluster was set back issues nothing from the blocks in memory.
func TestSequenceStopsWhenTheClusterWasSetBack(t *testing.T) {
	runSequence(t, nil, func(r *sequenceRig) {
		r.next(1)
		r.load(1000, 20*time.Second)
		r.blocks.set(func() { r.blocks.before = func() error { return allocator.ErrSetBack } })
		asked, left := len(r.blocks.requests()), uint64(0)
		for len(r.blocks.requests()) == asked {
			left, _ = r.sequence.Left()
			r.next(1) // the last of them starts the request, whose refusal may arrive at any time
			r.settle()
		}
		if left <= 1 {
			r.Fatal("no block was left, so that the test shows nothing")
		}
		if n, err := r.sequence.Next(r.Context(), 1); !errors.Is(err, allocator.ErrSetBack) {
			r.Errorf("%+v, %v", n, err)
		}
	})
}
