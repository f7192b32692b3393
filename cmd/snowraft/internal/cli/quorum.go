package cli

import (
	"fmt"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Voters formats the state of the voters, with the number of voters that may fail now; empty without voters.
func Voters(q *snowraftv1.Quorum) string {
	voters, alive, needed := q.GetVoters(), q.GetAlive(), q.GetVoters()/2+1
	if voters == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d alive, %d may fail", alive, voters, q.GetMayFail())
	if alive < needed {
		text = fmt.Sprintf("%d of %d alive, quorum needs %d", alive, voters, needed)
	}
	if voters%2 == 0 {
		text += fmt.Sprintf("; add or remove a voter: %d tolerate no more failures than %d", voters, voters-1)
	}
	return text
}
