//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// undoWithin is the time limit for undoing a fault, see patient.
const undoWithin = 5 * time.Minute

// Play makes the events of a schedule at their times, or later when their turn comes, and undoes them. It returns when all
// are undone; if ctx ends, it undoes the remaining faults at once. It records each fault in the journal, failed ones too.
// It returns an error if a fault could not be made or undone. Such a run proves nothing, so Play begins no further fault.
func (w *World) Play(ctx context.Context, journal *history.Journal, events []schedule.Event) error {
	begun := history.Now()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	errs := make([]error, len(events))
	turns := newTurns()
	for number, e := range events {
		wg.Go(func() {
			if err := until(ctx, begun+int64(e.At)); err != nil {
				return
			}
			kind, err := Named(e.Fault)
			if err != nil {
				errs[number] = err
				return
			}
			defer turns.take(kind.Alone, kind.Beside)()
			if ctx.Err() != nil {
				return
			}
			if errs[number] = w.play(ctx, journal, kind, number, e); errs[number] != nil {
				stop()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// play makes one fault, and undoes it after the event's duration.
func (w *World) play(ctx context.Context, journal *history.Journal, kind Kind, number int, e schedule.Event) error {
	line := history.Fault{Event: number, Name: e.Fault, Family: kind.Family}
	if kind.Alone {
		release, err := w.reserve(ctx)
		if err == nil {
			defer release()
			err = w.UntilWell(ctx, w.Lab.Founders()...)
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			line.At, line.Failed = history.Now(), err.Error()
			journal.Add(history.Line{Fault: &line})
			return fmt.Errorf("%s: cluster not ready for the fault: %w", e.Fault, err)
		}
	}
	line.At = history.Now()
	made, err := kind.Begin(ctx, w, e)
	line.Hosts, line.OffsetNanos, line.Detail = made.Hosts, int64(made.Offset), made.Detail
	if err != nil {
		line.Failed = err.Error()
	}
	journal.Add(history.Line{Fault: &line})
	if err != nil {
		return fmt.Errorf("%s: %w", e.Fault, err)
	}
	_ = until(ctx, history.Now()+int64(e.For)) // the end of the run undoes the fault earlier
	idle := made.Idle != nil && made.Idle()
	if made.Undo != nil {
		undo, cancel := w.patient(context.WithoutCancel(ctx), undoWithin)
		defer cancel()
		err = made.Undo(undo)
	}
	end := line
	end.At, end.Ended, end.Idle = history.Now(), true, idle
	if err != nil {
		end.Failed = err.Error()
		err = fmt.Errorf("undo %s: %w", e.Fault, err)
	}
	journal.Add(history.Line{Fault: &end})
	return err
}

// until waits until the moment. It returns an error if ctx ends first.
func until(ctx context.Context, moment int64) error {
	wait := time.NewTimer(time.Duration(moment - history.Now()))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
