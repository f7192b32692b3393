package cluster

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// closing closes a node.
func closing(n *Node) func() { return func() { _ = n.Close(context.Background()) } }

// withSeeds gives a node the state of one that was just started with these seeds.
func withSeeds(n *Node, join ...string) *Node {
	s := &Node{cfg: n.cfg, logger: n.logger, id: n.id, gossip: n.gossip, lives: n.lives, raft: n.raft, opened: n.opened, failed: make(chan struct{})}
	s.cfg.Join = join
	s.seeds = seeds{since: n.mono(), foreign: make(map[string]bool), tried: make(chan struct{})}
	return s
}

// The only member of a cluster halts with a reason if its seed belongs to another cluster; other members do not.
func TestSeedOfAnotherCluster(t *testing.T) {
	t.Parallel()
	const seed = "seed:1"
	ancestor := uuid.NewString()
	for name, c := range map[string]struct {
		theirs            string
		address           string
		among             bool          // the member is one of several
		after             time.Duration // time since its start
		err               error
		halts             bool
		elsewhere, silent bool // the node is not at the seed; it does not answer
		lines             int  // number of lines in the log
	}{
		"alone":              {halts: true},
		"among others":       {among: true, lines: 1},
		"later":              {after: seedsHalt + time.Second, lines: 1},
		"its ancestor":       {theirs: ancestor},
		"no seed":            {address: "other:1"},
		"another node spoke": {elsewhere: true, lines: 1},
		"a recorded message": {silent: true, lines: 1},
		"silence":            {err: peer.ErrUnreachable},
		"a lost other error": {err: peer.ErrOtherCluster},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := new(clusterkit.Log)
			mem := raft.NewInmemStore()
			n := openAlone(t, mem, mem, func(c *Config) {
				c.Logger = slog.New(slog.NewTextHandler(log, nil))
				c.Lives = func() lives.Lives { return lives.Lives{Ancestors: []string{ancestor}} }
			})
			t.Cleanup(closing(n))
			untilLeader(t, n)
			n = withSeeds(n, seed)
			dialed := new(answering)
			dialed.with(peer.ErrOtherCluster)
			if c.silent {
				dialed.with(errors.New("connection refused"))
			}
			n.greeter = dialed
			n.seeds.since -= c.after
			if c.among {
				m := clusterkit.NewMeta()
				if err := n.raft.AddNonvoter(raft.ServerID(m.ID), peer.RaftAddress(m.ID, m.Raft), 0, 0).Error(); err != nil {
					t.Fatal(err)
				}
			}
			err := c.err
			other := &peer.OtherClusterError{Contacted: !c.elsewhere, Name: "b", Address: "b:1", Theirs: cmp.Or(c.theirs, uuid.NewString()), Ours: n.ClusterID()}
			if err == nil {
				err = other
			}
			for range 3 {
				n.judgeSeedContact(cmp.Or(c.address, seed), err)
			}
			if failure := n.Failure(); (failure != nil) != c.halts {
				t.Errorf("halts with %v", failure)
			} else if c.halts {
				for _, want := range []string{other.Theirs, other.Ours, seed, "To keep the data, start without", "without"} {
					if !strings.Contains(failure.Error(), want) {
						t.Errorf("%q lacks %q", failure, want)
					}
				}
			}
			if n := log.Lines("join address belongs to another cluster"); n != c.lines {
				t.Errorf("%d lines in the log, want %d", n, c.lines)
			}
		})
	}
}

// The only member of a cluster does not lead before its seeds were contacted. Seeds that do not answer delay it only shortly.
func TestLeadershipWaitsForSeeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := waiting("a", 1)
		n.cfg.Join, n.raft, n.seeds.tried = []string{"seed:1"}, leading(t), make(chan struct{})
		began := time.Now()
		if n.awaitSeeds(t.Context()); time.Since(began) != seedsWithin {
			t.Errorf("waited %v for seeds that do not answer", time.Since(began))
		}
		close(n.seeds.tried)
		began = time.Now()
		if n.awaitSeeds(t.Context()); time.Since(began) > 0 {
			t.Errorf("waited %v for seeds that answered", time.Since(began))
		}
	})
}
