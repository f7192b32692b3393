package sequence_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // required on machines without the database

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
		sequence.ResetNone: "none", sequence.ResetDaily: "daily", sequence.ResetMonthly: "monthly", sequence.ResetYearly: "yearly",
		sequence.ResetWeekly: "weekly", sequence.ResetQuarterly: "quarterly", 9: "Reset(9)",
	} {
		if got := r.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}
