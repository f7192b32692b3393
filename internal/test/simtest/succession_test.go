package simtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster/leadership"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// called returns the number of elections that live members won without a timeout or a transfer.
func (w *world) called() (count uint64) {
	for _, n := range w.live() {
		count += n.proc().member.Node().ElectionsWon()[leadership.Refused]
	}
	return count
}

// follow waits until the leader has led for long enough to be replaced without a timeout.
func (w *world) follow() *node {
	w.Helper()
	leader := w.leader()
	w.pass(2 * time.Second)
	if now := w.leader(); now != leader {
		w.Fatalf("%s replaced %s", now.name, leader.name)
	}
	return leader
}

// untilEqualLogs waits until the logs of all members have the same length.
func (w *world) untilEqualLogs() {
	w.Helper()
	for last := func(n *node) uint64 { return n.proc().member.Node().LastIndex() }; ; w.pass(time.Millisecond) {
		live := w.live()
		if !slices.ContainsFunc(live, func(n *node) bool { return last(n) != last(live[0]) }) {
			return
		}
	}
}

// replaced returns the time until the other members have a ready leader.
func (w *world) replaced(old *node) time.Duration {
	w.Helper()
	began := time.Now()
	for {
		if leader := w.leaderNow(); leader != nil && leader != old {
			return time.Since(began)
		}
		if time.Since(began) > recovery {
			w.Fatalf("no leader within %v\n%s", recovery, w.status())
		}
		w.pass(time.Millisecond)
	}
}

// loseNonvoter adds a member and loses it before it is a voter, so that no majority may count it.
func (w *world) loseNonvoter() {
	w.Helper()
	n := w.addNode(0).start()
	w.until(recovery, "the new member is a nonvoter", func() bool { _, nonvoters := w.voters(); return nonvoters == 1 })
	n.crash()
}

func TestKilledLeaderIsReplacedWithoutTimeout(t *testing.T) {
	t.Parallel()
	for _, members := range []int{3, 5} {
		simulate(t, options{members: members, idle: true, quick: true}, func(w *world) {
			w.loseNonvoter()
			for range depth.Of(8, 20) {
				leader, before := w.follow(), w.called()
				term := leader.proc().member.Node().Term()
				before -= leader.proc().member.Node().ElectionsWon()[leadership.Refused]
				w.untilEqualLogs() // a follower with a shorter log than another one would lose its election
				leader.crash()
				took := w.replaced(leader)
				if took > 300*time.Millisecond || w.called() != before+1 || w.leader().proc().member.Node().Term() != term+1 {
					w.Errorf("%d members: the leader of term %d was replaced after %v in term %d by %d called elections; want 1 within 300 ms",
						members, term, took, w.leader().proc().member.Node().Term(), w.called()-before)
				}
				leader.start()
				w.untilAllIssue(recovery)
			}
		})
	}
}

// A restarted process answers at the leader's address before the others check the address.
func TestRestartedLeaderIsReplacedWithoutTimeout(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		for range 10 {
			leader := w.follow()
			term := leader.proc().member.Node().Term()
			leader.crash()
			leader.start()
			w.until(400*time.Millisecond, "there is another term", func() bool { return w.others(leader)[0].proc().member.Node().Term() > term })
			w.untilAllIssue(recovery)
		}
	})
}

// Silence is not evidence: a machine without power closes no connection and refuses none.
func TestUnpluggedLeaderIsReplacedAfterTimeout(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		for range 5 {
			leader := w.follow()
			leader.unplug()
			if took := w.replaced(leader); took < 400*time.Millisecond {
				w.Errorf("replaced after %v, before any timeout", took)
			}
			leader.start()
			w.untilAllIssue(recovery)
		}
		if n := w.called(); n > 0 {
			w.Errorf("%d elections were called, want 0", n)
		}
	})
}

