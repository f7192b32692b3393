package server_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/gateway"
)

// watchOverviews begins to watch overviews at a connection.
func watchOverviews(t *testing.T, c snowraftv1.ViewServiceClient) func() *snowraftv1.Overview {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	stream, err := c.WatchOverview(ctx, &snowraftv1.WatchOverviewRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return func() *snowraftv1.Overview {
		t.Helper()
		resp, err := stream.Recv()
		if err != nil {
			t.Fatalf("WatchOverview: %v", err)
		}
		return resp.GetOverview()
	}
}

func viewOf(o *snowraftv1.Overview, name string) *snowraftv1.MemberView {
	i := slices.IndexFunc(o.GetMembers(), func(m *snowraftv1.MemberView) bool { return m.GetMember().GetName() == name })
	if i < 0 {
		return nil
	}
	return o.GetMembers()[i]
}

func answering(o *snowraftv1.Overview) (n int) {
	for _, m := range o.GetMembers() {
		if m.GetAnswers() {
			n++
		}
	}
	return n
}

// untilLost receives overviews until one shows that a member is gone, and returns its age of the member's last answer. No
// overview may show an answer of more than 2 s ago as a present one. All ages are as of the composition of the overview, so a
// slow receiver makes no difference.
func untilLost(t *testing.T, next func() *snowraftv1.Overview, name string) (age time.Duration) {
	t.Helper()
	until(t, "an overview shows that "+name+" is gone", func() bool {
		o := next()
		m := viewOf(o, name)
		age = time.Duration(o.GetComposedAtMs()-m.GetSeenAtMs()) * time.Millisecond
		if m.GetAnswers() && age > 2*time.Second {
			t.Errorf("%s answers, but its last answer is %v old", name, age)
		}
		return !m.GetAnswers() && m.GetProblem() != "" && o.GetVerdict().GetLevel() != snowraftv1.VerdictLevel_VERDICT_LEVEL_GOOD
	})
	return age
}

// A member and a gateway show every member with its lanes and rates, and notice within 2 s that a member has stopped.
func TestOverviewFollowsMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		lead := leader(t, nodes)
		gone := follower(t, nodes)
		asked := except(nodes, lead, gone)[0]
		g := inFront(t, []*node{asked})
		for name, c := range map[string]snowraftv1.ViewServiceClient{"member": snowraftv1.NewViewServiceClient(asked.conn), "gateway": snowraftv1.NewViewServiceClient(g.conn)} {
			var o *snowraftv1.Overview
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%s: overview %v", name, o)
				}
			})
			// The first overview may lack the answers of slow members.
			until(t, "the overview of the "+name+" shows a healthy cluster", func() bool {
				resp, err := c.GetOverview(t.Context(), &snowraftv1.GetOverviewRequest{})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				o = resp.GetOverview()
				return answering(o) == 3 && o.GetVerdict().GetLevel() == snowraftv1.VerdictLevel_VERDICT_LEVEL_GOOD &&
					slices.ContainsFunc(nodes, func(n *node) bool { return n.cfg.Name == o.GetLeaderName() && n.leads() })
			})
			if o.GetClusterId() == "" || o.GetQuorum().GetMayFail() != 1 {
				t.Errorf("%s: overview %v", name, o)
			}
			for _, m := range o.GetMembers() {
				if len(m.GetLanes()) != 1 || m.GetServesUntilAtMs() <= o.GetComposedAtMs() || m.GetProblem() != "" || m.GetEncrypted() {
					t.Errorf("%s: member %v", name, m)
				}
			}
		}
		next := watchOverviews(t, snowraftv1.NewViewServiceClient(asked.conn))
		next()
		lead.mustGenerate(1000)
		until(t, "the rate of the leader is shown", func() bool {
			return viewOf(next(), lead.cfg.Name).GetIdsPerSecond() > 0
		})
		says := func(what string) {
			t.Helper()
			until(t, "the sentence says "+what, func() bool {
				return strings.Contains(next().GetVerdict().GetSentence(), strings.ReplaceAll(what, "LEADER", lead.cfg.Name))
			})
		}
		gone.setClock(-3 * time.Second)
		says(gone.cfg.Name + " issues no IDs: its clock is ")
		says(" behind the majority's, limit 1 s; 2 of 3 members are issuing IDs; LEADER leads")
		gone.setClock(time.Hour)
		says(" ahead of the majority's, limit 500 ms; 2 of 3 members are issuing IDs; LEADER leads")
		gone.setClock(0)
		const healthy = "3 of 3 members are issuing IDs; LEADER leads; the cluster tolerates one failure; without quorum each continues until "
		says(healthy)
		gone.crash()
		// The member stopped up to a second after its last answer.
		if took := untilLost(t, next, gone.cfg.Name); took > 3*time.Second {
			t.Errorf("%v from the last answer of a member until the overview shows that it is gone", took)
		}
		lead.crash()
		says("uorum is lost: ")
	})
}

