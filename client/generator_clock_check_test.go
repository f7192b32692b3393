package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/clock"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// someDay is the start time of the clocks of these tests.
var someDay = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// witness is a member that reports its time, which is the bubble's time and an offset.
type witness struct {
	snowraftv1.ClusterServiceClient
	began time.Time

	mu       sync.Mutex
	asked    int
	gone     bool
	takes    time.Duration // duration of an answer
	off      time.Duration // offset of its clock
	knows    time.Duration // offset of its clock that it reports
	observed time.Duration // offset of the observed clock
	leader   string
	config   *snowraftv1.Config
}

func (w *witness) right() time.Time { return someDay.Add(time.Since(w.began)) }

func (w *witness) GetStatus(ctx context.Context, _ *snowraftv1.GetStatusRequest, _ ...grpc.CallOption) (*snowraftv1.GetStatusResponse, error) {
	w.mu.Lock()
	w.asked++
	takes := w.takes
	w.mu.Unlock()
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return nil, errors.New("gone")
	}
	return &snowraftv1.GetStatusResponse{
		MemberId: "w", LeaderId: w.leader, Config: w.config,
		ClockAtMs: w.right().Add(w.off).UnixMilli(), ClockOffsetMs: w.knows.Milliseconds(), ObservedClockAtMs: w.right().Add(w.observed).UnixMilli(),
	}, nil
}

// court is a judge, a member that it queries, and the clock that it checks.
type court struct {
	*testing.T
	*clockCheck
	witness *witness
	skew    atomic.Int64 // ms
	start   func()       // starts the judge
}

// inCourt runs a test in a bubble, with a clock that is off from the start. The judge starts when the test first waits.
func inCourt(t *testing.T, off time.Duration, test func(c *court)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &court{T: t, witness: &witness{began: time.Now(), leader: "w"}}
		c.skew.Store(off.Milliseconds())
		c.clockCheck = newClockCheck(c.witness, func() clock.Reading {
			return clock.Reading{Wall: c.witness.right().UnixMilli() + c.skew.Load(), Mono: time.Since(c.witness.began).Milliseconds()}
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		c.start = sync.OnceFunc(func() {
			go func() {
				defer close(done)
				c.run(ctx)
			}()
		})
		test(c)
		stop()
		<-done
	})
}

func (c *court) pass(d time.Duration) {
	c.start()
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

// says changes the member's answers.
func (c *court) says(change func(w *witness)) {
	c.witness.mu.Lock()
	defer c.witness.mu.Unlock()
	change(c.witness)
}

// asked returns the number of calls to the member.
func (c *court) asked() (n int) {
	c.says(func(w *witness) { n = w.asked })
	return n
}

func (c *court) check() error { return c.watch.Check(c.watch.Now()) }

// wrong fails the test unless the watch rejects the clock with that error.
func wrong[E error](c *court) {
	c.Helper()
	var e E
	if err := c.check(); !errors.As(err, &e) {
		c.Fatalf("%v", err)
	}
}

func (c *court) fine() {
	c.Helper()
	if err := c.check(); err != nil {
		c.Fatal(err)
	}
}

func TestJudgeQueriesMoreOftenWhileClockIsWrong(t *testing.T) {
	inCourt(t, 0, func(c *court) {
		c.pass(61 * time.Second)
		if c.asked() != 4 {
			c.Errorf("%d requests within a minute", c.asked())
		}
		c.skew.Store(time.Hour.Milliseconds())
		c.pass(10 * time.Second)
		if c.asked() < 13 || c.asked() > 15 {
			c.Errorf("%d requests, 4 of these before", c.asked())
		}
		wrong[*clock.SkewError](c)
	})
}

func TestJudgeLearnsTheLimits(t *testing.T) {
	inCourt(t, 0, func(c *court) {
		c.says(func(w *witness) {
			w.config = &snowraftv1.Config{WaitThresholdMs: proto.Int64(7000), MaxClockOffsetMs: proto.Int64(3000), Rollback: snowraftv1.RollbackPolicy_ROLLBACK_POLICY_SWAP.Enum()}
		})
		c.pass(21 * time.Second)
		if l := c.watch.Limits(); l != (clock.Limits{WaitThreshold: 7 * time.Second, MaxOffset: 3 * time.Second, Swap: true}) {
			c.Errorf("%+v", l)
		}
		c.skew.Store(2900)
		c.fine()
		c.skew.Store(3100)
		wrong[*clock.SkewError](c)
		c.skew.Store(-time.Hour.Milliseconds())
		c.fine()
	})
}

// The judge detects a clock that moves backwards long after a member last reported the observed clock.
func TestJudgeAdvancesObservedClock(t *testing.T) {
	inCourt(t, 0, func(c *court) {
		c.pass(100 * time.Millisecond)
		c.says(func(w *witness) { w.gone = true })
		c.pass(10 * time.Minute)
		c.skew.Store(-900)
		c.fine()
		c.skew.Store(-2200)
		wrong[*clock.BehindError](c)
		c.skew.Store(0)
		c.fine()
	})
}

// An operator can lower an observed clock that was too high.
func TestJudgeFollowsLoweredObservedClock(t *testing.T) {
	inCourt(t, 0, func(c *court) {
		c.says(func(w *witness) { w.observed = time.Hour })
		c.pass(21 * time.Second)
		wrong[*clock.BehindError](c)
		c.says(func(w *witness) { w.observed = 0 })
		c.says(func(w *witness) { w.leader = "" }) // the state of this member may be old
		c.pass(5 * time.Second)
		wrong[*clock.BehindError](c)
		c.says(func(w *witness) { w.leader = "w" })
		c.pass(2 * time.Second)
		c.fine()
	})
}

// If a clock that was wrong at the start is corrected, only a member can confirm that it is correct now.
func TestJudgeBelievesAMember(t *testing.T) {
	for _, skew := range []time.Duration{time.Hour, -time.Hour} {
		inCourt(t, skew, func(c *court) {
			c.says(func(w *witness) { w.knows, w.off = -time.Minute, -time.Minute }) // the member knows its offset
			c.pass(21 * time.Second)
			if c.check() == nil {
				c.Fatalf("%v off is fine", skew)
			}
			c.skew.Store(0)
			c.pass(2 * time.Second)
			c.fine()
		})
	}
}

// The judge ignores the time of a slow answer.
func TestJudgeIgnoresSlowAnswers(t *testing.T) {
	inCourt(t, 0, func(c *court) {
		c.says(func(w *witness) { w.takes, w.off = 600*time.Millisecond, -time.Minute })
		c.pass(21 * time.Second)
		if _, known := c.watch.PeerOffset("w"); known {
			c.Error("the time of a slow answer counts")
		}
		c.fine()
	})
}
