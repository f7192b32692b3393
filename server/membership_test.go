package server_test

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// roles counts voters and nonvoters as n sees them.
func (n *node) roles() (voters, nonvoters int) {
	for _, m := range n.members() {
		if m.GetRole() == snowraftv1.MemberRole_MEMBER_ROLE_VOTER {
			voters++
		} else {
			nonvoters++
		}
	}
	return voters, nonvoters
}

func untilVoters(t *testing.T, n *node, want int) {
	t.Helper()
	until(t, "the voters are as many as expected", func() bool {
		voters, nonvoters := n.roles()
		return voters == want && nonvoters == 0
	})
}

func TestMembersJoinAsNonvotersAndArePromoted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		// The time is long enough to see the new member as a nonvoter.
		const stable = 4 * time.Second
		slow := func(c *server.Config) { c.Timing.PromoteAfter = stable }
		nodes := startCluster(t, 3, slow)
		began := time.Now()
		fourth := join(t, "m4", nodes, slow)
		until(t, "m4 is a member", func() bool { voters, nonvoters := nodes[0].roles(); return voters+nonvoters == 4 })
		fourth.untilReady()
		fourth.mustGenerate(100)
		untilVoters(t, nodes[0], 4)
		if took := time.Since(began); took < stable {
			t.Errorf("m4 was promoted %v after its start, before it was stable for %v", took, stable)
		}
		fifth := join(t, "m5", nodes[:1], slow)
		untilVoters(t, nodes[0], 5)
		fifth.untilReady()
		fifth.mustGenerate(100)
	})
}

func TestNonvoterIsNotPromoted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n := join(t, "n", nodes, func(c *server.Config) { c.Nonvoter = true })
		n.untilReady()
		// A later member is promoted only if the promotion skips the nonvoter.
		join(t, "m4", nodes)
		until(t, "m4 votes", func() bool { voters, nonvoters := nodes[0].roles(); return voters == 4 && nonvoters == 1 })
		n.mustGenerate(100)
		join(t, "m5", nodes)
		until(t, "m5 votes", func() bool { voters, nonvoters := nodes[0].roles(); return voters == 5 && nonvoters == 1 })
		for _, m := range nodes[0].members() {
			if voter := m.GetRole() == snowraftv1.MemberRole_MEMBER_ROLE_VOTER; voter == (m.GetName() == "n") {
				t.Errorf("%s is a %v", m.GetName(), m.GetRole())
			}
		}
	})
}

func TestRemoveFromAnyMember(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 5)
		all := make(seen)
		// A follower removes the leader, which transfers leadership first.
		gone := leader(t, nodes)
		rest := except(nodes, gone)
		resp, err := rest[0].cluster.RemoveMember(t.Context(), &snowraftv1.RemoveMemberRequest{Member: gone.cfg.Name})
		if q := resp.GetQuorum(); err != nil || q.GetVoters() != 4 || q.GetMayFail() != 1 {
			t.Fatalf("RemoveMember() = %v, %v, want the 4 voters that stay", resp, err)
		}
		select {
		case <-gone.server.Done():
		case <-time.After(patience):
			t.Fatal("the removed leader still runs")
		}
		if err := gone.server.Err(); !errors.Is(err, cluster.ErrRemoved) {
			t.Errorf("the removed leader says %v", err)
		}
		gone.stop()
		if note, err := os.ReadFile(dataFile(gone, "halt.json")); err != nil || !strings.Contains(string(note), `"removed"`) {
			t.Errorf("the note of the removed leader is %q: %v", note, err)
		}
		untilVoters(t, rest[0], 4)

		// The removed member starts with its old data: it gets the reason why it cannot join, and the cluster does not change.
		term := leader(t, rest).status().GetTerm()
		gone.cfg.Join = []string{rest[0].server.GossipAddr()}
		log := &lockedBuilder{}
		gone.cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
		gone.start()
		select {
		case <-gone.server.Done():
		case <-time.After(patience):
			t.Fatal("the removed member runs again")
		}
		for _, never := range []string{"voters lost", "not answer"} { // the voters are alive
			if strings.Contains(log.String(), never) {
				t.Errorf("the removed member logs %q:\n%s", never, log.String())
			}
		}
		if err := gone.server.Err(); !errors.Is(err, cluster.ErrRemoved) {
			t.Errorf("the removed member says %v", err)
		}
		gone.stop()
		if now := leader(t, rest).status().GetTerm(); now != term {
			t.Errorf("the removed member moved the term from %d to %d", term, now)
		}
		untilVoters(t, rest[0], 4)

		// With an empty data directory it is a new member.
		if err := os.RemoveAll(gone.cfg.DataDir); err != nil {
			t.Fatal(err)
		}
		gone.start().untilReady()
		untilVoters(t, rest[0], 5)
		for _, n := range append(rest, gone) {
			all.add(t, n.cfg.Name, n.mustGenerate(100)...)
		}
	})
}

