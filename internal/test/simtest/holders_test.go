package simtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// holders are programs that lease workers: lanes without a member.
type holders struct {
	*world
	issuers []*allocator.Issuer
}

// leaderGranter calls the leader over the network.
type leaderGranter struct{ p *process }

func (g leaderGranter) leader() (allocator.Granter, error) {
	l := g.p.leaderNow()
	if l == nil {
		return nil, cluster.ErrNotLeader
	}
	return &apiPort{g.p.net, g.p, l}, nil
}

func (g leaderGranter) AcquireWorker(ctx context.Context, r allocator.AcquireRequest) (allocator.Grant, error) {
	l, err := g.leader()
	if err != nil {
		return allocator.Grant{}, err
	}
	return l.AcquireWorker(ctx, r)
}

func (g leaderGranter) ExtendWindow(ctx context.Context, r allocator.ExtendRequest) (allocator.Grant, error) {
	l, err := g.leader()
	if err != nil {
		return allocator.Grant{}, err
	}
	return l.ExtendWindow(ctx, r)
}

func (g leaderGranter) ReleaseWorker(ctx context.Context, r allocator.ReleaseRequest) error {
	l, err := g.leader()
	if err != nil {
		return err
	}
	return l.ReleaseWorker(ctx, r)
}

func (w *world) open(count int) *holders {
	w.Helper()
	h := &holders{world: w}
	m := w.nodes[0].proc()
	watch := clock.NewWatch(newWrist().source(), nil, clock.Limits{WaitThreshold: time.Second, MaxOffset: 500 * time.Millisecond})
	for i := range count {
		issuer, err := allocator.Open(allocator.Config{
			Layout: w.audit.layout, Holder: fmt.Sprintf("holder-%d", i), Nonce: allocator.Nonce{1, byte(i), byte(i >> 8)},
			Granter: leaderGranter{m}, Watch: watch,
		})
		if err != nil {
			w.Fatal(err)
		}
		h.issuers = append(h.issuers, issuer)
	}
	return h
}

func (h *holders) ready() (ready int) {
	for _, i := range h.issuers {
		if i.Ready() == nil {
			ready++
		}
	}
	return ready
}

func (h *holders) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var all []error
	var closing sync.WaitGroup
	for _, i := range h.issuers {
		closing.Go(func() {
			err := i.Close(ctx)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, err)
		})
	}
	closing.Wait()
	return errors.Join(all...)
}

// TestAThousandHolders starts a thousand holders at one instant.
func TestAThousandHolders(t *testing.T) {
	t.Parallel()
	const count = 1000
	simulate(t, options{idle: true}, func(w *world) {
		h := w.open(count)
		w.until(recovery, "all holders have a worker", func() bool { return h.ready() == count })
		w.pass(15 * time.Minute) // until slow start has reached windows of 10 min

		minutes := depth.Of(depth.Little(1, 3), 20)
		committed := w.commands()
		busiest := uint64(0)
		for range minutes {
			before := w.commands()
			w.pass(time.Minute)
			busiest = max(busiest, w.commands()-before)
		}
		rate := float64(w.commands()-committed) / float64(minutes*60)
		// A holder extends at random in each 5 min, so a minute has 200 of 1000 extensions, with a standard deviation of
		// 13, and 60 or so other commands. 8 deviations more are 6 commands per second.
		t.Logf("%d holders: %.2f commands per second, %.2f in the busiest minute", count, rate, float64(busiest)/60)
		if rate > 5 || busiest > 6*60 {
			t.Errorf("%.2f commands per second, %d in the busiest minute; want at most 5 per second, %d in any minute", rate, busiest, 6*60)
		}
		if ready := h.ready(); ready != count {
			t.Errorf("%d of %d holders are ready", ready, count)
		}
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
}

// commands returns the index of the last committed entry.
func (w *world) commands() uint64 { return w.leader().proc().member.Node().CommitIndex() }
