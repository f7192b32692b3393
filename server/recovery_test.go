package server_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// A wiped member starts at its old address. Its old identity is not removed yet, so two members have the same address for a
// while.
func TestWipedMemberComesBackAtItsAddress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n := follower(t, nodes)
		old := n.server.MemberID()
		n.pin()
		for _, o := range nodes {
			if o != n {
				n.cfg.Join = append(n.cfg.Join, o.server.GossipAddr())
			}
		}
		n.stop()
		if err := os.RemoveAll(n.cfg.DataDir); err != nil {
			t.Fatal(err)
		}
		n.cfg.ForceName = true // the new member joins before the old one is removed
		n.start().untilReady()
		if n.server.MemberID() == old {
			t.Fatal("a wiped member has its old ID")
		}
		n.mustGenerate(10)
		// Two members have the name now, so a removal requires an ID.
		other := except(nodes, n)[1]
		_, err := other.cluster.RemoveMember(t.Context(), &snowraftv1.RemoveMemberRequest{Member: n.cfg.Name})
		if status.Code(err) != codes.InvalidArgument {
			t.Fatalf("removed by a name that means two: %v", err)
		}
		for range 2 { // a repeated removal succeeds
			if _, err := other.cluster.RemoveMember(t.Context(), &snowraftv1.RemoveMemberRequest{Member: old}); err != nil {
				t.Fatal(err)
			}
		}
		untilVoters(t, other, 3)
		n.mustGenerate(10)
	})
}

// The data directory of the only member was moved aside, and the permanent flags start a member with an empty one.
func TestNoClusterIsFoundedBesideAnEarlierOne(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		n.mustGenerate(1)
		cluster, aside := n.status().GetClusterId(), n.cfg.DataDir+".old"
		n.stop()
		if err := os.Rename(n.cfg.DataDir, aside); err != nil {
			t.Fatal(err)
		}
		n.start()
		<-time.After(time.Minute)
		s := n.status()
		if s.GetClusterId() != "" || !strings.Contains(s.GetNoLeader(), aside) || !strings.Contains(s.GetNoLeader(), cluster) {
			t.Errorf("founded cluster %q; reason %q", s.GetClusterId(), s.GetNoLeader())
		}
		n.stop()
		if err := errors.Join(os.RemoveAll(n.cfg.DataDir), os.Rename(aside, n.cfg.DataDir)); err != nil {
			t.Fatal(err)
		}
		n.start().untilReady()
		if got := n.status().GetClusterId(); got != cluster {
			t.Errorf("cluster %s, want %s", got, cluster)
		}
	})
}

// TestWrongClockOfOneOfTwoMembers: a third member is dead, and one of the other two
// comes back with a clock that is off.
func TestWrongClockOfOneOfTwoMembers(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{-10 * time.Minute, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				nodes := startCluster(t, 3)
				untilObserved(t, nodes)
				wrong, dead := leader(t, nodes), follower(t, nodes)
				right := except(nodes, wrong, dead)[0]
				for _, n := range nodes {
					n.pin()
					wrong.cfg.Join = append(wrong.cfg.Join, n.server.GossipAddr())
				}
				dead.stop()
				wrong.stop()
				wrong.setClock(by)
				wrong.start()
				until(t, "the wrong one refuses", func() bool {
					_, err := wrong.generate(1, 0)
					r := reason(err)
					return r == rpc.ClockBehind || r == rpc.ClockSkew
				})
				until(t, "the right one leads", right.leads)
				// The member gets new windows, so its lanes can continue.
				before := right.status().GetLanes()[0].GetUntilTick()
				until(t, "the right one gets windows", func() bool { return right.status().GetLanes()[0].GetUntilTick() > before })
				right.mustGenerate(10)
				if ahead := right.server.Member().State().Observed().Load() - time.Now().UnixMilli(); ahead > 1000 {
					t.Errorf("the observed clock is %d ms ahead", ahead)
				}
				wrong.setClock(0)
				wrong.untilReady()
			})
		})
	}
}

func TestCloseDoesNotWaitForSilentPeers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		// Two listeners accept connections and send nothing; two clients connect and send nothing.
		var silent []string
		for range 2 {
			l := listen(t)
			defer l.Close()
			silent = append(silent, l.Addr().String())
		}
		n := newNode(t, "a")
		n.cfg.BootstrapExpect, n.cfg.Join = 3, silent
		n.start()
		for _, addr := range []string{n.server.RaftAddr(), n.server.GossipAddr()} {
			conn := reach(t, addr)
			defer conn.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := n.server.Close(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("Close() took %v, want at most 6 s", took)
		}
	})
}

func TestInvalidMemberNamesAreRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		for _, name := range []string{"my node", "a\tb", string(make([]byte, 200)), strings.Repeat("x", 126), "$a", "cafe\u0301", "a\u202eb"} {
			n := newNode(t, "x")
			n.cfg.Name = name
			if s, err := server.Open(t.Context(), n.cfg); err == nil {
				_ = s.Close(t.Context())
				t.Errorf("Open() accepts the name %q", name)
			}
		}
	})
}

func TestRefusalsAreNotInternalErrors(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		theirs := startCluster(t, 1)[0]
		if _, err := n.cluster.TransferLeadership(t.Context(), &snowraftv1.TransferLeadershipRequest{}); reason(err) != rpc.NoSuccessor {
			t.Errorf("transfer without a successor: %v", err)
		}
		if _, err := n.cluster.AddMember(t.Context(), &snowraftv1.AddMemberRequest{GossipAddress: "127.0.0.1:1"}); reason(err) != rpc.MemberUnreachable {
			t.Errorf("adding an address without a member: %v", err)
		}
		if _, err := n.cluster.AddMember(t.Context(), &snowraftv1.AddMemberRequest{GossipAddress: theirs.server.GossipAddr()}); reason(err) != rpc.OtherCluster {
			t.Errorf("adding a member of another cluster: %v", err)
		}
	})
}
