//go:build process

package processtest

import (
	"encoding/json"
	"strings"
	"testing"
)

// benchDoc is the part of bench's JSON that the test checks.
type benchDoc struct {
	Calls   uint64 `json:"calls,string"`
	Numbers uint64 `json:"numbers,string"`
	Failed  uint64 `json:"failed,string"`
	Check   struct {
		Checked    uint64 `json:"checked,string"`
		Duplicates uint64 `json:"duplicates,string"`
	} `json:"check"`
}

// All bench commands work against members, and the members issue nothing twice.
func TestBench(t *testing.T) {
	t.Parallel()
	m := newMember(t, "m1", "--bootstrap-expect", "1")
	m.start().untilIssues()
	if _, stderr, code := command(t, at(m), "seq", "create", "orders", "--mode", "relaxed"); code != 0 {
		t.Fatal(stderr)
	}
	for line, batch := range map[string]uint64{
		"ids": 1, "ids -b 100 -r 50": 100, "ids --coalesce": 1,
		"seq orders -b 3": 3, "seq orders -r 50 -c 3": 1, "seq orders --coalesce": 1, "seq orders --coalesce -b 3": 3,
	} {
		var d benchDoc
		stdout, stderr, code := command(t, at(m), append([]string{"bench", "-d", "200ms", "-o", "json"}, strings.Fields(line)...)...)
		if err := json.Unmarshal([]byte(stdout), &d); err != nil || code != 0 {
			t.Fatalf("bench %s: exit code %d, %s, %v", line, code, stderr, err)
		}
		if d.Calls == 0 || d.Numbers != batch*d.Calls || d.Failed != 0 || d.Check.Checked != d.Numbers || d.Check.Duplicates != 0 {
			t.Errorf("bench %s: %+v", line, d)
		}
	}
}
