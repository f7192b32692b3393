//go:build mutants

package fsm

import (
	"time"

	"github.com/snowraft/snowraft/internal/mutant"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// wallMillis is the clock of the planted bug [mutant.NowInApply]; tests replace it.
var wallMillis = func() int64 { return time.Now().UnixMilli() }

func nowOf(cmd *commandv1.Command) int64 {
	if mutant.On(mutant.NowInApply) {
		return wallMillis()
	}
	return cmd.GetNowMs()
}
