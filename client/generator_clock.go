package client

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// clockCheckEvery is the interval at which a generator checks its clock.
	clockCheckEvery = time.Second
	// memberQueryEvery is the interval at which the generator requests the time of a member while the clock seems correct.
	memberQueryEvery = 20 * time.Second
	// memberQueryTimeout is the time limit of such a request.
	memberQueryTimeout = 2 * time.Second
)

// clockCheck checks a generator's clock. A member's watch uses the observed clock of its replica and the offsets that
// gossip measures. A clockCheck queries members instead: every askEvery, and each second while the clock seems wrong. It
// corrects a member's time by the clock offset that the member reports.
//
// Between two answers, the clockCheck advances the observed clock by this machine's monotonic time, so that it detects at
// once that the clock was set back.
type clockCheck struct {
	watch   *clock.Watch
	cluster snowraftv1.ClusterServiceClient

	observed atomic.Int64 // Unix milliseconds; 0 until known

	mu   sync.Mutex
	base int64 // observed - Mono
}

// firstLimits is the default limits of a cluster. They apply until the cluster reports its own.
var firstLimits = clock.Limits{WaitThreshold: limits.DefaultThreshold, MaxOffset: limits.DefaultOffset}

func newClockCheck(cluster snowraftv1.ClusterServiceClient, source clock.Source) *clockCheck {
	j := &clockCheck{cluster: cluster}
	j.watch = clock.NewWatch(source, &j.observed, firstLimits)
	return j
}

// run checks the clock until ctx ends.
func (j *clockCheck) run(ctx context.Context) {
	asked := int64(0)
	for first := true; first || wait(ctx, clockCheckEvery, nil); first = false {
		now := j.watch.Now()
		if first || j.watch.Check(now) != nil || now.Mono-asked >= memberQueryEvery.Milliseconds() {
			asked = now.Mono
			j.queryMember(ctx)
		}
		j.advance(j.watch.Now())
		j.watch.Update()
	}
}

// queryMember queries one member. If no member answers, the check changes nothing.
func (j *clockCheck) queryMember(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, memberQueryTimeout)
	defer cancel()
	began := j.watch.Now()
	s, err := j.cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{})
	if err != nil {
		return
	}
	took := clock.Between(began.Mono, j.watch.Now().Mono)
	if c := s.GetConfig(); c.GetWaitThresholdMs() > 0 && c.GetMaxClockOffsetMs() > 0 {
		j.watch.SetLimits(clock.Limits{
			WaitThreshold: time.Duration(c.GetWaitThresholdMs()) * time.Millisecond,
			MaxOffset:     time.Duration(c.GetMaxClockOffsetMs()) * time.Millisecond,
			Swap:          c.GetRollback() == snowraftv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
		})
	}
	if s.GetLeaderId() != "" { // without a leader, the replica may be old
		j.observe(s.GetObservedClockAtMs())
	}
	if took <= j.watch.Limits().MaxOffset { // after a longer time, the offset is too inexact
		j.watch.ObservePeer(s.GetMemberId(), s.GetClockAtMs()-s.GetClockOffsetMs(), took)
	}
}

// observe sets the observed clock to the value that a member has just reported. The value may be lower than before,
// because an operator can lower the observed clock.
func (j *clockCheck) observe(millis int64) {
	if millis <= 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.base = millis - j.watch.Now().Mono
	j.observed.Store(millis)
}

// advance moves the observed clock forward to the reading now.
func (j *clockCheck) advance(now clock.Reading) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.observed.Load() != 0 {
		j.observed.Store(j.base + now.Mono)
	}
}
