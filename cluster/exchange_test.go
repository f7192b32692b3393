package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/lives"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/cluster/transport"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
	"github.com/snowraft/snowraft/trust"
)

// living returns a node with knowledge about other lives, which listens with keys.
func living(t *testing.T, keys *trust.Keys, change ...func(*lives.Lives)) *Node {
	t.Helper()
	var known lives.Lives
	for _, c := range change {
		c(&known)
	}
	n, _ := meetingLives(t, known)
	n.cfg.Keys, n.failed = keys, make(chan struct{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.cfg.RaftAddress = listener.Addr().String()
	n.stream = transport.NewStreamLayer(listener, keys, n.peering(), n.logger)
	t.Cleanup(func() { _ = n.stream.Close() })
	return n
}

func after(ancestors ...string) func(*lives.Lives) {
	return func(l *lives.Lives) { l.Ancestors = ancestors }
}

// heard waits until a node has heard another life.
func heard(t *testing.T, n *Node, relation lives.Relation) lives.Life {
	t.Helper()
	var got lives.Life
	clusterkit.Eventually(t, fmt.Sprintf("a life of relation %d is heard", relation), func() bool {
		for _, got = range []lives.Life{n.OldLife(), n.YoungerLife()} {
			if got.Relation == relation && got.Member != "" {
				return true
			}
		}
		return false
	})
	return got
}

// After one exchange both sides know the relation, with any common secret, and whatever node was expected at the address.
func TestExchangeOfLives(t *testing.T) {
	t.Parallel()
	root := uuid.NewString()
	for name, c := range map[string]struct {
		keys, theirs *trust.Keys
		sibling      bool
	}{
		"one secret":      {keys: clusterkit.Keys(t, 1), theirs: clusterkit.Keys(t, 1)},
		"a common secret": {keys: clusterkit.Keys(t, 1, 0), theirs: clusterkit.Keys(t, 0)},
		"siblings":        {keys: clusterkit.Keys(t, 1), theirs: clusterkit.Keys(t, 1), sibling: true},
		"no secret":       {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, byOld := range []bool{false, true} {
				old := living(t, c.theirs)
				ancestors := []string{root, old.ClusterID()}
				want, back := lives.Older, lives.Younger
				if c.sibling {
					old = living(t, c.theirs, after(root))
					ancestors, want, back = ancestors[:1], lives.Sibling, lives.Sibling
				}
				young := living(t, c.keys, after(ancestors...))
				from, to := young, old
				if byOld {
					from, to = old, young
				}
				expected := map[*Node]lives.Relation{young: want, old: back}
				got, err := from.stream.MeetLife(t.Context(), to.ID(), to.cfg.RaftAddress)
				if err != nil || got != expected[from] {
					t.Fatalf("MeetLife() = %d, %v, want %d", got, err, expected[from])
				}
				for n, other := range map[*Node]*Node{young: old, old: young} {
					if h := heard(t, n, expected[n]); h.Cluster != other.ClusterID() {
						t.Errorf("heard %+v", h)
					}
				}
			}
		})
	}
}

func TestStrangersExchangeNoLives(t *testing.T) {
	t.Parallel()
	old := living(t, clusterkit.Keys(t, 1))
	young := living(t, clusterkit.Keys(t, 0), after(old.ClusterID()))
	if got, err := young.stream.MeetLife(t.Context(), old.ID(), old.cfg.RaftAddress); err == nil {
		t.Errorf("without a common secret: MeetLife() = %d", got)
	}
	if problems := old.ForeignPeers(); len(problems) > 0 {
		t.Errorf("lists a foreign peer: %v", problems)
	}
	other := living(t, clusterkit.Keys(t, 1), after(uuid.NewString()))
	if got, err := other.stream.MeetLife(t.Context(), old.ID(), old.cfg.RaftAddress); err != nil || got != lives.Unrelated {
		t.Errorf("without a common ancestor: MeetLife() = %d, %v", got, err)
	}
	if heard := old.OldLife().Member + old.YoungerLife().Member + young.OldLife().Member + young.YoungerLife().Member + other.OldLife().Member + other.YoungerLife().Member; heard != "" {
		t.Error("a stranger is heard")
	}
}

// Only the confirmed word of a younger cluster or a sibling halts a member of a secured cluster.
func TestSupersededMemberHalts(t *testing.T) {
	t.Parallel()
	root, other := uuid.NewString(), uuid.NewString()
	for name, c := range map[string]struct {
		theirs []string // ancestors; "own" is the member's cluster
		own    []string
		ends   bool
		open   bool
		halts  bool
	}{
		"younger":                   {theirs: []string{"own"}, ends: true, halts: true},
		"sibling":                   {theirs: []string{root}, own: []string{root}, ends: true, halts: true},
		"younger, without the word": {theirs: []string{"own"}},
		"older":                     {own: []string{other}, ends: true},
		"unrelated":                 {theirs: []string{root}, ends: true},
		"younger, without a secret": {theirs: []string{"own"}, ends: true, open: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, _ := meetingLives(t, lives.Lives{Ancestors: c.own})
			n.failed, n.cfg.Keys = make(chan struct{}), clusterkit.Keys(t, 1)
			if c.open {
				n.cfg.Keys = nil
			}
			theirs := lives.Message{Cluster: other, Ends: c.ends}
			for _, id := range c.theirs {
				if id == "own" {
					id = n.ClusterID()
				}
				theirs.Ancestors = append(theirs.Ancestors, id)
			}
			n.learnLife(clusterkit.NewMeta(), theirs)
			if failure := n.Failure(); errors.Is(failure, ErrSuperseded) != c.halts || (failure != nil) != c.halts {
				t.Errorf("halts with %v, want to halt: %t", failure, c.halts)
			}
			if record := n.id.Superseded(); (record != nil) != c.halts || c.halts && record.By != other {
				t.Errorf("recorded %+v", record)
			}
		})
	}
}

