package backfill

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/vectors"
)

// TestBackfillVectors publishes what members answer to batches of rows.
func TestBackfillVectors(t *testing.T) {
	type step struct {
		Position int64    `json:"position"`
		WithinMs int64    `json:"withinMs"`
		TimesMs  []int64  `json:"timesMs"`
		IDs      []string `json:"ids,omitempty"`
		Next     int64    `json:"next,omitempty"`
		Row      *int     `json:"row,omitempty"` // refused row
	}
	var steps []step
	for _, s := range []step{
		{TimesMs: []int64{0, 9, 10, 30}},
		{TimesMs: []int64{70, 70, 79, 80}, Position: 25},
		{TimesMs: []int64{70, 70, 70, 70, 70, 70, 70, 70, 70}},
		{TimesMs: []int64{70, 70, 70, 70, 70, 70, 70, 70, 70}, WithinMs: 10},
		{TimesMs: []int64{79, 70}},             // one tick, in any order
		{TimesMs: []int64{80, 79}},             // out of order
		{TimesMs: []int64{100, 70}},            // out of order
		{TimesMs: []int64{10}, Position: 24},   // before the position
		{TimesMs: []int64{30}, Position: 25},   // tick of the position
		{TimesMs: []int64{-1}},                 // before the epoch
		{TimesMs: []int64{9_999, 10_000}},      // after the past
		{TimesMs: []int64{9_999}, Position: 1}, // the last tick
	} {
		for i := range s.TimesMs {
			s.TimesMs[i] += epoch
		}
		ids, next, err := Job{Layout: small, Worker: 1, Place: s.Position, Border: 1000}.Assign(s.TimesMs, time.Duration(s.WithinMs)*time.Millisecond)
		if row, ok := errors.AsType[*RowError](err); ok {
			s.Row = &row.Row
		}
		for _, id := range ids {
			s.IDs = append(s.IDs, strconv.FormatUint(id, 10))
		}
		s.Next = next
		steps = append(steps, s)
	}
	var fields []string
	for _, f := range small.Spec().Fields {
		fields = append(fields, f.Field.String()+":"+strconv.Itoa(int(f.Bits)))
	}
	vectors.Check(t, "../..", "backfills.json", map[string]any{
		"about":  "Batches of rows of backfill job 1, their IDs and the next position, or the row that is refused; see README.md",
		"fields": strings.Join(fields, ","), "unitMs": 10, "epochMs": epoch, "spread": 8, "job": 1, "pastUntilTick": 1000,
		"steps": steps,
	})
}
