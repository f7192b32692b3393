package check

import (
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

// TestRefusalOfRemovals removes n3 at 100 s, which leaves n1 and n2.
func TestRefusalOfRemovals(t *testing.T) {
	t.Parallel()
	ended := func(start uint32, member string, at int64) history.Line {
		return history.Line{Process: &history.Process{Start: start, Member: member, At: at, Ended: true}}
	}
	both := lines(process(1, "n1", 0), process(2, "n2", 0))
	down := lines(both, ended(2, "n2", 90*second))
	for _, c := range []struct {
		name    string
		lines   []history.Line
		key     string
		outcome history.Outcome
		want    Outcome
	}{
		{"both alive", both, history.NeededRemoval + "n3", history.OK, Pass},
		{"one is down", down, history.NeededRemoval + "n3", history.OK, Fail},
		{"one is down, refused", down, history.NeededRemoval + "n3", history.Fail, Pass},
		{"one is down, outcome unknown", down, history.NeededRemoval + "n3", history.Info, Pass},
		{"one went down later", lines(both, ended(2, "n2", 101*second)), history.NeededRemoval + "n3", history.OK, Pass},
		{"one came back at that moment", lines(down, process(3, "n2", 100*second+1)), history.NeededRemoval + "n3", history.OK, Pass},
		{"one came back later", lines(down, process(3, "n2", 101*second)), history.NeededRemoval + "n3", history.OK, Fail},
		{"another operation", down, "remove n3", history.OK, Pass},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			op := history.Op{ID: 1, Do: history.DoAdmin, Key: c.key, Call: 100 * second, Return: 108 * second, Outcome: c.outcome}
			var texts []string
			if c.want == Fail {
				texts = []string{"removed n3", "1 of 2 other voters"}
			}
			wants(t, Refusal(newScene(c.lines...).ops(op).open(t)), c.want, texts...)
		})
	}
}