// A member that halts reports it before its process exits. Other members show it as halted until it runs again.
func TestOverviewShowsHaltedMember(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		asked, gone := leader(t, nodes), follower(t, nodes)
		next := watchOverviews(t, snowraftv1.NewViewServiceClient(asked.conn))
		gone.server.Member().Node().Fail(errors.New("raft.db is corrupt"))
		<-gone.server.Done()
		gone.stop()
		const text = " halted, because it was unsafe to continue; "
		until(t, "the sentence says that the member halted", func() bool {
			return strings.Contains(next().GetVerdict().GetSentence(), gone.cfg.Name+text)
		})
		gone.start()
		until(t, "all members issue", func() bool {
			o := next()
			return strings.HasPrefix(o.GetVerdict().GetSentence(), "3 of 3 members are issuing") && !viewOf(o, gone.cfg.Name).GetMember().GetHalted()
		})
	})
}

// A gateway that reaches no member says so in words for people.
func TestGatewayOverviewWithoutMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		g := inFront(t, nodes)
		c := snowraftv1.NewViewServiceClient(g.conn)
		stream, err := c.WatchOverview(t.Context(), &snowraftv1.WatchOverviewRequest{})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if n.cfg.Name == resp.GetOverview().GetComposedBy() {
				n.crash()
			}
		}
		until(t, "another member answers", func() bool {
			next, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			return next.GetOverview().GetComposedBy() != resp.GetOverview().GetComposedBy()
		})
		for _, n := range nodes {
			n.crash()
		}
		for err == nil {
			_, err = stream.Recv()
		}
		wantReason(t, "a watch", err, rpc.NoLeader)
		if text := rpc.FromError(err).Message; !strings.Contains(text, "no member answers gateway g") {
			t.Errorf("error %q, want words for people", text)
		}
		_, err = c.GetOverview(t.Context(), &snowraftv1.GetOverviewRequest{})
		wantReason(t, "an overview", err, rpc.NoLeader)
	})
}

// Overviews of members and gateways require the right cluster:read while they are watched.
func TestOverviewOfSecuredCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		asked := follower(t, s.nodes)
		text, id := s.token("viewer", "cluster:read")
		other, _ := s.token("issuer", "ids:issue:*")
		own, _ := s.token("gateway", "tokens:verify")
		g := openGatewayWith(t, gateway.Config{Members: []string{asked.server.APIAddr()}, Token: s.withPin(own)})
		until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
		var streams []grpc.ServerStreamingClient[snowraftv1.WatchOverviewResponse]
		for _, conn := range []*grpc.ClientConn{asked.conn, g.conn} {
			c := snowraftv1.NewViewServiceClient(conn)
			_, err := c.GetOverview(as(t.Context(), other), &snowraftv1.GetOverviewRequest{})
			wantReason(t, "another token", err, rpc.PermissionDenied)
			stream, err := c.WatchOverview(as(t.Context(), text), &snowraftv1.WatchOverviewRequest{})
			if err != nil {
				t.Fatal(err)
			}
			var o *snowraftv1.Overview
			until(t, "all members answer", func() bool { // slow members are missing in the first overview
				resp, err := stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				o = resp.GetOverview()
				return answering(o) == 3
			})
			for _, m := range o.GetMembers() {
				if !m.GetEncrypted() {
					t.Errorf("member %v", m)
				}
			}
			streams = append(streams, stream)
		}
		s.atLeader(func(m *member.Member) error {
			_, err := m.DeleteToken(t.Context(), id, nil)
			return err
		})
		for i, stream := range streams {
			var err error
			for err == nil {
				_, err = stream.Recv()
			}
			wantReason(t, []string{"the member's stream", "the gateway's stream"}[i], err, rpc.Unauthenticated)
		}
	})
}
