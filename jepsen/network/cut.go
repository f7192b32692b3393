//go:build linux

package network

import (
	"context"
	"fmt"
)

// Cut stops the packets of the given traffic in the given directions. Each pair is one-way: to cut two hosts off from each
// other, pass both directions. The receiver's host drops or rejects the packets, so the sender observes the behavior of a
// real network.
func (n *Net) Cut(ctx context.Context, pairs []Pair, traffic Traffic, how How) (*Fault, error) {
	return n.refuse(ctx, pairs, traffic, "", how)
}

// Loss drops packets of the given traffic in the given directions at random, each with the given probability from 0 to 1.
func (n *Net) Loss(ctx context.Context, pairs []Pair, traffic Traffic, probability float64) (*Fault, error) {
	if !(probability >= 0 && probability <= 1) {
		return nil, fmt.Errorf("probability of loss %g: expected a number from 0 to 1", probability)
	}
	return n.refuse(ctx, pairs, traffic, fmt.Sprintf(" -m statistic --mode random --probability %.9f", probability), Drop)
}

// refuse begins a fault in which receivers stop the packets that also satisfy matches, the arguments of iptables.
func (n *Net) refuse(ctx context.Context, pairs []Pair, traffic Traffic, matches string, how How) (*Fault, error) {
	ways, err := traffic.matches()
	if err != nil {
		return nil, err
	}
	chains := map[*Host]*chain{}
	for _, p := range pairs {
		from, to, err := n.ends(p)
		if err != nil {
			return nil, err
		}
		if chains[to] == nil {
			chains[to] = n.newChain("filter", "INPUT")
		}
		for _, way := range ways {
			targets, err := how.targets(way)
			if err != nil {
				return nil, err
			}
			for _, target := range targets {
				chains[to].rules = append(chains[to].rules, "-s "+from.IP+way.arguments()+matches+target)
			}
		}
	}
	var parts []part
	for h, c := range chains {
		parts = append(parts, part{
			begin: func(ctx context.Context) error { return c.make(ctx, h) },
			end:   func(ctx context.Context) error { return c.remove(ctx, h) },
			hits:  func(ctx context.Context) (int64, error) { return c.packets(ctx, h) },
		})
	}
	return n.begin(ctx, parts)
}

// ends returns the hosts of a pair.
func (n *Net) ends(p Pair) (from, to *Host, err error) {
	if from, err = n.Host(p.From); err != nil {
		return nil, nil, err
	}
	if to, err = n.Host(p.To); err != nil {
		return nil, nil, err
	}
	if from == to {
		return nil, nil, fmt.Errorf("host %s: faults cannot hit packets from a host to itself", from.Name)
	}
	return from, to, nil
}
