package network

import (
	"fmt"
	"slices"
	"testing"
)

// sees returns for each member the members that it can exchange packets with, including itself. It fails the test if a pair
// is cut from itself, twice, or in one direction only.
func sees(t *testing.T, members []string, cut []Pair) map[string][]string {
	t.Helper()
	for i, p := range cut {
		if p.From == p.To || slices.Contains(cut[:i], p) || !slices.Contains(cut, Pair{From: p.To, To: p.From}) {
			t.Fatalf("%v is cut from itself, twice or in one direction only, in %v", p, cut)
		}
	}
	seen := map[string][]string{}
	for _, m := range members {
		for _, other := range members {
			if !slices.Contains(cut, Pair{From: m, To: other}) {
				seen[m] = append(seen[m], other)
			}
		}
	}
	return seen
}

func hosts(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("n", i+1))
	}
	return names
}

func TestRing(t *testing.T) {
	for n := range 10 {
		members := hosts(n)
		cut, err := MajoritiesRing(members)
		if n < 4 {
			if err == nil {
				t.Errorf("MajoritiesRing() of %d members succeeded", n)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		groups := map[string]bool{}
		for m, group := range sees(t, members, cut) {
			if len(group) <= n/2 || len(group) == n {
				t.Errorf("of %d members, %s sees %v, want a majority and not all", n, m, group)
			}
			groups[fmt.Sprint(group)] = true
		}
		if len(groups) != n {
			t.Errorf("of %d members, two see the same majority: %v", n, groups)
		}
	}
}

func TestPairs(t *testing.T) {
	for _, test := range []struct {
		cut  string
		n    int
		f    func([]string) []Pair
		want string
	}{
		{"halves", 5, Halves, "map[n1:[n1 n2] n2:[n1 n2] n3:[n3 n4 n5] n4:[n3 n4 n5] n5:[n3 n4 n5]]"},
		{"halves", 3, Halves, "map[n1:[n1] n2:[n2 n3] n3:[n2 n3]]"},
		{"halves", 1, Halves, "map[n1:[n1]]"},
		{"halves", 0, Halves, "map[]"},
		{"bridge", 5, Bridge, "map[n1:[n1 n2 n3] n2:[n1 n2 n3] n3:[n1 n2 n3 n4 n5] n4:[n3 n4 n5] n5:[n3 n4 n5]]"},
		{"bridge", 3, Bridge, "map[n1:[n1 n2] n2:[n1 n2 n3] n3:[n2 n3]]"},
		{"bridge", 0, Bridge, "map[]"},
		{"isolate n2", 3, func(m []string) []Pair { return Isolate("n2", m) }, "map[n1:[n1 n3] n2:[n2] n3:[n1 n3]]"},
		{"all", 3, func(m []string) []Pair { return Between(m, m) }, "map[n1:[n1] n2:[n2] n3:[n3]]"},
	} {
		members := hosts(test.n)
		if got := fmt.Sprint(sees(t, members, test.f(members))); got != test.want {
			t.Errorf("%s of %d members: %s, want %s", test.cut, test.n, got, test.want)
		}
	}
	if got := fmt.Sprint(OneWay([]string{"a", "b"}, []string{"b", "c"})); got != "[{a b} {a c} {b c}]" {
		t.Errorf("OneWay() = %s", got)
	}
}
