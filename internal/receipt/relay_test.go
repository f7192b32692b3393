package receipt

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// court is the leader of claims in tests.
type court struct {
	judged  []uint64 // indexes
	fails   atomic.Bool
	changed chan struct{}
	settled atomic.Uint64 // last index that the replica confirms
}

func (c *court) relay(t *testing.T) *Relay[uint64] {
	t.Helper()
	began := time.Now()
	c.changed = make(chan struct{})
	r := &Relay[uint64]{
		Settles: func(index uint64) bool { return index <= c.settled.Load() },
		Retry:   func() <-chan struct{} { return c.changed },
		Now:     func() time.Duration { return time.Since(began) },
		Pass: func(_ context.Context, index uint64, _ string) error {
			if c.fails.Load() {
				return errors.New("no leader")
			}
			c.judged = append(c.judged, index)
			return nil
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return r
}

// TestRepeatedClaimsAreJudgedOnce repeats claims as a caller does that wants to keep the leader busy.
func TestRepeatedClaimsAreJudgedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := new(court)
		c.settled.Store(10)
		r := c.relay(t)
		const burst = 1000
		for range burst {
			for index := range uint64(20) {
				r.Offer(index, "a client", true)
			}
			synctest.Wait()
		}
		time.Sleep(passedFor / 2)
		synctest.Wait()
		want := []uint64{11, 12, 13, 14, 15, 16, 17, 18, 19}
		slices.Sort(c.judged)
		if !slices.Equal(c.judged, want) {
			t.Errorf("the leader judged %v, want %v", c.judged, want)
		}
		time.Sleep(passedFor)
		r.Offer(11, "a client", true)
		if synctest.Wait(); len(c.judged) != len(want)+1 {
			t.Errorf("a claim is never judged again: %v", c.judged)
		}
	})
}

// TestManyClaims brings more different claims than a leader could judge at once.
func TestManyClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := new(court)
		r := c.relay(t)
		for index := uint64(1); index < 10_000; index++ {
			r.Offer(index, "a client", true)
		}
		time.Sleep(maxWaiting * pause * 2)
		synctest.Wait()
		if n := len(c.judged); n < maxWaiting || n > maxWaiting+1 {
			t.Errorf("%d claims were judged, want about %d", n, maxWaiting)
		}
		for index := range uint64(10 * maxPassed) {
			r.Offer(100_000+index, "a client", true)
			time.Sleep(pause)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if n := len(r.passed); n > maxPassed {
			t.Errorf("%d judged claims are remembered, want at most %d", n, maxPassed)
		}
	})
}

// TestStrangersDisplaceNoClient floods a relay with claims of strangers. The claims of clients come first, and none of them is lost.
func TestStrangersDisplaceNoClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := new(court)
		r := c.relay(t)
		for index := range uint64(10 * maxWaiting) {
			r.Offer(1000+index, "a stranger", false)
		}
		synctest.Wait() // one of them is judged
		for index := range uint64(maxWaiting) {
			r.Offer(1+index, "a client", true)
		}
		time.Sleep(pause * 3 * maxWaiting)
		synctest.Wait()
		if n := len(c.judged); n < 2*maxWaiting || n > 1+2*maxWaiting || c.judged[0] != 1000 || slices.Max(c.judged[1:1+maxWaiting]) > maxWaiting {
			t.Errorf("the leader judged %v, want all claims of the client after the first one, then those of strangers", c.judged)
		}
	})
}

// TestClaimWaitsForALeader brings a claim before an election, as clients of a restarted cluster do.
func TestClaimWaitsForALeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := new(court)
		c.fails.Store(true)
		r := c.relay(t)
		r.Offer(1, "a client", true)
		time.Sleep(tryFor / 2)
		synctest.Wait()
		c.fails.Store(false)
		close(c.changed)
		if synctest.Wait(); !slices.Equal(c.judged, []uint64{1}) {
			t.Errorf("the leader judged %v, want the claim", c.judged)
		}
	})
}

// TestClaimIsSettledMeanwhile applies what a claim is about while no leader is known.
func TestClaimIsSettledMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := new(court)
		c.fails.Store(true)
		r := c.relay(t)
		r.Offer(1, "a client", true)
		time.Sleep(retryAfter / 2)
		synctest.Wait()
		c.settled.Store(1)
		c.fails.Store(false)
		time.Sleep(10 * retryAfter)
		if synctest.Wait(); len(c.judged) > 0 {
			t.Errorf("the leader judged %v, want nothing", c.judged)
		}
	})
}
