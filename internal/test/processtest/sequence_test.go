//go:build process

package processtest

import (
	"context"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// TestNumbersWaitForTheNextLeader kills the leader while the other members have no block
// of a relaxed sequence yet. Callers that request a number from them wait, and get one.
func TestNumbersWaitForTheNextLeader(t *testing.T) {
	t.Parallel()
	members := startCluster(t, 3)
	l := leader(t, members)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sequence := &snowraftv1.Sequence{Name: "s", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED}
	if _, err := l.numbers.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: sequence}); err != nil {
		t.Fatal(err)
	}
	untilApplied(t, members)
	l.kill()
	for _, m := range others(members, l) {
		began := time.Now()
		if _, err := m.numbers.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "s", Count: 1}); err != nil {
			t.Errorf("%s after %v: %v", m.name, time.Since(began), err)
		}
	}
}
