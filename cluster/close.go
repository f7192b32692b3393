package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/gossip"
	"github.com/snowraft/snowraft/cluster/storage"
)

// handoverTimeout is the time for which a closing leader waits until its successor leads. The transfer needs an election. If
// other nodes close too, no voter may be left to win it.
const handoverTimeout = time.Second

// Close transfers leadership if this node leads, leaves the gossip and stops the node. The transfer takes at most 1 s, or until
// ctx ends. The node stays a member of its cluster. Later calls wait for the first call and return the same error.
func (n *Node) Close(ctx context.Context) error {
	n.closeOnce.Do(func() {
		if n.Failure() == nil && n.raft.State() == raft.Leader && n.hasSuccessor() {
			handing, cancel := context.WithTimeout(ctx, handoverTimeout)
			if _, err := n.TransferLeadership(handing, ""); err != nil {
				n.logger.Warn("leadership not transferred", "error", err)
			}
			cancel()
		}
		n.closeErr = n.abandon()
	})
	return n.closeErr
}

// stopRaft stops raft and closes its transport, or its listener if raft was not started.
func (n *Node) stopRaft() error {
	if n.terms != nil {
		n.terms.Close(ErrClosed)
	}
	switch {
	case n.raft == nil && n.stream == nil && n.cfg.RaftListener != nil:
		return n.cfg.RaftListener.Close()
	case n.raft == nil:
		return nil
	}
	defer close(n.stopped)
	f := n.raft.Shutdown() // the wait for the outcome closes the transport
	if n.Failure() == nil {
		return f.Error()
	}
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-time.After(storage.StuckTimeout):
		return errors.New("raft not stopped, because its disk does not respond")
	}
}

// abandon stops everything that was started: first gossip, then raft with its transport, and the store and the identity last.
// A node that failed stops raft at once, because the other nodes replace a leader as soon as its port refuses connections.
func (n *Node) abandon() error {
	n.cancel()
	failed, raftStopped := n.Failure() != nil, make(chan error, 1)
	if failed {
		go func() { raftStopped <- n.stopRaft() }()
	}
	var errs []error
	if n.gossip != nil && n.gossip.Opened() {
		if failed {
			n.gossip.Announce()
		}
		errs = append(errs, n.gossip.Close())
	} else if n.cfg.Gossip != nil {
		errs = append(errs, gossip.Discard(n.cfg.Gossip))
	}
	if !failed {
		raftStopped <- n.stopRaft()
	}
	errs = append(errs, <-raftStopped)
	n.wg.Wait()
	if n.watermark != nil {
		errs = append(errs, n.watermark.Close())
	}
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.id != nil {
		errs = append(errs, n.id.Close())
	}
	return errors.Join(errs...)
}
