// Package backfill gives the rows of an import IDs at the times of the rows. It is pure: the same request gets the same IDs.
package backfill

import (
	"fmt"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// Job is a backfill job at a position: all its places before Place are used. A place is a tick, times the number of IDs in a
// tick, plus a sequence number.
type Job struct {
	Layout *snowflake.Layout
	Worker uint64 // number of the job
	Place  int64
	Border int64 // the first tick after the past of the layout
}

// place returns the first place of a tick.
func (j Job) place(tick int64) int64 { return tick * j.sequences() }

func (j Job) sequences() int64 { return int64(j.Layout.Sequences()) } //nolint:gosec // less than 2^63

// Millis returns the time of a job's position, in Unix milliseconds: no later ID of the job is earlier.
func (j Job) Millis() int64 { return j.Layout.MillisAt(j.Place / j.sequences()) }

// Assign returns an ID for each row, in ascending order, and the place after the last one. The times are in Unix milliseconds, and in
// order by their ticks. An ID has the tick of its row or, if that is full, a later one that begins at most within later. The
// error is a [RowError] about the first row that gets no ID.
func (j Job) Assign(times []int64, within time.Duration) (ids []uint64, next int64, err error) {
	ids, next = make([]uint64, 0, len(times)), j.Place
	for i := 0; i < len(times); {
		tick := j.Layout.TickAt(times[i])
		switch {
		case tick < 0:
			return nil, 0, j.refuse(i, times[i], "is before the epoch of layout %q, %s", j.Layout.Name(), stamp(j.Layout.MillisAt(0)))
		case tick >= j.Border:
			return nil, 0, j.refuse(i, times[i], "is not in the past of layout %q, which ends at %s", j.Layout.Name(), stamp(j.Layout.MillisAt(j.Border)))
		case i > 0 && times[i] < times[i-1] && tick < j.Layout.TickAt(times[i-1]):
			return nil, 0, j.refuse(i, times[i], "is before the time of the row before it; sort the rows by time")
		}
		rows := 1 // rows of the tick
		for i+rows < len(times) && j.Layout.TickAt(times[i+rows]) == tick {
			rows++
		}
		if first := j.place(tick); first > next {
			next = first
			if i+rows < len(times) { // else more rows of the tick may follow
				next += max(0, min(int64(j.Layout.StartSequence(tick)), j.sequences()-int64(rows))) //nolint:gosec // at most the sequences
			}
		}
		last := j.Layout.TickAt(times[i] + within.Milliseconds())
		for row := i; row < i+rows; row++ {
			id, ok := j.at(&next, last)
			if !ok {
				return nil, 0, j.full(row, times[row], next)
			}
			ids = append(ids, id)
		}
		i += rows
	}
	return ids, next, nil
}

// at returns the ID at a place and moves the place behind it; ok is false if its tick is after last or not in the past. ID 0 is not issued.
func (j Job) at(place *int64, last int64) (id uint64, ok bool) {
	for {
		tick, sequence := *place/j.sequences(), *place%j.sequences()
		if tick > last || tick >= j.Border {
			return 0, false
		}
		*place++
		if id = j.Layout.Compose(tick, j.Worker, uint64(sequence)); id != 0 { //nolint:gosec // places are not negative
			return id, true
		}
	}
}

// RowError reports a row that gets no ID. No row of its request got one.
type RowError struct {
	Row    int // place in the request, from 0
	Detail string
}

func (e *RowError) Error() string { return e.Detail }

func (j Job) refuse(row int, at int64, format string, args ...any) error {
	return &RowError{row, fmt.Sprintf("row %d of the request: its time %s ", row, stamp(at)) + fmt.Sprintf(format, args...)}
}

// full refuses a row whose tick has no place left.
func (j Job) full(row int, at, next int64) error {
	if tick := j.Layout.TickAt(at); tick >= j.Place/j.sequences() || next == j.place(tick+1) {
		return j.refuse(row, at, "is one of more rows than the %d IDs of a tick of layout %q; let rows have later times with --within",
			j.sequences(), j.Layout.Name())
	}
	return j.refuse(row, at, "is before the position of backfill job %d, %s; start another job for such rows",
		j.Worker, stamp(j.Layout.MillisAt(next/j.sequences())))
}

func stamp(millis int64) string {
	return time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
}
