package client

import "time"

// LaneStatus is the state of a lane of a [Generator].
type LaneStatus struct {
	Lane                int    // index, from 0
	Worker              uint64 // meaningful if Token is not 0
	Token               uint64 // fencing token of the worker; 0 if the lane holds no worker
	FromTick, UntilTick int64  // the window: UntilTick is the first tick after it
	ServeUntil          time.Time
	Problem             string // reason why the lane cannot issue or its window is not extended; empty if neither
}

// Lanes returns the state of each lane; nil until the cluster has returned the layout.
func (g *Generator) Lanes() []LaneStatus {
	i := g.issuer.Load()
	if i == nil {
		return nil
	}
	lanes := i.Lanes()
	all := make([]LaneStatus, len(lanes))
	for k, l := range lanes {
		all[k] = LaneStatus{
			Lane: l.Lane, Worker: l.Worker, Token: l.Token, FromTick: l.From, UntilTick: l.Until,
			ServeUntil: l.ServeUntil, Problem: l.Problem,
		}
	}
	return all
}
