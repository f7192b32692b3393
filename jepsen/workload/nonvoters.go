//go:build linux

package workload

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// nonvoters runs nonvoters on two spare hosts until the end of the run.
//
// It needs a run without other spares, so All does not include it.
func nonvoters() Workload {
	return Workload{
		Name:   "nonvoters",
		About:  "nonvoters on two spare hosts",
		Spares: 2,
		Run: func(ctx context.Context, w *World) error {
			return withNonvoters(ctx, w, "nonvoters", func(*administrator) error { return nil })
		},
	}
}

// removals runs the same nonvoters. While one founder is down, it requests the removal of
// another founder. The cluster must reject the request: the removal would leave no majority
// of the voters, however many nonvoters run.
//
// It needs three founders that no fault and no other workload starts or stops.
func removals() Workload {
	return Workload{
		Name:   "removals",
		About:  "removals that would leave no majority of the voters, in a cluster with nonvoters",
		Spares: 2,
		Run: func(ctx context.Context, w *World) error {
			return withNonvoters(ctx, w, "removals", func(c *administrator) error {
				for n := 0; history.Sleep(ctx, rare); n++ {
					if err := c.needed(ctx, n); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

const (
	// removalWithin bounds a removal that waits for a voter.
	removalWithin = 8 * time.Second
	// unaware is the time that a killed member stays down after the leader has noticed its failure.
	unaware = time.Second
	// rare is the pause between two rounds.
	rare = 3 * time.Second
)

// withNonvoters makes all spares join as nonvoters, then calls f.
func withNonvoters(ctx context.Context, w *World, workload string, f func(*administrator) error) error {
	s, err := connect(w, snowraftv1.NewClusterServiceClient)
	if err != nil {
		return err
	}
	defer s.close()
	c := &administrator{client: w.client(workload), of: s.of}
	for _, m := range w.Lab.Spares() {
		m.With("--nonvoter")
		if err := c.joinAs(ctx, m, false); err != nil {
			return err
		}
	}
	return f(c)
}

// needed kills a follower, waits until the leader has noticed, and requests the removal of the other follower.
func (c *administrator) needed(ctx context.Context, n int) error {
	leader := c.w.Lab.Leader()
	var followers []*lab.Member
	for _, m := range c.w.Lab.Founders() {
		if m != leader {
			followers = append(followers, m)
		}
	}
	if leader == nil || len(followers) != 2 {
		return nil
	}
	down, other := followers[n%2], followers[(n+1)%2]
	status, known := c.w.Lab.Status(other)
	if !known {
		return nil
	}
	down.Kill()
	for !c.misses(ctx, leader, down) {
		if !history.Sleep(ctx, look) {
			return down.Start(context.WithoutCancel(ctx))
		}
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = c.within(ctx, removalWithin, leader, history.Op{Do: history.DoAdmin, Key: history.NeededRemoval + other.Name}, // recorded
			func(ctx context.Context, _ *history.Op, opts ...grpc.CallOption) error {
				_, err := c.of[leader].RemoveMember(ctx, &snowraftv1.RemoveMemberRequest{Member: status.MemberID}, opts...)
				return err
			})
	}()
	history.Sleep(context.WithoutCancel(ctx), unaware)
	err := down.Start(context.WithoutCancel(ctx)) // lets the cluster complete a started removal
	<-asked
	if err != nil {
		return fmt.Errorf("restart %s: %w", down.Name, err)
	}
	return nil
}

// misses reports whether the leader considers a member down.
func (c *administrator) misses(ctx context.Context, leader, down *lab.Member) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.of[leader].ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	if err != nil {
		return false
	}
	for _, m := range resp.GetMembers() {
		if m.GetRaftAddress() == down.Address(lab.PortRaft) {
			return !m.GetAlive()
		}
	}
	return false
}
