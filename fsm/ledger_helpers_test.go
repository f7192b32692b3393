package fsm

import (
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	gapless = commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS

	gaplessReason   = commandv1.Refusal_REFUSAL_GAPLESS_SEQUENCE
	notGapless      = commandv1.Refusal_REFUSAL_NOT_GAPLESS
	reservationOpen = commandv1.Refusal_REFUSAL_RESERVATIONS_OPEN
	staleAttempt    = commandv1.Refusal_REFUSAL_STALE_ATTEMPT
	unknownKey      = commandv1.Refusal_REFUSAL_UNKNOWN_RESERVATION
	settledBefore   = commandv1.Refusal_REFUSAL_ALREADY_SETTLED
	unresolvedKey   = commandv1.Refusal_REFUSAL_NUMBER_UNRESOLVED
)

// accounted makes a specification one of a gapless sequence.
func accounted(s *commandv1.SequenceSpec) { s.Mode = gapless }

// reusing makes a specification one of a gapless sequence that reuses numbers.
func reusing(s *commandv1.SequenceSpec) { s.Mode, s.Reuse = gapless, true }

func reserveIn(name string, generation uint64, period int32, keys ...string) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_ReserveNumbers{ReserveNumbers: &commandv1.ReserveNumbers{
		Name: name, Keys: keys, Generation: generation, Period: period,
	}}}
}

func claimOf(r Reservation) *commandv1.ReservationClaim {
	return &commandv1.ReservationClaim{Key: r.Key, Reservation: r.Reservation, Attempt: r.Attempt}
}

func confirm(name string, claims ...*commandv1.ReservationClaim) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_ConfirmNumbers{ConfirmNumbers: &commandv1.ConfirmNumbers{Name: name, Claims: claims}}}
}

func void(name, reason string, claims ...*commandv1.ReservationClaim) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_VoidNumbers{VoidNumbers: &commandv1.VoidNumbers{
		Name: name, Claims: claims, Reason: reason,
	}}}
}

// neverCommitted makes the voided numbers ones that no transaction can commit anymore.
func neverCommitted(cmd *commandv1.Command) *commandv1.Command {
	cmd.GetVoidNumbers().NeverCommitted = true
	return cmd
}

func takeIn(name string, generation uint64, period int32, first int64, count uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_TakeNumbers{TakeNumbers: &commandv1.TakeNumbers{
		Name: name, Generation: generation, Period: period, First: first, Count: count, Reason: "by hand",
	}}}
}

func resolve(name string, period int32, first int64, count uint64, used bool) *commandv1.Command {
	c := &commandv1.ResolveNumbers{Name: name, Period: period, First: first, Count: count, Used: used}
	if !used {
		c.Reason = "not in the database"
	}
	return &commandv1.Command{Body: &commandv1.Command_ResolveNumbers{ResolveNumbers: c}}
}

// reserves draws one number, or repeats a reservation, with the present generation.
func (l *log) reserves(name string, period int32, key string) Reservation {
	l.t.Helper()
	return l.must(at(epoch, reserveIn(name, l.seq(name).Generation, period, key))).Reservations[0]
}

// newLedgerLog accepts the commands of gapless sequences, in periods that begin with 2025-01-01.
func newLedgerLog(t testing.TB, specs ...*commandv1.SequenceSpec) *log {
	l := newLog(t)
	l.must(at(epoch, raise(Version)))
	for _, spec := range specs {
		period := int32(0)
		if spec.GetReset_() != resetNone {
			period = 20250101
		}
		l.must(at(epoch, create(spec, period)))
	}
	return l
}
