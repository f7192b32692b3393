package server

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/server/frontend"
)

var descHalted = frontend.Desc("halted", "1 while the member has halted for this reason and shuts down, otherwise 0.", "reason")

// The reasons for which a member halts.
var haltReasons = []string{"damage", "disk", "duplicate", "name", "removed", "state", "version", "other"}

// haltReason returns the reason of a failure; empty for none.
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
	case errors.As(err, &newer), errors.Is(err, cluster.ErrTooOld):
		return "version"
	case errors.Is(err, fsm.ErrHalted):
		return "state"
	default:
		return "other"
	}
}

func collectHalted(ch chan<- prometheus.Metric, failure error) {
	now := haltReason(failure)
	for _, reason := range haltReasons {
		ch <- prometheus.MustNewConstMetric(descHalted, prometheus.GaugeValue, frontend.Flag(reason == now), reason)
	}
}
