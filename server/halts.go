package server

import (
	"errors"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/server/kernel"
)

var descHalt = kernel.Desc("last_halt_timestamp_seconds", "Unix time at which the member halted last, under the reason; NaN under other reasons.", "reason")

// haltReasons lists the reasons for which a member halts.
var haltReasons = []string{"damage", "disk", "duplicate", "name", "removed", "state", "superseded", "version", "other"}

// haltReason returns the reason of a failure; empty if err is nil.
func haltReason(err error) string {
	var (
		corrupt *storage.CorruptError
		disk    *storage.DiskError
		stalled *cluster.StalledError
		newer   *fsm.NewerError
	)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &corrupt):
		return "damage"
	case errors.As(err, &disk), errors.As(err, &stalled):
		return "disk"
	case errors.Is(err, cluster.ErrDuplicate):
		return "duplicate"
	case errors.Is(err, cluster.ErrNameTaken):
		return "name"
	case errors.Is(err, cluster.ErrRemoved):
		return "removed"
	case errors.Is(err, cluster.ErrSuperseded):
		return "superseded"
	case errors.As(err, &newer), errors.Is(err, cluster.ErrTooOld):
		return "version"
	case errors.Is(err, fsm.ErrHalted):
		return "state"
	default:
		return "other"
	}
}
