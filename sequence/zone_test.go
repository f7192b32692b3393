package sequence_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for machines without the database

	"github.com/snowraft/snowraft/sequence"
)

func TestLoadLocation(t *testing.T) {
	for name, want := range map[string]string{
		"": "UTC", "UTC": "UTC", "Europe/Berlin": "Europe/Berlin", "Etc/GMT+5": "Etc/GMT+5", "EST5EDT": "EST5EDT",
		"America/Argentina/Buenos_Aires": "America/Argentina/Buenos_Aires", "America/Port-au-Prince": "America/Port-au-Prince",
	} {
		loc, err := sequence.LoadLocation(name)
		if err != nil || loc.String() != want {
			t.Errorf("%q is %v, %v", name, loc, err)
		}
	}
	for _, name := range []string{
		"Local", "localtime", "posixrules", "posix/Europe/Berlin", "right/Europe/Berlin", "Europe", "Europe/", "/Europe/Berlin",
		"../zoneinfo/Europe/Berlin", "Europe/../Europe/Berlin", "Europe//Berlin", `Europe\Berlin`, "zone.tab", "+VERSION", "europe/berlin",
		"CEST", "+02:00", "Europe/Berlin\x00", " UTC", "utc", strings.Repeat("A", 65),
	} {
		loc, err := sequence.LoadLocation(name)
		if !errors.Is(err, sequence.ErrUnknownZone) || !strings.Contains(err.Error(), "Europe/Berlin") || len(err.Error()) > 400 {
			t.Errorf("%q is %v, %v", name, loc, err)
		}
	}
	if loc, _ := sequence.LoadLocation(""); loc != time.UTC {
		t.Error(`"" is not time.UTC`)
	}
}

func TestResetString(t *testing.T) {
	for r, want := range map[sequence.Reset]string{
		sequence.ResetNone: "none", sequence.ResetDaily: "daily", sequence.ResetMonthly: "monthly", sequence.ResetYearly: "yearly", 9: "Reset(9)",
	} {
		if got := r.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func TestNear(t *testing.T) {
	names := []string{"orders", "Orders", "order", "orders/2024", "orders/2025", "orders/2026", "invoices", "invoice", "a", "b", "users:eu:west", "kunde-münchen"}
	for name, want := range map[string][]string{
		"ordres":        {"Orders", "orders", "order"},
		"orders":        {"Orders", "order", "orders/2024"}, // itself is no answer
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
			if got := sequence.Near(name, candidates); !slices.Equal(got, want) {
				t.Errorf("near %q: %q, want %q", name, got, want)
			}
		}
	}
	long := strings.Repeat("x", 200)
	if got := sequence.Near(long, []string{long[1:], long + "y"}); !slices.Equal(got, []string{long + "y"}) {
		t.Errorf("near a long name: %q", got)
	}
}

func BenchmarkNear(b *testing.B) {
	var names []string
	for i := range 100_000 {
		names = append(names, "tenant/"+strings.Repeat("x", i%50)+"/orders")
	}
	for b.Loop() {
		sequence.Near("tenant/xxxxxxxxxxxxxxxxxxxx/odrers", names)
	}
}