func TestLeave(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for remaining := 3; remaining > 1; remaining-- {
			l := leader(t, nodes)
			if _, err := l.cluster.Leave(t.Context(), &snowraftv1.LeaveRequest{}); err != nil {
				t.Fatal(err)
			}
			<-l.server.Done()
			if err := l.server.Err(); err != nil {
				t.Errorf("after leaving: %v", err)
			}
			l.stop()
			nodes = except(nodes, l)
			untilVoters(t, nodes[0], remaining-1)
			nodes[0].mustGenerate(10)
		}
		_, err := nodes[0].cluster.Leave(t.Context(), &snowraftv1.LeaveRequest{})
		if reason(err) != rpc.QuorumAtRisk {
			t.Errorf("the last member may leave: %v", err)
		}
		nodes[0].mustGenerate(10)
	})
}

func TestSecondLeaveIsRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[1].crash()
		nodes[2].crash()
		until(t, "one of two calls finds the other", func() bool {
			reasons := make(chan string)
			for range 2 {
				go func() { // without quorum the call waits for a leader
					_, err := nodes[0].cluster.Leave(t.Context(), &snowraftv1.LeaveRequest{})
					reasons <- reason(err)
				}()
			}
			first, second := <-reasons, <-reasons
			return first == rpc.AlreadyLeaving || second == rpc.AlreadyLeaving
		})
	})
}

func TestRemoveRefusesToBreakQuorum(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		l := leader(t, nodes)
		others := except(nodes, l)
		others[0].stop()
		until(t, "gossip noticed", func() bool {
			for _, m := range l.members() {
				if m.GetName() == others[0].cfg.Name {
					return !m.GetAlive()
				}
			}
			return false
		})
		_, err := l.cluster.RemoveMember(t.Context(), &snowraftv1.RemoveMemberRequest{Member: others[1].cfg.Name})
		if reason(err) != rpc.QuorumAtRisk {
			t.Fatalf("removed a live voter of two: %v", err)
		}
		term := l.status().GetTerm()
		_, err = l.cluster.RemoveMember(t.Context(), &snowraftv1.RemoveMemberRequest{Member: l.cfg.Name})
		if now := l.status().GetTerm(); reason(err) != rpc.QuorumAtRisk || now != term || !l.leads() {
			t.Fatalf("RemoveMember of the leader = %v; leads: %t, in term %d, want a refusal in term %d", err, l.leads(), now, term)
		}
		if _, err := l.cluster.RemoveMember(t.Context(), &snowraftv1.RemoveMemberRequest{Member: "nobody"}); reason(err) != rpc.UnknownMember {
			t.Errorf("an unknown member: %v", err)
		}
		// The dead member may be removed.
		if _, err := others[1].cluster.RemoveMember(t.Context(), &snowraftv1.RemoveMemberRequest{Member: others[0].cfg.Name}); err != nil {
			t.Fatal(err)
		}
		untilVoters(t, l, 2)
	})
}

func TestTransferLeadership(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for _, to := range nodes {
			from := follower(t, nodes)
			resp, err := from.cluster.TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{Member: to.cfg.Name})
			if err != nil {
				t.Fatal(err)
			}
			if resp.GetLeaderName() != to.cfg.Name {
				t.Errorf("%s leads, not %s", resp.GetLeaderName(), to.cfg.Name)
			}
			until(t, to.cfg.Name+" leads", to.leads)
		}
	})
}

