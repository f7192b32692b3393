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

// admin changes the cluster under load: spare hosts join, leave or are removed, and join
// again as other members; leadership goes from one to another, and the longest window back
// and forth.
//
// A spare's data is wiped only when the cluster has said that it is out: a member that
// lost what it had acknowledged, and still had a vote, would be more than Raft allows for.
// One spare at a time goes, so that no more than one voter is down for that. At the end of
// the load a removal that has begun is completed, if the cluster can; spares that have
// joined stay members.
func admin() Workload {
	return Workload{
		Name:   "admin",
		About:  "members join, leave and are removed, leadership is handed over, the configuration changed",
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
	windows := [...]time.Duration{longest * 3 / 4, longest} // between which the longest window goes back and forth
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

	going sync.Mutex // held while a spare goes
}

// ask queries a member; what is the operation's key.
func (c *administrator) ask(ctx context.Context, m *lab.Member, what string, f func(ctx context.Context, cluster snowraftv1.ClusterServiceClient, opts ...grpc.CallOption) error) history.Op {
	op, _ := c.call(ctx, m, history.Op{Do: history.DoAdmin, Key: what},
		func(ctx context.Context, _ *history.Op, opts ...grpc.CallOption) error {
			return f(ctx, c.of[m], opts...)
		})
	return op
}

// transfer hands leadership to a founder, or to anybody. The founder goes by its ID: its
// name may mean another one to a member that has not heard all names since it started.
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

// configure changes the longest window in the configuration that it sees.
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
