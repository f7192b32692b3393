//go:build linux

package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// guestKinds returns the faults that hit processes with an embedded generator.
func guestKinds() []Kind {
	return []Kind{
		{
			Name: "generator-cut", Family: Network, About: "an embedded generator reaches no member",
			Workload: "embedded",
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{How: one(r, string(network.Drop), string(network.Reject)), For: between(r, 2*time.Second, 40*time.Second)}
			},
			Begin: cutGuest,
		},
		{
			Name: "generator-clock", Family: Clock, About: "the clock of an embedded generator jumps by 10 ms to an hour, and back",
			Workload: "embedded",
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{Amount: one(r, append(bumps(""), bumps("-")...)...), For: between(r, 3*time.Second, 15*time.Second)}
			},
			Begin: bumpGuest,
		},
	}
}

// guest returns the generator's host that an event hits.
func (w *World) guest(e schedule.Event) (*lab.Guest, error) {
	guests := slices.DeleteFunc(w.Lab.Guests(), func(g *lab.Guest) bool { return g.Workload != "embedded" })
	if len(guests) == 0 {
		return nil, errors.New("the run has no embedded generator")
	}
	return guests[chance(e).IntN(len(guests))], nil
}

func cutGuest(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	g, err := w.guest(e)
	if err != nil {
		return Made{}, err
	}
	fault, err := w.Lab.Net.Cut(ctx, network.Between([]string{g.Name}, names(w.Lab.Members)), network.All, network.How(e.How))
	if err != nil {
		return Made{}, err
	}
	return Made{Hosts: []string{g.Name}, Detail: e.How, Undo: fault.Heal}, nil
}

func bumpGuest(_ context.Context, w *World, e schedule.Event) (Made, error) {
	g, err := w.guest(e)
	if err != nil {
		return Made{}, err
	}
	amount, err := time.ParseDuration(e.Amount)
	if err != nil {
		return Made{}, err
	}
	return Made{
		Hosts: []string{g.Name}, Offset: amount, Detail: e.Amount,
		Undo: func(context.Context) error { return g.Skew(0) },
	}, g.Skew(amount)
}
