package cluster

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/clock"
)

// runUpkeep checks the clock, the disk, this node's own membership and its replication, and forgets nodes that are gone.
func (n *Node) runUpkeep() {
	tick := time.NewTicker(min(time.Second, n.cfg.Timing.GossipProbe))
	defer tick.Stop()
	var write stall
	ask, hears := true, false
	for {
		n.upkeep.Store(n.cfg.Watch.Now().Mono)
		changed := n.LeaderChanged() // a new leader must know at once whether it is the only voter
		n.cfg.Watch.Update()
		others, need := n.otherVoters()
		n.cfg.Watch.SetAlone(len(others)+need == 0) // need is at least 1 for a nonvoter
		if ask || !n.cfg.Watch.Settled() {
			n.gossip.RequestClocks()
		}
		if d := write.lasts(n.store.Writing(), n.cfg.Watch.Now()); d > n.cfg.Timing.DiskStall && n.raft.State() == raft.Leader {
			// The leader's heartbeats continue, so no other voter would be elected (hashicorp/raft#503).
			n.Fail(&StalledError{Dir: n.cfg.DataDir, Lasts: d})
		}
		if member, _ := n.IsMember(); !member && n.cfg.Removed.IsRemoved(n.ID()) {
			n.Fail(peer.ErrRemoved)
		}
		n.announceStall()
		n.gossip.ForgetGone()
		hears = n.shareLives(hears)
		n.gossip.RecheckClaims()
		if n.stream != nil && n.stream.CloseAbandoned(n.ServerAddr) {
			n.network.CloseStreams() // the pool has buffers for each address
		}
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
			ask = true
		case <-changed:
			ask = false
		}
	}
}

// stuckAfter is the time without a new round of runUpkeep after which a node counts as stuck. Rounds normally begin at least once
// per second.
const stuckAfter = 10 * time.Second

// Alive returns nil while runUpkeep makes progress. It takes the locks of gossip, of the clock and of the state machine. A disk
// that hangs does not stop it: a follower issues IDs without its disk, and a leader halts after DiskStall.
func (n *Node) Alive() error {
	if d := time.Duration(n.cfg.Watch.Now().Mono-n.upkeep.Load()) * time.Millisecond; d > stuckAfter {
		return fmt.Errorf("upkeep has not run for %v; the process is stuck", d)
	}
	return nil
}

// stall measures by repeated checks for how long a write has been in progress. It uses the monotonic clock, so a jump of the
// wall clock does not count as a slow disk. A pause of the process does not count either, except for mostBetweenLooks.
type stall struct {
	write  uint64
	lasted time.Duration
	looked int64 // time of the last check; same scale as [clock.Reading].Mono
}

// mostBetweenLooks is the greatest time between two checks that counts.
const mostBetweenLooks = 2 * time.Second

// lasts returns the time since the write of that number was first seen; 0 without a write.
func (s *stall) lasts(write uint64, now clock.Reading) time.Duration {
	passed := time.Duration(now.Mono-s.looked) * time.Millisecond
	s.looked = now.Mono
	if write == 0 || write != s.write {
		s.write, s.lasted = write, 0
	} else {
		s.lasted += min(passed, mostBetweenLooks)
	}
	return s.lasted
}

// rejoin contacts seeds and lost members at intervals, because memberlist does not contact nodes again that it has given up.
func (n *Node) rejoin() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for round := 0; ; round++ {
		select {
		case <-n.ctx.Done():
			return
		case <-timer.C:
		}
		for _, addr := range n.gossipTargets() {
			if n.ctx.Err() != nil {
				return
			}
			err := n.gossip.Join(addr)
			if slices.Contains(n.cfg.Join, addr) {
				n.seedContacts.record(addr, err)
			}
			n.judgeSeedContact(addr, err)
			if err != nil {
				n.logger.Debug("member not contacted; retrying", "address", addr, "error", err)
			}
		}
		if round == 0 {
			close(n.seeds.tried)
		}
		wait := n.cfg.Timing.Rejoin
		if _, leader := n.raft.LeaderWithID(); leader == "" {
			wait = min(wait, time.Second)
		}
		timer.Reset(wait)
	}
}

// claimsPause is the time between two checks of the claims about members.
const claimsPause = 100 * time.Millisecond

// confirmClaims shakes hands with the members about which gossip claims something new. This node believes only the members themselves.
// The upkeep notifies it of claims that are left.
func (n *Node) confirmClaims() {
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-n.gossip.Claimed():
		}
		if n.ctx.Err() != nil { // both channels were ready
			return
		}
		if n.greeter == nil || n.id.Cluster() == "" {
			continue
		}
		var wg sync.WaitGroup
		for _, m := range n.gossip.UnconfirmedClaims() {
			wg.Go(func() {
				if err := n.greeter.Greet(raft.ServerID(m.ID), raft.ServerAddress(m.Raft)); err != nil {
					n.logger.Debug("handshake with member rejected; retrying", "name", m.Name, "error", err)
				}
			})
		}
		wg.Wait()
		pause := time.NewTimer(claimsPause)
		select {
		case <-n.ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// gossipTargets returns the gossip addresses to contact: seeds that are not known as live nodes, and nodes that were lost.
func (n *Node) gossipTargets() []string {
	live := map[string]bool{n.meta().Gossip: true}
	addrs := slices.Clone(n.cfg.Join)
	for _, p := range n.gossip.Peers() {
		if p.Alive {
			live[p.Claim.Gossip] = true
		} else if p.Claim.Gossip != "" {
			addrs = append(addrs, p.Claim.Gossip)
			if p.Confirmed.Gossip != "" && p.Confirmed.Gossip != p.Claim.Gossip {
				addrs = append(addrs, p.Confirmed.Gossip)
			}
		}
	}
	return slices.DeleteFunc(addrs, func(a string) bool { return live[a] })
}