// No disturbance of the network deposes a live leader from which a majority hears at least once per 100 ms.
func TestLivingLeaderIsKept(t *testing.T) {
	t.Parallel()
	for name, disturb := range map[string]func(w *world, leader *node){
		"resets": func(w *world, leader *node) {
			leader.proc().raft.hangUp()
		},
		"resets, new connections to the leader are refused": func(w *world, leader *node) {
			w.net.wall(w.others(leader), []*node{leader})
			leader.proc().raft.hangUp()
		},
		"resets, new connections between the leader and a minority are refused": func(w *world, leader *node) {
			some := w.others(leader)[:(w.members-1)/2]
			w.net.wall(some, []*node{leader})
			w.net.wall([]*node{leader}, some)
			leader.proc().raft.hangUp()
		},
		"resets of all connections": func(w *world, leader *node) {
			for _, n := range w.live() {
				n.proc().raft.hangUp()
			}
		},
		"a follower restarts": func(w *world, leader *node) {
			f := w.others(leader)[w.rng.IntN(w.members-1)]
			f.crash()
			w.pass(w.between(0, 300*time.Millisecond))
			f.start()
		},
	} {
		for _, members := range []int{3, 5} {
			t.Run(fmt.Sprintf("%s, %d voters", name, members), func(t *testing.T) {
				t.Parallel()
				simulate(t, options{members: members, idle: true}, func(w *world) {
					w.loseNonvoter()
					leader := w.follow()
					term := leader.proc().member.Node().Term()
					for range depth.Of(20, 50) {
						disturb(w, leader)
						w.pass(w.between(0, 2*time.Second))
						w.net.heal()
						w.pass(time.Second)
					}
					if now := w.leader(); w.called() > 0 || now != leader || now.proc().member.Node().Term() != term {
						w.Errorf("%d elections were called, %s leads in term %d, want %s in term %d", w.called(), now.name, now.proc().member.Node().Term(), leader.name, term)
					}
				})
			})
		}
	}
}

// A follower that lost the leader and found it again supports no candidate because of that loss, even while a middlebox keeps
// resetting its new connections from the leader.
func TestFormerLossIsNoEvidence(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		leader := w.follow()
		term := leader.proc().member.Node().Term()
		for range 20 {
			followers := w.others(leader)
			w.rng.Shuffle(2, func(i, j int) { followers[i], followers[j] = followers[j], followers[i] })
			for i, reset := range []time.Duration{time.Hour, time.Millisecond} {
				w.net.wall(followers[i:i+1], []*node{leader})
				w.net.wall([]*node{leader}, followers[i:i+1])
				leader.proc().raft.hangUp()
				for took := time.Duration(0); took < 400*time.Millisecond; took += time.Millisecond {
					w.pass(time.Millisecond)
					if took%reset == 0 && took > 0 {
						leader.proc().raft.hangUp()
					}
				}
				w.net.heal()
				w.pass(time.Second)
			}
		}
		if now := w.leader(); w.called() > 0 || now != leader || now.proc().member.Node().Term() != term {
			w.Errorf("%d elections were called, want none; want %s to lead in term %d", w.called(), leader.name, term)
		}
	})
}

// A paused leader accepts connections and does not answer on them.
func TestPausedLeaderIsReplacedAfterTimeout(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		for range 10 {
			leader := w.follow()
			leader.proc().raft.hangUp()
			w.net.part([]*node{leader}, w.others(leader), raftPlane)
			if took := w.replaced(leader); took < 400*time.Millisecond {
				w.Errorf("replaced after %v, before any timeout", took)
			}
			w.net.heal()
			w.untilAllIssue(recovery)
		}
		if n := w.called(); n > 0 {
			w.Errorf("%d elections were called, want 0", n)
		}
	})
}

// While messages get lost, only Raft's timeouts start elections.
func TestLostMessagesCallNoElection(t *testing.T) {
	t.Parallel()
	simulate(t, options{idle: true}, func(w *world) {
		for range 30 {
			w.net.lose(0.3, raftPlane)
			for _, n := range w.live() {
				n.proc().raft.hangUp()
			}
			w.pass(w.between(0, 10*time.Second))
			w.net.heal()
			w.untilAllIssue(recovery)
		}
		if n := w.called(); n > 0 {
			w.Errorf("%d elections were called, want 0", n)
		}
	})
}
