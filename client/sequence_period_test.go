package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// sequencesOfPeriods takes numbers of July 1, the day on which a bubble begins, and of the day before.
func sequencesOfPeriods(t *testing.T, c *numberCluster, cl *client.Client) {
	c.create(&snowraftv1.Sequence{Name: "daily", Mode: relaxed, Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY, Format: "{date:yyyyMMdd}-{seq}"})
	day := 24 * time.Hour
	if info, err := cl.UpdateSequence(t.Context(), "daily", client.SequenceUpdate{Late: &day}); err != nil || info.Late != day {
		t.Errorf("the late time is %v, %v", info.Late, err)
	}
	s := cl.Sequence("daily")
	today, err := s.TakeOf(t.Context(), client.Period{Name: "2026-07-01"}, 2)
	if err != nil || today.At(0) != 1 || today.At(1) != 2 {
		t.Errorf("numbers of today = %v, %v", today, err)
	}
	late := client.Period{Name: "2026-06-30"}
	if _, err := s.TakeOf(t.Context(), late, 1); err == nil {
		t.Error("the end of a day from before the sequence is known")
	}
	late.From, late.RequestID = new(int64(813)), "r"
	for range 2 { // the second one is a repetition
		if texts, err := s.TextsOf(t.Context(), late, 1); err != nil || texts[0] != "20260630-813" {
			t.Errorf("a late number = %v, %v", texts, err)
		}
	}
	if n, err := s.TakeOf(t.Context(), client.Period{Name: "2026-06-30"}, 1); err != nil || n.At(0) != 814 {
		t.Errorf("the next late number = %v, %v", n, err)
	}
	info, err := cl.GetSequence(t.Context(), "daily")
	if err != nil || len(info.EndedPeriods) != 1 || info.EndedPeriods[0].Period != 20260630 || *info.EndedPeriods[0].Next != 815 {
		t.Errorf("ended periods %+v, %v", info.EndedPeriods, err)
	}
	for _, bad := range []client.Period{{}, {Name: "2026-06", RequestID: string(make([]byte, 65))}, {Name: "2026-06"}} {
		if _, err := s.TakeOf(t.Context(), bad, 1); !errors.Is(err, client.ErrInvalidArgument) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
