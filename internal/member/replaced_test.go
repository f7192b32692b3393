package member

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/cluster"
)

// throne reports the leader; "" if no member leads.
type throne struct {
	leader  string
	changed chan struct{}
}

func (t *throne) Leader() (cluster.Member, bool) {
	return cluster.Member{ID: t.leader}, t.leader != ""
}
func (t *throne) LeaderChanged() <-chan struct{} { return t.changed }

func (t *throne) becomes(leader string) {
	changed := t.changed
	t.leader, t.changed = leader, make(chan struct{})
	close(changed)
	synctest.Wait()
}

// TestCallsEndWhenTheLeaderIsReplaced has a leader that never answers.
func TestCallsEndWhenTheLeaderIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := &throne{leader: "a", changed: make(chan struct{})}
		ctx, cancel := whileLeading(t.Context(), of, "a")
		defer cancel()
		synctest.Wait()
		// An unknown leader is not a reason to give up, because there is no other member to call.
		for _, leader := range []string{"", "a"} {
			of.becomes(leader)
			if err := ctx.Err(); err != nil {
				t.Fatalf("the call was ended while %q led: %v", leader, err)
			}
		}
		of.becomes("b")
		if cause := context.Cause(ctx); !errors.Is(cause, ErrReplaced) {
			t.Errorf("with another leader: cause = %v, want %v", cause, ErrReplaced)
		}

		// The leader was replaced between the lookup and the call.
		ctx, cancel = whileLeading(t.Context(), of, "a")
		defer cancel()
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, ErrReplaced) {
			t.Error(cause)
		}

		// The caller's own deadline stays in force.
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ctx, cancel = whileLeading(ctx, of, "b")
		defer cancel()
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
			t.Error(cause)
		}
	})
}
