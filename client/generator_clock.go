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
	// judgeEvery is the interval at which a generator looks at its clock.
	judgeEvery = time.Second
	// askEvery is the interval at which the time of a member is requested while the clock seems right.
	askEvery = 20 * time.Second
	// askFor is the time that such a question may take.
	askFor = 2 * time.Second
)

// judge keeps the watch over a generator's clock. A member's watch has the observed clock of its
// replica and the offsets that gossip measures; this one queries members: now and then, and each second while
// the clock seems wrong. A member's time is corrected by how far it knows its own clock to be off.
//
// Between two answers the observed clock is taken to go on as time does here, so that a clock that is set
// back shows at once.
type judge struct {
	watch   *clock.Watch
	cluster snowraftv1.ClusterServiceClient

	observed atomic.Int64 // Unix milliseconds; 0 until it is known

	mu   sync.Mutex
	base int64 // observed - Mono
}

// Limits until the cluster reports its own: its defaults.
var firstLimits = clock.Limits{WaitThreshold: limits.DefaultThreshold, MaxOffset: limits.DefaultOffset}

func newJudge(cluster snowraftv1.ClusterServiceClient, source clock.Source) *judge {
	j := &judge{cluster: cluster}
	j.watch = clock.NewWatch(source, &j.observed, firstLimits)
	return j
}

// run judges the clock until ctx ends.
func (j *judge) run(ctx context.Context) {
	asked := int64(0)
	for first := true; first || wait(ctx, judgeEvery, nil); first = false {
		now := j.watch.Now()
		if first || j.watch.Check(now) != nil || now.Mono-asked >= askEvery.Milliseconds() {
			asked = now.Mono
			j.ask(ctx)
		}
		j.advance(j.watch.Now())
		j.watch.Update()
	}
}

// ask queries the next member. If none answers, all stays as it is.
func (j *judge) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
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
	if s.GetLeaderId() != "" { // else its replica may be old
		j.observe(s.GetObservedClockAtMs())
	}
	if took <= j.watch.Limits().MaxOffset { // else it says too little
		j.watch.ObservePeer(s.GetMemberId(), s.GetClockAtMs()-s.GetClockOffsetMs(), took)
	}
}

// observe notes the observed clock as a member has just reported it. It may be lower than before: an
// operator can lower it.
func (j *judge) observe(millis int64) {
	if millis <= 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.base = millis - j.watch.Now().Mono
	j.observed.Store(millis)
}

// advance lets the observed clock go on.
func (j *judge) advance(now clock.Reading) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.observed.Load() != 0 {
		j.observed.Store(j.base + now.Mono)
	}
}
