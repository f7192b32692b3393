package api

import (
	"context"
	"fmt"
	"net"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

type clusterService struct {
	snowraftv1.UnimplementedClusterServiceServer
	*Services
}

func (c *clusterService) GetStatus(_ context.Context, req *snowraftv1.GetStatusRequest) (*snowraftv1.GetStatusResponse, error) {
	m, node := c.Member, c.Member.Node()
	now := m.Clock().Now()
	resp := &snowraftv1.GetStatusResponse{
		ClusterId: node.ClusterID(), MemberId: node.ID(), Name: c.Name, Version: c.Version,
		Term: node.Term(), CommitIndex: node.CommitIndex(), AppliedIndex: node.AppliedIndex(),
		ObservedClockAtMs: m.State().Observed().Load(), ClockAtMs: now.Wall, ClockOffsetMs: m.Clock().Offset().Milliseconds(),
		FsmVersionSupported: node.Commands(), Config: ConfigMessage(m.State().ConfigValue()),
	}
	resp.Quorum = quorumMessage(node.Quorum())
	ids, numbers, refused := c.Kernel.Issued()
	resp.Issued = &snowraftv1.Issued{Ids: ids, Numbers: numbers, Refusals: refused}
	if leader, ok := node.Leader(); ok {
		resp.LeaderId, resp.LeaderName = leader.ID, leader.Name
	} else {
		resp.NoLeader = node.NoLeader()
	}
	if isMember, voter := node.IsMember(); isMember {
		resp.Role = role(voter)
	}
	resp.Upgrade = c.upgradeMessage(m.Upgrade())
	resp.FsmVersion = resp.GetUpgrade().GetFsmVersion()
	resp.Restoration, resp.Sealed = c.restoration(), c.sealed()
	resp.YoungerClusterAlive, resp.SetBackSuspected = node.YoungerLife().Member, node.Suspicion()
	if err := c.Ready(); err != nil {
		resp.Problem, resp.Reason = rpc.Message(err), reasonOf(err)
	}
	if c.Keys != nil {
		resp.SecretFingerprints, resp.SigningFingerprint = c.Keys.Fingerprints(), c.Keys.Signing().Fingerprint()
	}
	if req.GetUses() && c.Uses != nil {
		resp.Uses = c.uses()
	}
	resp.AddressProblem = c.AddressProblem()
	if own := c.OwnCertificate; own != nil {
		resp.CustomCertificate = &snowraftv1.CustomCertificate{ExpiresAtMs: own.NotAfter().UnixMilli(), Problem: own.Problem()}
	}
	for _, p := range node.ForeignPeers() {
		resp.ForeignPeers = append(resp.ForeignPeers, &snowraftv1.ForeignPeer{Address: p.Address, Problem: p.Problem, HeardAtMs: p.At.UnixMilli()})
	}
	for _, l := range m.Lanes() {
		exhausts := int64(0)
		if layout, ok := m.State().Layout(l.Layout); ok {
			exhausts = layout.ExhaustsAt()
		}
		for _, lane := range l.Lanes {
			resp.Lanes = append(resp.Lanes, &snowraftv1.Lane{
				Layout: l.Layout, Lane: uint32(lane.Lane), Worker: lane.Worker, Token: lane.Token, //nolint:gosec // 0 to 63
				FromTick: lane.From, UntilTick: lane.Until, ServeUntilAtMs: max(lane.ServeUntil.UnixMilli(), 0), Problem: rpc.Plain(lane.Problem), Reason: reasonOf(lane.Cause), Idle: lane.Idle,
				ExhaustsAtMs: exhausts, PositionAtMs: max(lane.Last.UnixMilli(), 0),
			})
		}
	}
	return resp, nil
}

// uses returns the uses of tokens at this member.
func (c *clusterService) uses() (all []*snowraftv1.TokenUse) {
	for _, u := range c.Uses.List() {
		use := &snowraftv1.TokenUse{
			Host: u.Host, TokenId: u.Token, SecretFingerprint: u.Secret, Fault: string(u.Fault), Count: u.Count,
			Open: uint32(u.Open), LastAtMs: u.Last.UnixMilli(), //nolint:gosec // at most the connections of a port
		}
		if r, ok := c.Member.State().Token(u.Token); ok {
			use.TokenName = r.Name
		}
		all = append(all, use)
	}
	return all
}

// reasonOf returns the reason of an error in the API; empty if err is nil.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return rpc.FromError(wire.Status(err)).Reason
}

// ListMembers returns only the fields that routing needs if the caller does not have the right to read the status.
func (c *clusterService) ListMembers(ctx context.Context, _ *snowraftv1.ListMembersRequest) (*snowraftv1.ListMembersResponse, error) {
	routes := trust.PrincipalOf(ctx).Authorize(trust.RightReadCluster, "") != nil
	members := c.Member.Node().Members()
	resp := &snowraftv1.ListMembersResponse{Quorum: quorumMessage(cluster.QuorumOf(members))}
	for _, m := range members {
		message := memberMessage(m)
		if routes {
			message.RaftAddress, message.GossipAddress, message.SecretFingerprints = "", "", nil
		}
		resp.Members = append(resp.Members, message)
	}
	return resp, nil
}

