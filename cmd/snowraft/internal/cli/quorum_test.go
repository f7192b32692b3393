package cli

import (
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestVotersNamesToleratedFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		voters, alive, mayFail uint32
		want                   string
	}{
		{0, 0, 0, ""},
		{1, 1, 0, "1 of 1 alive; tolerates no failure"},
		{2, 2, 0, "2 of 2 alive; tolerates no failure; add or remove a voter, unless a nonvoter is about to be promoted: 2 tolerate no more failures than 1"},
		{3, 3, 1, "3 of 3 alive; tolerates one failure"},
		{3, 2, 0, "2 of 3 alive; tolerates no failure"},
		{3, 1, 0, "1 of 3 alive; quorum needs 2"},
		{4, 4, 1, "4 of 4 alive; tolerates one failure; add or remove a voter, unless a nonvoter is about to be promoted: 4 tolerate no more failures than 3"},
		{5, 5, 2, "5 of 5 alive; tolerates 2 failures"},
	} {
		if got := Voters(&snowraftv1.Quorum{Voters: c.voters, Alive: c.alive, MayFail: c.mayFail}); got != c.want {
			t.Errorf("Voters(%d, %d, %d) = %q, want %q", c.voters, c.alive, c.mayFail, got, c.want)
		}
	}
}
