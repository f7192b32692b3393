//go:build !mutants

package fsm

import commandv1 "github.com/snowraft/snowraft/proto/command/v1"

// nowOf returns the time at which to apply a command: the proposer's, always.
func nowOf(cmd *commandv1.Command) int64 { return cmd.GetNowMs() }