// silent is an Asker whose nodes do not answer.
type silent struct{}

func (silent) AskTerm(context.Context, raft.ServerID, raft.ServerAddress) (uint64, error) {
	return 0, peer.ErrUnreachable
}

func (silent) AskMark(context.Context, raft.ServerID, raft.ServerAddress) (transport.Mark, error) {
	return transport.Mark{}, peer.ErrUnreachable
}

// The other cluster hears the addresses that members announced, because it must find the leader. Those in the Raft configuration may
// be of before a move.
func TestLifeHasAnnouncedAddresses(t *testing.T) {
	t.Parallel()
	n, id := withNonvoter(t, newRemovals())
	p, _ := n.gossip.Peer(id)
	moved := clusterkit.Restarted(p.Claim)
	moved.Raft = "moved.example.net:7702"
	n.gossip.RecordConfirmed(moved, "")
	said := n.life(t.Context(), uuid.NewString(), lives.NewNonce())
	want := []string{string(peer.RaftAddress(n.ID(), n.cfg.RaftAddress)), string(peer.RaftAddress(id, moved.Raft))}
	if !slices.Equal(said.Members, want) {
		t.Errorf("life() has the members %v, want %v", said.Members, want)
	}
	if at := n.saidAddress(raft.ServerID(id)); at != want[1] {
		t.Errorf("saidAddress() = %q, want %q", at, want[1])
	}
}

// A node says that another cluster ended only if an operator said so, and if a majority confirms that the node leads.
func TestOnlyConfirmedLeaderEndsAnotherLife(t *testing.T) {
	t.Parallel()
	ended, other := uuid.NewString(), uuid.NewString()
	mem := raft.NewInmemStore()
	n := openAlone(t, mem, mem, func(c *Config) { c.Lives = func() lives.Lives { return lives.Lives{Superseded: []string{ended}} } })
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	untilLeader(t, n)
	clusterkit.Eventually(t, "the node is ready to lead", func() bool { return n.LeadingTerm() != 0 })
	if l := n.life(t.Context(), ended, lives.NewNonce()); !l.Ends || l.Leader != "" {
		t.Errorf("the leader says %+v", l)
	}
	if l := n.life(t.Context(), other, lives.NewNonce()); l.Ends {
		t.Errorf("ends a cluster that no operator named: %+v", l)
	}
	m := sameCluster(n)
	if err := n.raft.AddVoter(raft.ServerID(m.ID), peer.RaftAddress(m.ID, m.Raft), 0, 0).Error(); err != nil && !errors.Is(err, raft.ErrLeadershipLost) {
		t.Fatal(err)
	}
	n.asker = silent{}
	if l := n.life(t.Context(), ended, lives.NewNonce()); l.Ends {
		t.Errorf("without a majority: %+v", l)
	}
}

// A superseded member does not start again.
func TestSupersededMemberDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id, err := storage.OpenIdentity(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(id.Supersede(storage.Superseded{By: "the-new-cluster"}), id.Close()); err != nil {
		t.Fatal(err)
	}
	mem := raft.NewInmemStore()
	_, err = tryAlone(t, mem, mem, func(c *Config) { c.DataDir = dir })
	if !errors.Is(err, ErrSuperseded) || !strings.Contains(err.Error(), "the-new-cluster") {
		t.Errorf("Open() = %v", err)
	}
}
