package cli

import (
	"fmt"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Voters formats the state of the voters, with the number of tolerated failures; empty without voters.
func Voters(q *snowraftv1.Quorum) string {
	voters, alive, needed := q.GetVoters(), q.GetAlive(), q.GetVoters()/2+1
	if voters == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d alive; ", alive, voters)
	switch n := q.GetMayFail(); {
	case alive < needed:
		text += fmt.Sprintf("quorum needs %d", needed)
	case n == 0:
		text += "tolerates no failure"
	case n == 1:
		text += "tolerates one failure"
	default:
		text += fmt.Sprintf("tolerates %d failures", n)
	}
	if voters%2 == 0 {
		text += fmt.Sprintf("; add or remove a voter, unless a nonvoter is about to be promoted: %d tolerate no more failures than %d", voters, voters-1)
	}
	return text
}