func (c *clusterService) AddMember(ctx context.Context, req *snowraftv1.AddMemberRequest) (*snowraftv1.AddMemberResponse, error) {
	if _, _, err := net.SplitHostPort(req.GetGossipAddress()); err != nil {
		return nil, wire.Invalid(fmt.Sprintf("gossip_address %q: expected host:port", req.GetGossipAddress()))
	}
	added, index, err := c.Member.Node().Contact(ctx, req.GetGossipAddress())
	if err != nil {
		return nil, err
	}
	trust.NoteIndex(ctx, index)
	c.noteChange(ctx, "member added", "peer", added.Name, "peer_id", added.ID)
	return &snowraftv1.AddMemberResponse{Member: memberMessage(added)}, nil
}

// RemoveMember runs on the leader. If the leader itself must be removed, it first transfers leadership; the next leader then
// removes it.
func (c *clusterService) RemoveMember(ctx context.Context, req *snowraftv1.RemoveMemberRequest) (*snowraftv1.RemoveMemberResponse, error) {
	node := c.Member.Node()
	if !node.IsLeader() {
		return nil, cluster.ErrNotLeader
	}
	if c.Member.IsRemoved(req.GetMember()) {
		// An earlier attempt whose answer was lost removed the member, or another caller did.
		return &snowraftv1.RemoveMemberResponse{Member: &snowraftv1.Member{Id: req.GetMember()}}, nil
	}
	gone, err := node.Member(req.GetMember())
	if err != nil {
		return nil, err
	}
	if gone.ID == node.ID() {
		if len(node.Members()) == 1 {
			return nil, fmt.Errorf("%w: this is the only member; stop it and delete its data directory instead", cluster.ErrQuorum)
		}
		if err := node.CheckRemoval(gone.ID, req.GetForce()); err != nil {
			return nil, err // leadership stays
		}
		if _, err := node.TransferLeadership(ctx, ""); err != nil {
			return nil, err
		}
		// The forwarding member finds the new leader.
		return nil, fmt.Errorf("%w: leadership was transferred for the removal", cluster.ErrNotLeader)
	}
	if err := node.Remove(ctx, gone.ID, req.GetForce()); err != nil {
		return nil, err
	}
	c.noteChange(ctx, "member removed", "peer", gone.Name, "peer_id", gone.ID, "force", req.GetForce())
	return &snowraftv1.RemoveMemberResponse{Member: memberMessage(gone), Quorum: quorumMessage(node.Quorum())}, nil
}

func (c *clusterService) TransferLeadership(ctx context.Context, req *snowraftv1.TransferLeadershipRequest) (*snowraftv1.TransferLeadershipResponse, error) {
	if !c.Member.Node().IsLeader() {
		return nil, cluster.ErrNotLeader
	}
	leader, err := c.Member.Node().TransferLeadership(ctx, req.GetMember())
	if err != nil {
		return nil, err
	}
	c.noteChange(ctx, "leadership transferred", "leader", leader.Name, "leader_id", leader.ID)
	return &snowraftv1.TransferLeadershipResponse{LeaderId: leader.ID, LeaderName: leader.Name}, nil
}

// Leave requests the removal of this member from the leader, then shuts this member down.
func (c *clusterService) Leave(ctx context.Context, _ *snowraftv1.LeaveRequest) (*snowraftv1.LeaveResponse, error) {
	node := c.Member.Node()
	if !c.leaving.CompareAndSwap(false, true) {
		return nil, rpc.NewError(rpc.AlreadyLeaving, "this member is leaving already")
	}
	removed, err := lead(ctx, c.Services, snowraftv1.ClusterService_RemoveMember_FullMethodName, &snowraftv1.RemoveMemberRequest{Member: node.ID()}, c.RemoveMember)
	if err != nil {
		c.leaving.Store(false)
		return nil, err
	}
	c.Left()
	return &snowraftv1.LeaveResponse{Quorum: removed.GetQuorum()}, nil
}

func (c *clusterService) ResetObservedClock(ctx context.Context, _ *snowraftv1.ResetObservedClockRequest) (*snowraftv1.ResetObservedClockResponse, error) {
	observed, err := c.Member.ObserveClock(ctx, true)
	if err != nil {
		return nil, err
	}
	return &snowraftv1.ResetObservedClockResponse{ObservedClockAtMs: observed}, nil
}

func memberMessage(m cluster.Member) *snowraftv1.Member {
	return &snowraftv1.Member{
		Id: m.ID, Name: m.Name, RaftAddress: m.Address, GossipAddress: m.Gossip, ApiAddress: m.API, HttpAddress: m.HTTP, Role: role(m.Voter),
		Leader: m.Leader, Alive: m.Alive, ClockOffsetMs: m.ClockOffset.Milliseconds(), Version: m.Version,
		SecretFingerprints: m.Secrets, NotAliveSinceAtMs: m.NotAliveSince, FsmVersionSupported: m.Commands,
		Halted: m.Halted, Stalled: m.Stalled,
	}
}

func quorumMessage(q cluster.Quorum) *snowraftv1.Quorum {
	return &snowraftv1.Quorum{Voters: uint32(q.Voters), Alive: uint32(q.Alive), MayFail: uint32(q.MayFail())} //nolint:gosec // 0 to 100
}

func role(voter bool) snowraftv1.MemberRole {
	if voter {
		return snowraftv1.MemberRole_MEMBER_ROLE_VOTER
	}
	return snowraftv1.MemberRole_MEMBER_ROLE_NONVOTER
}
