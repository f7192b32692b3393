package history_test

import (
	"reflect"
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

func TestSeenNumbers(t *testing.T) {
	t.Parallel()
	j, err := history.Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	for _, op := range []history.Op{
		{Key: "up", Do: history.DoNext, First: 5, Count: 3, Increment: 1, Outcome: history.OK},
		{Key: "up", Do: history.DoNext, First: 100, Count: 3, Increment: 1, Outcome: history.Info},
		{Key: "up", Do: history.DoRead, First: 9, Outcome: history.OK},
		{Key: "up", Do: history.DoRead, Outcome: history.OK},
		{Key: "down", Do: history.DoBlock, First: -4, Count: 3, Increment: -3, Outcome: history.OK},
		{Key: "bills/a", Do: history.DoText, Period: "2026-11-29", First: 3, Outcome: history.OK},
		{Key: "bills/a", Do: history.DoText, Period: "2026-11-30", First: 1, Outcome: history.OK},
		{Key: "bills/a", Do: history.DoReserve, Period: "2026-11-29", First: 4, Outcome: history.OK},
		{Key: "none", Do: history.DoReturn, Count: 3, Outcome: history.OK},
	} {
		j.Add(history.Line{Op: &op})
	}
	j.Add(history.Line{Sequence: &history.Sequence{Name: "down", Mode: history.ModeRelaxed}})
	j.Add(history.Line{Template: &history.Template{Pattern: "bills/*"}})
	want := map[string]history.Seen{
		"up": {Lowest: 5, Highest: 9, Increment: 1}, "down": {Lowest: -10, Highest: -4, Increment: -3, Relaxed: true},
		"bills/a": {Lowest: 1, Highest: 1, Increment: 1, Period: "2026-11-30", Ended: map[string]int64{"2026-11-29": 4}, Template: "bills/*"},
	}
	got := j.Seen()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Seen() = %+v, want %+v", got, want)
	}
	if up, down := got["up"].Last(), got["down"].Last(); up != 9 || down != -10 {
		t.Errorf("Last() = %d and %d, want 9 and -10", up, down)
	}
}
