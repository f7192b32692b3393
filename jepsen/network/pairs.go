package network

import (
	"fmt"
	"slices"
)

// A Pair is a direction: what From sends to To. Both are names of hosts.
type Pair struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// OneWay returns what some hosts send to others, and none to itself.
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

// Between returns what some hosts and others send to each other.
func Between(some, others []string) []Pair {
	pairs := OneWay(some, others)
	for _, p := range OneWay(others, some) {
		if !slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// Isolate returns what a host and the others send to each other. Its clients still
// reach it, unless [Harness] is among the others.
func Isolate(host string, others []string) []Pair {
	return Between([]string{host}, others)
}

// Halves returns what the first half of the members and the rest send to each other.
// Of an odd number of members the rest is one larger, and so a majority.
func Halves(members []string) []Pair {
	half := len(members) / 2
	return Between(members[:half], members[half:])
}

// Bridge is as [Halves], but the member in the middle sees both halves. With three
// members, two see only the third.
func Bridge(members []string) []Pair {
	half := len(members) / 2
	return Between(members[:half], members[min(half+1, len(members)):])
}

// MajoritiesRing puts the members into a ring and returns what those send to each
// other who are too far apart: each member sees a majority with itself in its
// middle, and no two see the same one. It takes at least four members.
func MajoritiesRing(members []string) ([]Pair, error) {
	n := len(members)
	// Each needs n/2 others, half of them on each side.
	near := (n/2 + 1) / 2
	if 2*near+1 >= n {
		return nil, fmt.Errorf("a ring of majorities takes at least four members, not %d", n)
	}
	var pairs []Pair
	for i := range n {
		for distance := near + 1; distance < n-near; distance++ {
			pairs = append(pairs, Pair{From: members[i], To: members[(i+distance)%n]})
		}
	}
	return pairs, nil
}
