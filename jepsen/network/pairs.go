package network

import (
	"fmt"
	"slices"
)

// A Pair is one direction between two hosts: the packets that From sends to To. Both are names of hosts.
type Pair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// OneWay returns the pairs from each host of from to each different host of to.
func OneWay(from, to []string) []Pair {
	var pairs []Pair
	for _, f := range from {
		for _, t := range to {
			if f != t {
				pairs = append(pairs, Pair{From: f, To: t})
			}
		}
	}
	return pairs
}

// Between returns the pairs between each host of some and each different host of others, in both directions.
func Between(some, others []string) []Pair {
	pairs := OneWay(some, others)
	for _, p := range OneWay(others, some) {
		if !slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// Isolate returns the pairs between a host and the others, in both directions. Clients still reach the host, unless
// [Harness] is among the others.
func Isolate(host string, others []string) []Pair {
	return Between([]string{host}, others)
}

// Halves returns the pairs between the first half of the members and the rest. If the number of members is odd, the rest is
// one larger and thus a majority.
func Halves(members []string) []Pair {
	half := len(members) / 2
	return Between(members[:half], members[half:])
}

// Bridge returns the pairs of [Halves] without those of the member in the middle, which thus reaches both halves. Of three
// members, two reach only the third.
func Bridge(members []string) []Pair {
	half := len(members) / 2
	return Between(members[:half], members[min(half+1, len(members)):])
}

// MajoritiesRing arranges the members in a ring and returns the pairs of members that are too far apart. Each member then
// reaches a majority, with itself in the middle, and no two members the same one. It needs at least four members.
func MajoritiesRing(members []string) ([]Pair, error) {
	n := len(members)
	// Each member needs n/2 others, half of them on each side.
	near := (n/2 + 1) / 2
	if 2*near+1 >= n {
		return nil, fmt.Errorf("%d members: expected at least 4 for a ring of majorities", n)
	}
	var pairs []Pair
	for i := range n {
		for distance := near + 1; distance < n-near; distance++ {
			pairs = append(pairs, Pair{From: members[i], To: members[(i+distance)%n]})
		}
	}
	return pairs, nil
}
