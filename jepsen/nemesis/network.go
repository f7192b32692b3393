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
		cut("isolate", "one member and the other members do not hear each other; clients reach all", isolate, Leader, Leader, Follower),
		cut("unplug", "one member hears nobody and nobody hears it", unplug, Leader, Follower),
		cut("halves", "two parts do not hear each other", halves, All),
		atLeast(5, cut("ring", "each member hears a majority, no two the same one", ring, All)),
		atLeast(5, cut("bridge", "two halves that only one member hears both of", bridge, All)),
		cut("one-way", "one member hears the others, and they do not hear it", oneWay, Leader, Follower),
		cut("deaf", "one member does not hear the others, and they hear it", deaf, Leader, Follower),
		cut("raft-only", "one member and the others do not hear each other's Raft, but all else", only(network.Raft), Leader, Follower),
		cut("gossip-only", "one member and the others do not hear each other's gossip, but all else", only(network.Gossip), Leader, Follower),
		cut("no-answers", "clients do not get a member's answers", noAnswers, Leader, Follower, All),
		{
			Name: "loss", Family: Network, About: "30 % of all packets among members are lost",
			Draw:  drawNetwork(nil, "0.3"),
			Begin: overNet(loss),
		},
		{
			Name: "slow", Family: Network, About: "a member sends no more than so many bits a second",
			Draw:  drawNetwork([]string{Leader, Follower, All}, "64000", "256000", "1000000"),
			Begin: overNet(slow),
		},
		{
			Name: "delay", Family: Network, About: "what members send over Raft's connections arrives later",
			Draw:  drawNetwork(nil, "20ms", "100ms", "400ms"),
			Begin: overNet(delay),
		},
	}
}

// drawNetwork draws whom a fault hits and by how much.
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

// cutting is what a cut cuts: which packets in which directions.
type cutting struct {
	pairs   []network.Pair
	traffic network.Traffic
}

// cut is a kind of fault that lets packets not arrive, which are dropped or rejected. hit
// are the members that the event names, rest the other founders.
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

// overNet begins a fault of the network.
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

// idle asks a fault whether it hit anything, also when the run has ended.
func idle(ctx context.Context, f *network.Fault) func() bool {
	return func() bool { return f.Idle(context.WithoutCancel(ctx)) }
}

// others are the members without some of them.
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
		return nil, fmt.Errorf("a loss's amount is a share, such as 0.3, and not %q", e.Amount)
	}
	return n.Loss(ctx, network.OneWay(hit, hit), network.All, probability)
}

func slow(ctx context.Context, n *network.Net, e schedule.Event, hit, _ []string) (*network.Fault, error) {
	bits, err := strconv.ParseInt(e.Amount, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("a slow link's amount is bits a second, such as 64000, and not %q", e.Amount)
	}
	return n.Slow(ctx, hit, bits)
}

func delay(ctx context.Context, n *network.Net, e schedule.Event, hit, _ []string) (*network.Fault, error) {
	d, err := time.ParseDuration(e.Amount)
	if err != nil {
		return nil, fmt.Errorf("a delay's amount is a time, such as 100ms, and not %q", e.Amount)
	}
	return n.Delay(ctx, network.OneWay(hit, hit), lab.PortRaft, d, d/2)
}
