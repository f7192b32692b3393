package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// silent is a connection to a member that does not answer. It records the time limit of the last call.
type silent struct {
	grpc.ClientConnInterface
	waited time.Duration
}

func (s *silent) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	began := time.Now()
	ctx.Value(tryKey{}).(*try).choose("m", false)
	<-ctx.Done()
	s.waited = time.Since(began)
	return status.FromContextError(ctx.Err()).Err()
}

// A member is not suspected if the caller left it no time or requested it to wait.
func TestUnsuspiciousSilence(t *testing.T) {
	for _, c := range []struct {
		method string
		within time.Duration
		guilty bool
	}{
		{snowraftv1.IdService_GenerateIds_FullMethodName, memorySuspicious / 2, false},
		{snowraftv1.IdService_GenerateIds_FullMethodName, 3 * memorySuspicious, true},
		{snowraftv1.SequenceService_SetNext_FullMethodName, time.Second, false},
		{snowraftv1.SequenceService_SetNext_FullMethodName, time.Minute, true},
		{snowraftv1.SequenceService_CreateSequence_FullMethodName, time.Second, false},
		{snowraftv1.SequenceService_ReturnBlock_FullMethodName, time.Second, false},
		{"/of.another.Service/Call", time.Minute, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			caller := &caller{opts: &options{}, standing: newStanding(nil), life: t.Context(), conn: new(silent)}
			if err := caller.invoke(ctx, c.method, nil, nil); err == nil {
				t.Error("a member answered")
			}
			if guilty := caller.standing.isSuspect("m"); guilty != c.guilty {
				t.Errorf("%s in %v: suspected is %v", c.method, c.within, guilty)
			}
		})
	}
}

// A call that is not retried at another member may use all the time at the first.
func TestSingleTryGetsWholeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		conn := new(silent)
		caller := &caller{opts: &options{}, standing: newStanding(nil), life: t.Context(), conn: conn}
		err := caller.invoke(ctx, snowraftv1.WorkerService_ReleaseWorker_FullMethodName, nil, nil)
		if err == nil || conn.waited != 3*time.Second {
			t.Errorf("the call stopped after %v: %v", conn.waited, err)
		}
	})
}

// unanswered is a connection without a leader at the first try. The caller stops waiting during the second try.
type unanswered struct {
	grpc.ClientConnInterface
	giveUp context.CancelFunc
	tries  int
}

func (c *unanswered) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	ctx.Value(tryKey{}).(*try).choose("m", false)
	if c.tries++; c.tries == 1 {
		return rpc.NewError(rpc.NoLeader, "no leader")
	}
	c.giveUp()
	return status.FromContextError(ctx.Err()).Err()
}

// A change may be done if its last try was sent and not answered, whatever the result of an earlier try.
func TestInterruptedChangeMayBeDone(t *testing.T) {
	for _, oneShot := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			conn := &unanswered{giveUp: cancel}
			caller := &caller{opts: &options{oneShot: oneShot}, standing: newStanding(nil), life: t.Context(), conn: conn}
			err := caller.invoke(ctx, snowraftv1.SequenceService_SetNext_FullMethodName, nil, nil)
			if e, ok := errors.AsType[*Error](err); !ok || e.Reason != "" || e.Repeatable() || conn.tries != 2 {
				t.Errorf("one-shot: %v, error after %d tries: %v, want the second error, an unknown outcome", oneShot, conn.tries, err)
			}
		})
	}
}

// refusing is a connection to two members that refuse. The caller stops waiting during the first try of the second round.
type refusing struct {
	grpc.ClientConnInterface
	giveUp context.CancelFunc
	tries  int
}

func (c *refusing) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	member := []string{"a", "b"}[c.tries%2]
	ctx.Value(tryKey{}).(*try).choose(member, member == "a")
	if c.tries++; c.tries > 2 {
		c.giveUp()
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	return rpc.NewError(rpc.ClockSkew, "refused by "+member)
}

// A caller that stops waiting before its call ends learns the errors of all members so far.
func TestImpatientCallerLearnsAllErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs interim
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), interimKey{}, &errs), 3*time.Second)
		defer cancel()
		caller := &caller{opts: new(options), standing: newStanding(nil), life: t.Context(), conn: &refusing{giveUp: cancel}}
		_ = caller.invoke(ctx, snowraftv1.IdService_GenerateIds_FullMethodName, nil, nil) // the caller does not wait for it
		err := interrupted(ctx.Err(), errs.Load())
		if text := err.Error(); !errors.Is(err, ErrClockSkew) || !strings.Contains(text, "refused by a") || !strings.Contains(text, "refused by b") {
			t.Error(err)
		}
	})
}
