package check

import (
	"cmp"
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

// TestAuditOfLanes has lanes that agree with the grants in the log, and lanes that do not.
func TestAuditOfLanes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lane history.Lane
		from string
		at   int64
		want string
	}{
		"as acquired":        {lane: history.Lane{Token: 2, From: 10, Until: 110}},
		"as extended":        {lane: history.Lane{Token: 2, From: 10, Until: 160}},
		"without a window":   {lane: history.Lane{Until: 7}},
		"since the harvests": {lane: history.Lane{Token: 99}, at: 1001},
		"not granted":        {lane: history.Lane{Token: 1, From: 10, Until: 110}, want: "grants no such window"},
		"of another worker":  {lane: history.Lane{Worker: 1, Token: 2, From: 10, Until: 110}, want: "grants no such window"},
		"another start":      {lane: history.Lane{Token: 2, From: 11, Until: 110}, want: "from 10 with the ends [110 160]"},
		"another end":        {lane: history.Lane{Token: 2, From: 10, Until: 170}, want: "from 10 with the ends [110 160]"},
		"of another member":  {lane: history.Lane{Token: 2, From: 10, Until: 110}, from: "n2", want: "grants this window to n1/0"},
		"of another start":   {lane: history.Lane{Worker: 1, Token: 4, From: 20, Until: 120}, want: "but the nonce of start 1 is 01010101"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := w.acquire(10, "n1/0", 1)
			if r := w.extend(60, g, 1); r.Failure() != nil {
				t.Fatal(r.Failure())
			}
			w.acquire(20, "n1/0", 2)
			known := history.Lane{Layout: "tiny", Token: 2, From: 10, Until: 110}
			w.status(history.Status{Member: "n1", Start: 1, Lanes: []history.Lane{known}})
			c.lane.Layout = "tiny"
			w.status(history.Status{Member: cmp.Or(c.from, "n1"), Start: 1, Call: 1, Return: max(c.at, 1), Lanes: []history.Lane{c.lane}})
			wantVerdict(t, LogAudit(w.finish()), failsIf(c.want != ""), c.want)
		})
	}
}

// TestAuditOfClientGrants has grants to clients that agree with the log, and grants that do not.
func TestAuditOfClientGrants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		grant   history.Lane
		outcome history.Outcome
		at      int64
		want    string
	}{
		"as acquired":        {grant: history.Lane{Token: 2, From: 10, Until: 110}},
		"as extended":        {grant: history.Lane{Token: 2, From: 10, Until: 160}},
		"since the harvests": {grant: history.Lane{Token: 99}, at: 1001},
		"an unknown outcome": {grant: history.Lane{Token: 99}, outcome: history.Info},
		"not granted":        {grant: history.Lane{Token: 1, From: 10, Until: 110}, want: "grants no such window"},
		"of another worker":  {grant: history.Lane{Worker: 1, Token: 2, From: 10, Until: 110}, want: "grants no such window"},
		"another start":      {grant: history.Lane{Token: 2, From: 11, Until: 110}, want: "from 10 with the ends [110 160]"},
		"another end":        {grant: history.Lane{Token: 2, From: 10, Until: 170}, want: "from 10 with the ends [110 160]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if r := w.extend(60, w.acquire(10, "n1/0", 1), 1); r.Failure() != nil {
				t.Fatal(r.Failure())
			}
			c.grant.Layout = "tiny"
			w.line(history.Line{Op: &history.Op{
				ID: 1, Do: history.DoExtend, Outcome: cmp.Or(c.outcome, history.OK), Return: max(c.at, 1), Grant: &c.grant,
			}})
			wantVerdict(t, LogAudit(w.finish()), failsIf(c.want != ""), c.want)
		})
	}
}
