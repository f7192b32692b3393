//go:build linux

package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// admin changes the cluster under load: members on spare hosts join, leave or are removed,
// and join again as new members. Leadership is transferred, and the longest window
// alternates between two values.
//
// A spare's data is wiped only after the cluster has confirmed its removal: Raft does not
// tolerate a voter that lost data it had acknowledged. One spare is removed at a time, so
// at most one voter is down for a removal. At the end of the load, a started removal is
// completed if the cluster can; joined spares stay members.
func admin() Workload {
	return Workload{
		Name:   "admin",
		About:  "members that join, leave and are removed, transfers of leadership, changes of the configuration",
		Spares: 2,
		Run:    runAdmin,
	}
}

func runAdmin(ctx context.Context, w *World) error {
	s, err := connect(w, snowraftv1.NewClusterServiceClient)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, cancel := w.troubled(ctx)
	defer cancel()
	c := &administrator{client: w.client("admin"), of: s.of}
	longest := w.Lab.MaxWindow()
	windows := [...]time.Duration{longest * 3 / 4, longest} // alternating values of the longest window
	var wg sync.WaitGroup
	wg.Go(func() {
		for history.Sleep(ctx, within(6*time.Second, 20*time.Second)) {
			c.transfer(ctx)
		}
	})
	wg.Go(func() {
		for n := 0; history.Sleep(ctx, within(3*time.Second, 8*time.Second)); n++ {
			c.configure(ctx, windows[n%len(windows)])
		}
	})
	errs := make(chan error, len(w.Lab.Spares()))
	for _, m := range w.Lab.Spares() {
		wg.Go(func() { errs <- c.live(ctx, m) })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// administrator changes the cluster.
type administrator struct {
	*client
	of map[*lab.Member]snowraftv1.ClusterServiceClient

	going sync.Mutex // held during the removal of a spare
}

// ask calls a member; what is the operation's key.
func (c *administrator) ask(ctx context.Context, m *lab.Member, what string, f func(ctx context.Context, cluster snowraftv1.ClusterServiceClient, opts ...grpc.CallOption) error) history.Op {
	op, _ := c.call(ctx, m, history.Op{Do: history.DoAdmin, Key: what},
		func(ctx context.Context, _ *history.Op, opts ...grpc.CallOption) error {
			return f(ctx, c.of[m], opts...)
		})
	return op
}

// transfer transfers leadership to a founder or to any member. The request names the
// founder by its ID: a member that has not learned all names since its start may resolve
// the name to another member.
func (c *administrator) transfer(ctx context.Context) {
	m, ok := c.w.someone()
	if !ok {
		return
	}
	to, what := "", "transfer"
	if founder := anyOf(c.w.Lab.Founders()); rand.IntN(2) == 0 {
		if s, ok := c.w.Lab.Status(founder); ok {
			to, what = s.MemberID, "transfer "+founder.Name
		}
	}
	c.ask(ctx, m, what, func(ctx context.Context, cluster snowraftv1.ClusterServiceClient, opts ...grpc.CallOption) error {
		_, err := cluster.TransferLeadership(ctx, &snowraftv1.TransferLeadershipRequest{Member: to}, opts...)
		return err
	})
}

// configure reads the configuration and changes its longest window.
func (c *administrator) configure(ctx context.Context, window time.Duration) {
	m, ok := c.w.someone()
	if !ok {
		return
	}
	c.ask(ctx, m, fmt.Sprintf("max-window %v", window), func(ctx context.Context, cluster snowraftv1.ClusterServiceClient, opts ...grpc.CallOption) error {
		seen, err := cluster.GetConfig(ctx, &snowraftv1.GetConfigRequest{}, opts...)
		if err != nil {
			return err
		}
		_, err = cluster.UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{
			Config: &snowraftv1.Config{MaxWindowMs: new(window.Milliseconds())}, ExpectedGeneration: new(seen.GetConfig().GetGeneration()),
		}, opts...)
		return err
	})
}
