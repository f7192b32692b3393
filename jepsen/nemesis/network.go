//go:build linux

package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

func networkKinds() []Kind {
	return []Kind{
		cut("isolate", "one member and the other members cannot reach each other; clients reach all", isolate, Leader, Leader, Follower),
		cut("unplug", "one member can reach neither members nor clients, and they cannot reach it", unplug, Leader, Follower),
		cut("halves", "two parts cannot reach each other", halves, All),
		atLeast(5, cut("ring", "each member reaches a majority, no two members the same one", ring, All)),
		atLeast(5, cut("bridge", "two halves cannot reach each other; one member reaches both", bridge, All)),
		cut("one-way", "one member receives from the others; they receive nothing from it", oneWay, Leader, Follower),
		cut("deaf", "one member receives nothing from the others; they receive from it", deaf, Leader, Follower),
		cut("raft-only", "one member and the others exchange no Raft messages; other traffic passes", only(network.Raft), Leader, Follower),
		cut("gossip-only", "one member and the others exchange no gossip; other traffic passes", only(network.Gossip), Leader, Follower),
		cut("no-answers", "clients receive no answers from a member or from all", noAnswers, Leader, Follower, All),
		{
			Name: "loss", Family: Network, About: "30 % of the packets between members are lost",
			Draw:  drawNetwork(nil, "0.3"),
			Begin: overNet(loss),
		},
		{
			Name: "slow", Family: Network, About: "a member or all members send at most 64 kbit/s to 1 Mbit/s",
			Draw:  drawNetwork([]string{Leader, Follower, All}, "64000", "256000", "1000000"),
			Begin: overNet(slow),
		},
		{
			Name: "delay", Family: Network, About: "bytes on Raft connections arrive 20 to 600 ms late",
			Draw:  drawNetwork(nil, "20ms", "100ms", "400ms"),
			Begin: overNet(delay),
		},
	}
}

// drawNetwork returns a Draw that chooses a target of whom, All if whom is empty, and one of the amounts.
func drawNetwork(whom []string, amounts ...string) func(*rand.Rand) schedule.Event {
	return func(r *rand.Rand) schedule.Event {
		e := schedule.Event{On: All, For: between(r, 2*time.Second, 20*time.Second)}
		if len(whom) > 0 {
			e.On = one(r, whom...)
		}
		if len(amounts) > 0 {
			e.Amount = one(r, amounts...)
		}
		return e
	}
}

// cutting is the set of packets that a cut stops: the directions and the traffic.
type cutting struct {
	pairs   []network.Pair
	traffic network.Traffic
}

// cut returns a kind of fault that drops or rejects packets. hit are the members that the event names, rest the other
// founders.
func cut(name, about string, what func(hit, rest []string) (cutting, error), whom ...string) Kind {
	return Kind{
		Name: name, Family: Network, About: about,
		Draw: func(r *rand.Rand) schedule.Event {
			e := drawNetwork(whom)(r)
			e.How = one(r, string(network.Drop), string(network.Reject))
			return e
		},
		Begin: overNet(func(ctx context.Context, n *network.Net, e schedule.Event, hit, rest []string) (*network.Fault, error) {
			c, err := what(hit, rest)
			if err != nil {
				return nil, err
			}
			return n.Cut(ctx, c.pairs, c.traffic, network.How(e.How))
		}),
	}
}

func atLeast(members int, k Kind) Kind {
	k.Members = members
	return k
}

// overNet returns the Begin of a network fault.
func overNet(begin func(ctx context.Context, n *network.Net, e schedule.Event, hit, rest []string) (*network.Fault, error)) func(context.Context, *World, schedule.Event) (Made, error) {
	return func(ctx context.Context, w *World, e schedule.Event) (Made, error) {
		hit, err := w.targets(e)
		if err != nil {
			return Made{}, err
		}
		fault, err := begin(ctx, w.Lab.Net, e, names(hit), names(others(w.Lab.Founders(), hit)))
		if err != nil {
			return Made{}, err
		}
		return Made{Hosts: names(hit), Detail: strings.TrimSpace(e.How + " " + e.Amount), Idle: idle(ctx, fault), Undo: fault.Heal}, nil
	}
}

// idle returns the Idle of a network fault. It works even after ctx is canceled.
func idle(ctx context.Context, f *network.Fault) func() bool {
	return func() bool { return f.Idle(context.WithoutCancel(ctx)) }
}

// others returns members without the members in without.
func others(members, without []*lab.Member) []*lab.Member {
	var rest []*lab.Member
	for _, m := range members {
		if !slices.Contains(without, m) {
			rest = append(rest, m)
		}
	}
	return rest
}

func isolate(hit, rest []string) (cutting, error) {
	return cutting{network.Between(hit, rest), network.All}, nil
}

func unplug(hit, rest []string) (cutting, error) {
	return cutting{network.Between(hit, append(rest, network.Harness)), network.All}, nil
}

func halves(hit, _ []string) (cutting, error) {
	return cutting{network.Halves(hit), network.All}, nil
}

func ring(hit, _ []string) (cutting, error) {
	pairs, err := network.MajoritiesRing(hit)
	return cutting{pairs, network.All}, err
}

func bridge(hit, _ []string) (cutting, error) {
	return cutting{network.Bridge(hit), network.All}, nil
}

func oneWay(hit, rest []string) (cutting, error) {
	return cutting{network.OneWay(hit, rest), network.All}, nil
}

func deaf(hit, rest []string) (cutting, error) {
	return cutting{network.OneWay(rest, hit), network.All}, nil
}

func only(traffic network.Traffic) func(hit, rest []string) (cutting, error) {
	return func(hit, rest []string) (cutting, error) {
		return cutting{network.Between(hit, rest), traffic}, nil
	}
}

func noAnswers(hit, _ []string) (cutting, error) {
	return cutting{network.OneWay(hit, []string{network.Harness}), network.Replies}, nil
}

func loss(ctx context.Context, n *network.Net, e schedule.Event, hit, _ []string) (*network.Fault, error) {
	probability, err := strconv.ParseFloat(e.Amount, 64)
	if err != nil {
		return nil, fmt.Errorf("amount %q: expected a probability such as 0.3", e.Amount)
	}
	return n.Loss(ctx, network.OneWay(hit, hit), network.All, probability)
}

func slow(ctx context.Context, n *network.Net, e schedule.Event, hit, _ []string) (*network.Fault, error) {
	bits, err := strconv.ParseInt(e.Amount, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("amount %q: expected bits per second such as 64000", e.Amount)
	}
	return n.Slow(ctx, hit, bits)
}

func delay(ctx context.Context, n *network.Net, e schedule.Event, hit, _ []string) (*network.Fault, error) {
	d, err := time.ParseDuration(e.Amount)
	if err != nil {
		return nil, fmt.Errorf("amount %q: expected a duration such as 100ms", e.Amount)
	}
	return n.Delay(ctx, network.OneWay(hit, hit), lab.PortRaft, d, d/2)
}
