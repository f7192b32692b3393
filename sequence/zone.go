package sequence

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/limits"
)

// LoadLocation returns the time zone with a name in the IANA database, such as "Europe/Berlin"; "" and "UTC"
// are UTC. For any other text the error is an [ErrUnknownZone]. This includes names whose meaning depends on
// the machine: Local, files, and the variants with leap seconds. LoadLocation caches the zones that it has read
// from the database.
func LoadLocation(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	if len(name) > limits.ZoneBytes {
		return nil, fmt.Errorf("%w: name of %d bytes, expected at most %d, for example Europe/Berlin", ErrUnknownZone, len(name), limits.ZoneBytes)
	}
	if loc, ok := locations.Load(name); ok {
		return loc.(*time.Location), nil
	}
	if sameEverywhere(name) {
		if loc, err := time.LoadLocation(name); err == nil {
			locations.Store(name, loc)
			return loc, nil
		}
	}
	return nil, fmt.Errorf("%w: %q, expected a name of the IANA time zone database, for example Europe/Berlin, or UTC (case matters)", ErrUnknownZone, name)
}

// locations holds the loaded zones by name, at most as many as the database has.
var locations sync.Map

// sameEverywhere reports whether the name has the form of names in the database, and is not one of the other
// files that some machines have next to them.
func sameEverywhere(name string) bool {
	for element := range strings.SplitSeq(name, "/") {
		if element == "" || !isLetter(element[0]) {
			return false
		}
		for i := range len(element) {
			c := element[i]
			if !isLetter(c) && (c < '0' || c > '9') && c != '_' && c != '-' && c != '+' {
				return false
			}
		}
	}
	switch first, _, _ := strings.Cut(name, "/"); first {
	case "Local", "localtime", "posix", "posixrules", "right":
		return false
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// maxOffset is more than the greatest offset of any zone from UTC, which was that of Manila: 15:56 h.
const maxOffset = 36 * time.Hour

// firstInstant returns the first instant whose date in the location is that day or later. The result of
// time.Date is not defined where midnight does not exist or occurs twice. firstInstant therefore visits the
// intervals between the changes of the offset from UTC.
func firstInstant(year int, m time.Month, d int, loc *time.Location) time.Time {
	midnight := time.Date(year, m, d, 0, 0, 0, 0, time.UTC)
	for t := midnight.Add(-maxOffset).In(loc); ; {
		_, offset := t.Zone()
		first := midnight.Add(-time.Duration(offset) * time.Second).In(loc)
		if first.Before(t) {
			first = t // the change of the offset skipped that instant
		}
		_, end := t.ZoneBounds()
		if end.IsZero() || first.Before(end) || !end.After(t) {
			return first
		}
		t = end
	}
}
