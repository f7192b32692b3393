package main

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// voidState measures the state of a gapless sequence with as many void numbers as it can have, and a member that is restored from its
// backup.
func voidState() section {
	return section{name: "voids", title: "A gapless sequence with void numbers", long: true, measure: func(ctx context.Context, e *env) (*table, error) {
		g := &growth{columns: []string{"void numbers of one gapless sequence"}}
		for _, voids := range []int{26_000, 262_000} {
			g.columns = append(g.columns, whole(float64(voids)))
			elapsed := stopwatch()
			if _, _, err := stateOf(wall(), voided(voids)); err != nil {
				return nil, err
			}
			g.add("reserving and voiding a number, 100 per command, state machine", float64(elapsed())/float64(voids), nanoseconds)
			if err := g.addState(voided(voids)); err != nil {
				return nil, err
			}
			if err := e.measureVoided(ctx, g, voids); err != nil {
				return nil, err
			}
		}
		return g.table("One run. The numbers were reserved and voided in the state machine alone, and the member was restored from a backup of that state. Start times are medians of three starts"), nil
	}}
}

func (e *env) measureVoided(ctx context.Context, g *growth, voids int) (err error) {
	var started closers
	defer started.close(&err)
	m, err := e.restore(ctx, g, "voids", voided(voids), &started)
	if err != nil {
		return err
	}
	if err := e.run(ctx, "seq", "resume", invoices, "--holders-stopped", "--after", fmt.Sprint(voids), "--addr", m.api); err != nil {
		return err
	}
	elapsed := stopwatch()
	if err := e.run(ctx, "seq", "audit", invoices, "-o", "csv", "--addr", m.api); err != nil {
		return err
	}
	g.add("`snowraft seq audit -o csv`", float64(elapsed()), nanoseconds)
	after, err := m.metrics(ctx)
	g.add("resident memory of the member", after[resident], megabytes)
	return err
}

// voided yields the commands that reserve and void numbers, a hundred at a time. More than an hour passes between two hundreds, so the
// keys of earlier ones are forgotten and take no room.
func voided(numbers int) iter.Seq[*commandv1.Command] {
	const batch = 100
	return func(yield func(*commandv1.Command) bool) {
		spec := createSequence(invoices, commandv1.SequenceMode_SEQUENCE_MODE_GAPLESS)
		more := yield(&commandv1.Command{Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{Config: fsm.DefaultConfig()}}}) &&
			yield(&commandv1.Command{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: fsm.DocumentVersion}}})
		index, clock := uint64(3), backupEnded().Add(-time.Duration(numbers/batch+24)*(time.Hour+time.Second)).UnixMilli()
		spec.ClockAtMs = clock
		more = more && yield(spec)
		generation := index
		for first := 1; more && first <= numbers; first += batch {
			clock += (time.Hour + time.Second).Milliseconds()
			reserve := &commandv1.ReserveNumbers{Name: invoices, Generation: generation}
			void := &commandv1.VoidNumbers{Name: invoices, Reason: "order canceled"}
			for n := first; n < first+batch; n++ {
				key := fmt.Sprint("order-", n)
				reserve.Keys = append(reserve.Keys, key)
				void.Claims = append(void.Claims, &commandv1.ReservationClaim{Key: key, Reservation: index + 2, Attempt: 1})
			}
			more = yield(&commandv1.Command{ClockAtMs: clock, Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}}) &&
				yield(&commandv1.Command{ClockAtMs: clock, Body: &commandv1.Command_ReserveNumbers{ReserveNumbers: reserve}}) &&
				yield(&commandv1.Command{ClockAtMs: clock, Body: &commandv1.Command_VoidNumbers{VoidNumbers: void}})
			index += 3
		}
	}
}
