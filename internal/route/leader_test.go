package route

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func TestForwardingRepeatsUnknownOutcomesOnlyIfHarmless(t *testing.T) {
	t.Parallel()
	unknown := fmt.Errorf("%w: leadership was lost", cluster.ErrUnknownOutcome)
	for _, tc := range []struct {
		err               error
		harmful, harmless bool
	}{
		{member.ErrNoLeader, true, true},
		{cluster.ErrNotLeader, true, true},
		{unknown, false, true},
		{member.ErrReplaced, false, true},
		{fmt.Errorf("%w: %w", cluster.ErrUnknownOutcome, cluster.ErrNotLeader), false, true},
		{cluster.ErrClosed, false, false},
	} {
		if a, b := retryable(tc.err, false), retryable(tc.err, true); a != tc.harmful || b != tc.harmless {
			t.Errorf("%v: retryable is %v, and %v if that is harmless; want %v and %v", tc.err, a, b, tc.harmful, tc.harmless)
		}
	}
}

func TestALostLeaderUndoesNothing(t *testing.T) {
	t.Parallel()
	unknown := fmt.Errorf("%w: leadership was lost", cluster.ErrUnknownOutcome)
	exhausted := &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_SEQUENCE_EXHAUSTED}
	busy := &fsm.Refused{Reason: commandv1.Refusal_REFUSAL_OVERLOADED}
	for _, tc := range []struct {
		name  string
		tries []error
		want  error
	}{
		{"never a leader", []error{member.ErrNoLeader, cluster.ErrNotLeader}, cluster.ErrNotLeader},
		{"an unknown outcome, then no leader", []error{unknown, member.ErrNoLeader}, unknown},
		{"another leader took over", []error{member.ErrReplaced, cluster.ErrNotLeader, member.ErrNoLeader}, member.ErrReplaced},
		{"the next leader ends", []error{unknown, cluster.ErrClosed}, unknown},
		{"the next leader is too busy", []error{unknown, busy}, unknown},
		{"a busy leader", []error{busy}, busy},
		{"an unknown outcome, then a refusal", []error{unknown, member.ErrNoLeader, exhausted}, exhausted},
		{"an unknown outcome, then an answer", []error{unknown, nil}, nil},
	} {
		var o outcome
		for _, err := range tc.tries {
			o.see(err)
		}
		if got := o.of(tc.tries[len(tc.tries)-1]); !errors.Is(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A caller must get the reason for no leader before its deadline, and not a bare timeout.
func TestWaitForLeaderEndsBeforeDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for deadline, want := range map[time.Duration]time.Duration{
			time.Minute:             Wait,
			1600 * time.Millisecond: 1350 * time.Millisecond,
			400 * time.Millisecond:  300 * time.Millisecond,
		} {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			if wait := time.Until(endOfWait(ctx)); wait != want {
				t.Errorf("a call with %v waits for %v, want %v", deadline, wait, want)
			}
			cancel()
		}
		if wait := time.Until(endOfWait(t.Context())); wait != Wait {
			t.Errorf("a call without a deadline waits for %v, want %v", wait, Wait)
		}
	})
}
