package simtest

import (
	"context"
	"errors"
	"testing"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/internal/member"
)

// All members restart. A member whose clock is 36 h ahead leads before it can compare its clock with
// another. It begins no period, neither for waiting callers nor for a new sequence.
func TestClockThatWasNotComparedBeginsNoPeriod(t *testing.T) {
	t.Parallel()
	o := autumn
	o.day = time.Date(2026, 10, 27, 12, 0, 0, 0, time.UTC)
	simulate(t, o, func(w *world) {
		w.numbers.calendar.lag.Store(int64(2 * time.Second))
		wrong := w.nodes[0]
		for w.leaderNow() != wrong || wrong.proc().member.Clock().Settled() {
			w.crashAll()
			wrong.clock.set(36 * time.Hour)
			w.net.part([]*node{wrong}, w.nodes[1:], gossipPlane)
			w.startAll()
			w.until(recovery, "a member leads", func() bool { return w.leaderNow() != nil })
		}
		leads := wrong.proc()
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); w.pass(200 * time.Millisecond) {
			for _, r := range w.sequences {
				s := w.numbers.of(r.spec.GetName())
				a := s.ask(position{})
				ctx, cancel := context.WithTimeout(w.Context(), time.Second)
				n, err := leads.next(ctx, s, 1, "")
				cancel()
				if err == nil {
					s.give(leads.name, a, n)
				} else if !errors.Is(err, member.ErrNoLeader) {
					w.Fatal(err)
				}
			}
			fresh := like(plain("fresh", strict), func(s *commandv1.SequenceSpec) { s.Reset_ = daily })
			if _, err := leads.member.CreateSequence(w.Context(), fresh, member.Force{}); !errors.Is(err, member.ErrNoLeader) {
				w.Fatalf("CreateSequence() = %v, want an ErrNoLeader", err)
			}
		}
		w.net.heal()
		w.untilIssue(20*time.Second, w.nodes[1:]...)
		wrong.clock.set(0)
		w.untilAllIssue(recovery)
	})
}
