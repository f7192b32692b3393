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
	// handoverEvery is the interval at which leadership is handed over.
	handoverEvery = 1500 * time.Millisecond
	// The one that led is stopped for a time between these: long enough for the next leader to be
	// elected and to serve, and shorter than a leader's lease (400 ms), which would end otherwise
	// the moment that it goes on. How much shorter a busy machine needs it to be is left to chance.
	leastStun, mostStun = 120 * time.Millisecond, 300 * time.Millisecond
	// mostDelay is within what time a leader that is asked to hand over does that.
	mostDelay = 10 * time.Millisecond
)

// aside is the time that the one that led is left with the members that have no vote, after that.
const aside = 600 * time.Millisecond

func handoverKinds() []Kind {
	return []Kind{{
		Name: "handover", Family: Process, About: "the leader is asked to hand leadership over, stopped at about that moment, and goes on before its lease ends",
		Draw: func(r *rand.Rand) schedule.Event {
			return schedule.Event{On: Leader, For: between(r, 3*time.Second, 10*time.Second)}
		},
		Begin: handovers((*World).stun),
	}, {
		Name: "left-behind", Family: Network, About: "a leader that is stopped as it hands over goes on among nonvoters only, which do not know its successor",
		Draw: func(r *rand.Rand) schedule.Event {
			return schedule.Event{On: Leader, For: between(r, 5*time.Second, 15*time.Second)}
		},
		Begin: handovers((*World).leaveBehind),
	}}
}

// handing is one leader that hands over.
type handing struct {
	leader *lab.Member
	conn   *grpc.ClientConn
	delay  time.Duration // from the request to the moment that it is stopped
	stun   time.Duration // how long it is stopped
}

// handovers has one leader after another that does not know yet that it was replaced, and
// has requests and the news of its successor waiting for it side by side.
func handovers(hand func(*World, context.Context, handing) error) func(context.Context, *World, schedule.Event) (Made, error) {
	return func(ctx context.Context, w *World, e schedule.Event) (Made, error) {
		conns := make(map[*lab.Member]*grpc.ClientConn)
		closeAll := func() {
			for _, conn := range conns {
				_ = conn.Close() // nothing depends on what is in progress
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

// stun asks a leader to hand over, and stops it for a moment soon after.
func (w *World) stun(ctx context.Context, h handing) error {
	return w.stunned(ctx, h, func() error { return nil })
}

// stunned does what stun does, and something else while the leader is stopped.
func (w *World) stunned(ctx context.Context, h handing, meanwhile func() error) error {
	asked := make(chan struct{})
	asking, cancel := context.WithTimeout(ctx, handoverEvery)
	defer cancel()
	go func() {
		defer close(asked)
		// Whether it does is seen by who leads next.
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

// leaveBehind also cuts the leader off from the other founders while it is stopped, together with
// the members that are none, which hear nothing of its successor from before on. Nor must the
// leader, until it is cut off: what others send over connections that they opened is late.
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
