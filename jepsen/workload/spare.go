//go:build linux

package workload

import (
	"context"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	joinWithin  = 30 * time.Second       // bound until a new member becomes a voter
	leaveWithin = 12 * time.Second       // bound until a member that has left shuts down
	goWithin    = 10 * time.Second       // bound of a removal after the end of the load
	look        = 100 * time.Millisecond // pause between two checks of a condition
)

// live makes one member after another join on a spare host and leave again.
func (c *administrator) live(ctx context.Context, m *lab.Member) error {
	for history.Sleep(ctx, rand.N(3*time.Second)) {
		if err := c.reserved(ctx, m, func() error { return c.join(ctx, m) }); err != nil {
			return err
		}
		if !history.Sleep(ctx, within(2*time.Second, 15*time.Second)) {
			return nil
		}
		if err := c.reserved(ctx, m, func() error { return c.goes(ctx, m) }); err != nil {
			return err
		}
	}
	return nil
}

// reserved waits for a reservation of the member and calls f with it. If ctx is done first, it returns nil without a call.
func (c *administrator) reserved(ctx context.Context, m *lab.Member, f func() error) error {
	for {
		if release, ok := m.Reserve(); ok {
			defer release()
			return f()
		}
		if !history.Sleep(ctx, look) {
			return nil
		}
	}
}

// join starts a member and waits, at most joinWithin, until it is a voter.
func (c *administrator) join(ctx context.Context, m *lab.Member) error {
	return c.joinAs(ctx, m, true)
}

// joinAs starts a member and waits, at most joinWithin, until it is a voter or a nonvoter of the cluster.
func (c *administrator) joinAs(ctx context.Context, m *lab.Member, voter bool) error {
	op := history.Op{
		ID: c.w.NextOp(), Workload: c.workload, Client: c.number, Do: history.DoAdmin, Key: "join " + m.Name, Member: m.Name,
		Call: history.Now(), Outcome: history.Info, Reason: "DEADLINE",
	}
	if err := m.Start(ctx); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	for history.Sleep(waiting, look) {
		if s, ok := c.w.Lab.Status(m); ok && s.Voter == voter && s.LeaderID != "" {
			op.Outcome, op.Reason, op.Start = history.OK, "", s.Start
			break
		}
	}
	if op.Outcome != history.OK && ctx.Err() != nil {
		op.Reason = "LOAD_ENDED"
	}
	op.Return = history.Now()
	c.w.Journal.Add(history.Line{Op: &op})
	return nil
}

// goes makes a member leave, or kills and removes the member. After the removal, it wipes the member's data.
func (c *administrator) goes(ctx context.Context, m *lab.Member) error {
	c.going.Lock()
	defer c.going.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	status, known := c.w.Lab.Status(m)
	out := false
	if rand.IntN(2) == 0 {
		out = c.leave(ctx, m)
	}
	m.Kill()
	bounded, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { history.Sleep(bounded, goWithin); cancel() })()
	for !out {
		ids := []string{status.MemberID}
		if !known {
			ids = c.at(bounded, m)
		}
		out = c.remove(bounded, m, ids)
		if !out && !history.Sleep(bounded, tryEvery) {
			return nil
		}
	}
	return m.Wipe()
}

// leave sends Leave to a member and reports whether the member has left. A member that has left shuts down; leave waits for that,
// at most leaveWithin.
func (c *administrator) leave(ctx context.Context, m *lab.Member) bool {
	m.Expire()
	op := c.ask(ctx, m, "leave "+m.Name, func(ctx context.Context, cluster snowraftv1.ClusterServiceClient, opts ...grpc.CallOption) error {
		_, err := cluster.Leave(ctx, &snowraftv1.LeaveRequest{}, opts...)
		return err
	})
	if op.Outcome != history.OK {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	for m.Running() && history.Sleep(ctx, look) {
	}
	return true
}

// remove removes members that are down and reports whether none of ids is a member any
// longer. It returns false if ids is nil.
func (c *administrator) remove(ctx context.Context, m *lab.Member, ids []string) bool {
	if ids == nil {
		return false
	}
	for _, id := range ids {
		whom, ok := c.w.someone()
		if !ok {
			return false
		}
		op := c.ask(ctx, whom, "remove "+m.Name, func(ctx context.Context, cluster snowraftv1.ClusterServiceClient, opts ...grpc.CallOption) error {
			_, err := cluster.RemoveMember(ctx, &snowraftv1.RemoveMemberRequest{Member: id}, opts...)
			return err
		})
		// An unknown member was killed before the leader had added it.
		if op.Outcome != history.OK && op.Reason != "UNKNOWN_MEMBER" {
			return false
		}
	}
	return true
}

// at returns the IDs of the members on a host from the leader's list, nil if the leader does
// not answer. It compares addresses, because a member that is down may have no name.
func (c *administrator) at(ctx context.Context, host *lab.Member) []string {
	leader := c.w.Lab.Leader()
	if leader == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.of[leader].ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	if err != nil {
		return nil
	}
	ids := []string{}
	for _, m := range resp.GetMembers() {
		if m.GetRaftAddress() == host.Address(lab.PortRaft) {
			ids = append(ids, m.GetId())
		}
	}
	return ids
}