func TestRestartUnderAnotherAddress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		all := make(seen)
		for _, n := range nodes {
			all.add(t, n.cfg.Name, n.mustGenerate(10)...)
			n.pin()
		}
		moved := follower(t, nodes)
		moved.stop()
		moved.cfg.APIAddr, moved.cfg.HTTPAddr, moved.cfg.RaftAddr, moved.cfg.GossipAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
		moved.cfg.Join = nil
		for _, n := range nodes {
			if n != moved {
				moved.cfg.Join = append(moved.cfg.Join, n.server.GossipAddr())
			}
		}
		moved.start().untilReady()
		all.add(t, "moved", moved.mustGenerate(10)...)
		until(t, "all know the new address", func() bool {
			for _, n := range nodes {
				for _, m := range n.members() {
					if m.GetName() == moved.cfg.Name && (m.GetRaftAddress() != moved.server.RaftAddr() ||
						m.GetGossipAddress() != moved.server.GossipAddr() || m.GetApiAddress() != moved.server.APIAddr()) {
						return false
					}
				}
			}
			return true
		})
		untilVoters(t, nodes[0], 3)
	})
}

func TestAddMemberByItsGossipAddress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		log := &lockedBuilder{}
		nodes := startCluster(t, 1, func(cfg *server.Config) { cfg.Logger = slog.New(slog.NewJSONHandler(log, nil)) })
		waiting := newNode(t, "waiting")
		waiting.cfg.BootstrapExpect = 0
		waiting.start()
		if _, err := waiting.generate(1, 0); reason(err) != rpc.NoLeader {
			t.Errorf("member without a cluster answers %v", err)
		}
		resp, err := nodes[0].cluster.AddMember(t.Context(), &snowraftv1.AddMemberRequest{GossipAddress: waiting.server.GossipAddr()})
		if err != nil {
			t.Fatal(err)
		}
		if resp.GetMember().GetName() != "waiting" {
			t.Errorf("added %v", resp.GetMember())
		}
		waiting.untilReady()
		untilVoters(t, nodes[0], 2)
		if _, err := nodes[0].cluster.AddMember(t.Context(), &snowraftv1.AddMemberRequest{GossipAddress: waiting.server.GossipAddr()}); err != nil {
			t.Fatal(err)
		}
		lines := auditIn(t, log)["AddMember"]
		if len(lines) != 2 || lines[0].Index == 0 || lines[1].Index != 0 {
			t.Fatalf("audited %+v, want the index of the first call only", lines)
		}
		nodes[0].stop()
		added := slices.IndexFunc(logOf(t, nodes[0]), func(entry raft.Log) bool {
			return entry.Type == raft.LogConfiguration && strings.Contains(string(entry.Data), waiting.server.MemberID())
		})
		if got := lines[0].Index; got != uint64(added)+1 {
			t.Errorf("the audit log has index %d, want %d", got, added+1)
		}
	})
}

func TestMembersOfTwoClustersRefuseEachOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		ours := startCluster(t, 3)
		theirs := startCluster(t, 1)[0]
		id := theirs.server.ClusterID()
		astray := ours[2] // a member stays in its cluster, whatever addresses it must join
		astray.stop()
		astray.cfg.Join = []string{ours[0].server.GossipAddr(), theirs.server.GossipAddr()}
		astray.start().untilReady()
		// An explicit request to add a member of the other cluster fails on both sides.
		for _, c := range []struct{ from, to *node }{{ours[0], theirs}, {theirs, ours[0]}} {
			_, err := c.from.cluster.AddMember(t.Context(), &snowraftv1.AddMemberRequest{GossipAddress: c.to.server.GossipAddr()})
			if status.Code(err) == codes.OK {
				t.Errorf("%s took %s in", c.from.cfg.Name, c.to.cfg.Name)
			}
		}
		if theirs.server.ClusterID() != id || len(theirs.members()) != 1 {
			t.Errorf("theirs changed: cluster %s, %d members", theirs.server.ClusterID(), len(theirs.members()))
		}
		for _, n := range ours {
			if n.server.ClusterID() != ours[0].server.ClusterID() || len(n.members()) != 3 {
				t.Errorf("ours changed: cluster %s, %d members", n.server.ClusterID(), len(n.members()))
			}
			n.mustGenerate(10)
		}
		theirs.mustGenerate(10)
	})
}
