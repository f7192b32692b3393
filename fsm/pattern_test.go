package fsm

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
)

func TestCheckPattern(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"invoices/*", "*", "eu/*/invoices/*", "inv-*-2026", strings.Repeat("x", 127) + "*", "a/*/é*"} {
		if err := CheckPattern(pattern); err != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	for _, pattern := range []string{"", "invoices", "invoices/**", "a*b*/c", "$x/*", "a b/*", strings.Repeat("x", 128) + "*"} {
		if CheckPattern(pattern) == nil {
			t.Errorf("%q was accepted", pattern)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"invoices/*", "invoices/acme", true},
		{"invoices/*", "invoices/", false},
		{"invoices/*", "invoices/a/b", false},
		{"invoices/*", "invoices", false},
		{"inv-*-x", "inv-1-x", true},
		{"inv-*-x", "inv--x", false},
		{"aa*aa", "aaaa", false},
		{"aa*aa", "aaaaa", true},
		{"*", "é", true},
		{"*/*", "a/b", true},
		{"*/*", "a//b", false},
		{"a/*", "b/1", false},
	} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

// Two patterns meet if and only if some name matches both. All names of up to six bytes out of three are tried, and the
// patterns are short enough that such a name exists if there is any.
func TestMeet(t *testing.T) {
	t.Parallel()
	var names []string
	for last := []string{""}; len(names) < 1000; {
		var next []string
		for _, name := range last {
			for _, b := range []string{"a", "b", "/"} {
				next = append(next, name+b)
			}
		}
		names, last = append(names, next...), next
	}
	seed.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"*", "a", "a*", "*a", "b*", "*b", "a*b", "*ab"})
		pattern := func(label string) string {
			return strings.Join(rapid.SliceOfN(part, 1, 2).Draw(t, label), "/")
		}
		p, q := pattern("p"), pattern("q")
		common := false
		for _, name := range names {
			common = common || matches(p, name) && matches(q, name)
		}
		if common && !meet(p, q) || meet(p, q) != meet(q, p) {
			t.Fatalf("%q and %q meet: %v, and a name matches both: %v", p, q, meet(p, q), common)
		}
		if meet(p, q) && !common && len(p)+len(q) <= 5 {
			t.Fatalf("%q and %q meet, and no name matches both", p, q)
		}
		if specificity(p, q) != -specificity(q, p) {
			t.Fatalf("%q and %q: %d and %d", p, q, specificity(p, q), specificity(q, p))
		}
	})
}
