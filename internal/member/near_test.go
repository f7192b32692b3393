package member

import (
	"slices"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	names := []string{"orders", "Orders", "order", "orders/2024", "orders/2025", "orders/2026", "invoices", "invoice", "a", "b", "users:eu:west", "kunde-münchen"}
	for name, want := range map[string][]string{
		"ordres":        {"Orders", "orders", "order"},
		"orders":        {"Orders", "order", "orders/2024"}, // the name itself is omitted
		"ORDERS":        {"Orders", "orders", "order"},
		"oders":         {"Orders", "orders"},
		"invoces":       {"invoices", "invoice"},
		"orders/2027":   {"orders/2024", "orders/2025", "orders/2026"},
		"inv":           {"invoice", "invoices"},
		"c":             nil,
		"A":             {"a"},
		"users:us:west": {"users:eu:west"},
		"kunde-munchen": {"kunde-münchen"},
		"":              nil,
		"something":     nil,
	} {
		backwards := slices.Clone(names)
		slices.Reverse(backwards)
		for _, candidates := range [][]string{names, backwards, append(slices.Clone(names), names...)} {
			if got := near(name, candidates, anyName); !slices.Equal(got, want) {
				t.Errorf("near %q: %q, want %q", name, got, want)
			}
		}
	}
	if got := near("ordres", names, func(name string) bool { return name == "order" }); !slices.Equal(got, []string{"order"}) {
		t.Errorf("near among the visible names: %q", got)
	}
	long := strings.Repeat("x", 200)
	if got := near(long, []string{long[1:], long + "y"}, anyName); !slices.Equal(got, []string{long + "y"}) {
		t.Errorf("near a long name: %q", got)
	}
}

func anyName(string) bool { return true }

func BenchmarkNear(b *testing.B) {
	var names []string
	for i := range 100_000 {
		names = append(names, "tenant/"+strings.Repeat("x", i%50)+"/orders")
	}
	for b.Loop() {
		near("tenant/xxxxxxxxxxxxxxxxxxxx/odrers", names, anyName)
	}
}
