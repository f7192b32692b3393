//go:build linux

package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/schedule"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// handoverEvery is the interval between transfers of leadership.
	handoverEvery = 1500 * time.Millisecond
	// leastStun and mostStun bound the time for which the former leader is stopped. The time suffices for the next leader
	// to be elected and to serve. It is shorter than a leader's lease (400 ms), which would otherwise end at the moment
	// that the former leader continues. A busy machine may need a shorter time, so the actual time is random.
	leastStun, mostStun = 120 * time.Millisecond, 300 * time.Millisecond
	// mostDelay is the greatest time from the request to transfer leadership until the leader is stopped. A leader
	// transfers leadership within that time.
	mostDelay = 10 * time.Millisecond
)

// aside is the time for which the former leader, once continued, reaches only the nonvoters.
const aside = 600 * time.Millisecond

func handoverKinds() []Kind {
	return []Kind{{
		Name: "handover", Family: Process, About: "the leader transfers leadership, is stopped at about that moment, and continues before its lease ends",
		Draw: func(r *rand.Rand) schedule.Event {
			return schedule.Event{On: Leader, For: between(r, 3*time.Second, 10*time.Second)}
		},
		Begin: handovers((*World).stun),
	}, {
		Name: "left-behind", Family: Network, About: "a leader stopped while it transfers leadership continues among nonvoters only, which do not know its successor",
		Draw: func(r *rand.Rand) schedule.Event {
			return schedule.Event{On: Leader, For: between(r, 5*time.Second, 15*time.Second)}
		},
		Begin: handovers((*World).leaveBehind),
	}}
}

// handing is one transfer of leadership.
type handing struct {
	leader *lab.Member
	conn   *grpc.ClientConn
	delay  time.Duration // time from the request until the leader is stopped
	stun   time.Duration // time for which the leader is stopped
}

// handovers returns a fault that has one leader after another transfer its leadership, by calls of hand. Each leader
// continues without knowing that it was replaced. Requests and the messages of its successor then wait for it together.
func handovers(hand func(*World, context.Context, handing) error) func(context.Context, *World, schedule.Event) (Made, error) {
	return func(ctx context.Context, w *World, e schedule.Event) (Made, error) {
		conns := make(map[*lab.Member]*grpc.ClientConn)
		closeAll := func() {
			for _, conn := range conns {
				_ = conn.Close() // nothing depends on the open calls
			}
		}
		for _, m := range w.Lab.Founders() {
			conn, err := w.Lab.Connect(m)
			if err != nil {
				closeAll()
				return Made{}, err
			}
			conns[m] = conn
		}
		r := chance(e)
		undo := repeat(ctx, handoverEvery, func(ctx context.Context, _ int) error {
			leader := w.Lab.Leader()
			if leader == nil || conns[leader] == nil {
				return nil
			}
			return hand(w, ctx, handing{leader, conns[leader], time.Duration(r.Int64N(int64(mostDelay))), leastStun + time.Duration(r.Int64N(int64(mostStun-leastStun)))})
		})
		return Made{Hosts: names(w.Lab.Founders()), Undo: func(ctx context.Context) error {
			defer closeAll()
			return undo(ctx)
		}}, nil
	}
}

// stun requests a transfer of leadership, and stops the leader shortly afterward for h.stun.
func (w *World) stun(ctx context.Context, h handing) error {
	return w.stunned(ctx, h, func() error { return nil })
}

// stunned does what stun does, and calls meanwhile while the leader is stopped.
func (w *World) stunned(ctx context.Context, h handing, meanwhile func() error) error {
	asked := make(chan struct{})
	asking, cancel := context.WithTimeout(ctx, handoverEvery)
	defer cancel()
	go func() {
		defer close(asked)
		// The next status of the members shows whether leadership was transferred.
		_, _ = snowraftv1.NewClusterServiceClient(h.conn).TransferLeadership(asking, &snowraftv1.TransferLeadershipRequest{})
	}()
	defer func() {
		cancel()
		<-asked
	}()
	if !history.Sleep(ctx, h.delay) {
		return nil
	}
	h.leader.Pause()
	defer h.leader.Continue()
	until := history.Now() + int64(h.stun)
	err := meanwhile()
	history.Sleep(ctx, time.Duration(until-history.Now()))
	return err
}

// leaveBehind does what stun does, and cuts the leader off from the other founders while it is stopped. The spares are
// cut off from those founders earlier, so that they learn nothing of the leader's successor. The leader must not learn
// of it either before it is cut off. Messages to the leader over connections that other founders opened are therefore
// delayed.
func (w *World) leaveBehind(ctx context.Context, h handing) (err error) {
	elsewhere := names(others(w.Lab.Founders(), []*lab.Member{h.leader}))
	var faults []*network.Fault
	begin := func(f *network.Fault, err error) error {
		if err == nil {
			faults = append(faults, f)
		}
		return err
	}
	unbroken := context.WithoutCancel(ctx)
	defer func() {
		for _, f := range faults {
			err = errors.Join(err, f.Heal(unbroken))
		}
	}()
	leader := []string{h.leader.Name}
	if err := begin(w.Lab.Net.Delay(unbroken, network.OneWay(elsewhere, leader), lab.PortRaft, mostStun, 0)); err != nil {
		return err
	}
	if spares := w.Lab.Spares(); len(spares) > 0 {
		if err := begin(w.Lab.Net.Cut(unbroken, network.Between(names(spares), elsewhere), network.All, network.Drop)); err != nil {
			return err
		}
	}
	err = w.stunned(ctx, h, func() error {
		return begin(w.Lab.Net.Cut(unbroken, network.Between(leader, elsewhere), network.All, network.Drop))
	})
	if err == nil {
		history.Sleep(ctx, aside)
	}
	return err
}
