//go:build prometheus

package processtest

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// The rules of deploy take minutes or hours to fire. In tests, `for` is at most hastenedFor, and a range of less than one hour
// is at most hastenedRange. Labels, thresholds and longer ranges, which keep past events, stay unchanged. So an alert that does not
// fire here would not fire in a cluster with the same behavior over a longer time. An alert that fires here may not fire in
// such a cluster.
const (
	hastenedFor   = 5 * time.Second
	hastenedRange = 20 * time.Second
)

var duration = regexp.MustCompile(`(?m)^ +for: (\S+)$|\[(\S+)\]`)

// hasten returns rules that fire within seconds.
func hasten(rules string) string {
	return duration.ReplaceAllStringFunc(rules, func(found string) string {
		groups := duration.FindStringSubmatch(found)
		text, most := groups[1], hastenedFor
		if text == "" {
			text, most = groups[2], hastenedRange
		}
		d, err := time.ParseDuration(text)
		switch {
		case err != nil && groups[1] == "": // a range of days
			return found
		case err == nil && (d <= most || groups[1] == "" && d >= time.Hour):
			return found
		default:
			return strings.Replace(found, text, most.String(), 1)
		}
	})
}

func TestHasten(t *testing.T) {
	t.Parallel()
	const rules = "        expr: a[5m] > b[6h] - c[7d]\n        for: 1d\n        for: 0s\n        expr: rate(d[10s])\n        for: 15m\n"
	const want = "        expr: a[20s] > b[6h] - c[7d]\n        for: 5s\n        for: 0s\n        expr: rate(d[10s])\n        for: 5s\n"
	if got := hasten(rules); got != want {
		t.Errorf("hasten() = %s, want %s", got, want)
	}
}
