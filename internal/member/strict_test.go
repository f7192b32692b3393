package member

import (
	"fmt"
	"testing"
)

// A request with an ID goes through the log. The numbers in the leader's memory were granted before, so they are
// returned or skipped.
func TestStrictNumbersGrowAcrossRequestsWithIDs(t *testing.T) {
	m := openOne(t)
	createStrict(t, m, "s")
	last := int64(0)
	for round := range 5 {
		for _, id := range []string{"", fmt.Sprint("request ", round)} {
			n, err := m.NextAtLeader(anyone(t), "s", 3, id)
			if err != nil {
				t.Fatal(err)
			}
			if n.First <= last {
				t.Errorf("round %d, request ID %q: %d after %d", round, id, n.First, last)
			}
			last = n.Number(n.Count - 1)
		}
	}
}
