package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func (c *cluster) next(name string, count uint32) (int64, error) {
	resp, err := c.remote.Sequences.NextNumbers(c.t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: count})
	return resp.GetFirst(), err
}

// everything has each setting of each kind, with values that are not the defaults.
const everything = `
config:
  max-window: 30m
  wait-threshold: 2s
  max-clock-offset: 600ms
  rollback: swap
  redis-create: relaxed
  upgrades: manual
  token-workers-percent: 90
layouts:
  orders:
    fields: time:39,datacenter:2,worker:10,sequence:12
    epoch: 2025-01-01T00:00:00Z
    unit: 10ms
    datacenter: 3
    spread: 0
  leased:
    fields: worker:10,time:41,sequence:13
    epoch: 1735689600000
    lease-only: true
  rows:
    fields: time:41,worker:10,sequence:12
    epoch: 2010-01-01T00:00:00Z
    past: true
templates:
  invoices/*:
    start: 1
    reset: yearly
    year-starts: 04-01
    late: 45d
    time-zone: Europe/Berlin
    format: 'INV-{name:2}-{fy}-{seq:05}'
    description: one for each tenant
    quota: 1000
  '*/receipts':
    start: 1
    mode: gapless
    reuse: true
sequences:
  orders:
    mode: relaxed
    start: -10
    increment: 3
    min: -20
    max: 9000000000000000000
    block-duration: 1m
    min-block: 7
    max-block: 8000
    description: 'on: the web'
  down: {start: 100, increment: -1, min: 0}
  invoices: {start: 1, reset: yearly, time-zone: Asia/Tokyo, format: '{date:yyyy}-{seq:06}'}
  fiscal: {start: 1, reset: quarterly, year-starts: 04-06, late: 12h, format: '{fy:yyyy-yy}/{quarter}/{seq}'}
  weeks: {start: 1, reset: weekly, format: '{weekyear}-W{week}-{seq}'}
  vouchers: {start: 1, format: 'V-{code:base32:8}{check:crockford}', max: 999}
  codes: {start: 1, format: '{code:digits:9}'}
  documents: {start: 1, mode: gapless, reuse: true}
  '17': {start: 1}
  'true': {start: 1}
  'ünï/a:b': {start: 5}
`

// A second run finds no differences, and neither does a run with the exported description.
func TestEverythingRoundTrips(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	if stdout, _, code := c.apply(everything, "--dry-run"); code != cli.ExitDiffers || !strings.HasSuffix(stdout, "\nNothing was changed.\n") {
		t.Fatalf("dry run: exit code %d, %s", code, stdout)
	}
	c.applied(everything, "created: 16, changed: 1, deleted: 0, unchanged: 0")
	c.applied(everything, "no differences; unchanged: 17")
	if got := c.take("vouchers", 1); got != 1 {
		t.Errorf("the first voucher is %d", got)
	}
	c.take("invoices/acme", 3)
	file := c.export()
	if strings.Contains(file, "acme") {
		t.Errorf("the description has a sequence that began with a template:\n%s", file)
	}
	c.applied(file, "no differences; unchanged: 17")
	c.applied(file, "no differences; unchanged: 17", "--prune", "--yes", "--dry-run")
	if again := c.export(); again != file {
		t.Errorf("another description:\n%s", again)
	}
	stdout, _, _ := c.in(clitest.New(), "export-config", "-o", "json")
	c.applied(stdout, "no differences; unchanged: 17")

	// Each setting is compared: a file that omits all of them differs from the cluster in each.
	text := "cluster: " + c.ClusterID() + "\nsequences: {orders: {}, documents: {}, fiscal: {}}\ntemplates: {invoices/*: {}}\n"
	stdout, _, _ = c.apply(text, "--dry-run")
	for _, s := range templateSettings {
		if s.key != startKey && !strings.Contains(stdout, "    "+s.key+": ") {
			t.Errorf("no difference of %s in\n%s", s.key, stdout)
		}
	}
}

// A file that describes another cluster creates nothing that could begin numbers again, except with a start on the command line.
func TestAnotherClusterNeedsStarts(t *testing.T) {
	t.Parallel()
	a, b := startCluster(t, false), startCluster(t, false)
	a.applied("sequences: {orders: {start: 1000, format: 'O{seq}'}}\ntemplates: {t/*: {start: 1}}", "created: 2, changed: 0, deleted: 0, unchanged: 0")
	a.take("orders", 5)
	file := a.export()
	stdout, _, code := b.apply(file)
	for _, want := range []string{"! sequence orders\n", "set --start orders=N", "! template t/*\n", "refused: 2\nNothing was changed.\n"} {
		if code != cli.ExitFailed || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, %s, want %q", code, stdout, want)
		}
	}
	if _, err := b.next("orders", 1); err == nil {
		t.Fatal("a refused file created a sequence")
	}
	if _, err := b.next("t/a", 1); err == nil {
		t.Fatal("a refused file created a template")
	}
	starts := []string{"--start", "orders=2000", "--start", "t/*=500"}
	b.applied(file, "created: 2, changed: 0, deleted: 0, unchanged: 1", starts...)
	if got := b.take("t/a", 1); got != 500 {
		t.Errorf("the template begins at %d", got)
	}
	b.applied(file, "no differences; unchanged: 3")
	b.applied(file, "no differences; unchanged: 3", starts...)
	if got := b.take("orders", 1); got != 2000 {
		t.Errorf("the sequence begins at %d", got)
	}
	if stdout, _, code := b.apply(file, "--start", "orders=3000"); code != cli.ExitFailed || !strings.Contains(stdout, "it exists with the start 2000") {
		t.Errorf("another start: exit code %d, %s", code, stdout)
	}
	for _, c := range []struct{ flags, want string }{
		{"--prune --yes", "describes the cluster " + a.ClusterID()},
		{"--start other=1", "no sequence and no template of that name"},
	} {
		if _, stderr, code := b.apply(file, strings.Fields(c.flags)...); code != cli.ExitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %s", c.flags, code, stderr)
		}
	}
	if stdout, _, code := b.apply("cluster: x\nconfig: {redis-create: strict}\n"); code != cli.ExitFailed || !strings.Contains(stdout, "! config") {
		t.Errorf("redis-create from another cluster: exit code %d, %s", code, stdout)
	}
	if _, stderr, code := a.apply(file, "--start", "orders=1"); code != cli.ExitUsage || !strings.Contains(stderr, "set start in the file") {
		t.Errorf("--start at the same cluster: exit code %d, %s", code, stderr)
	}
}

// A file without a cluster needs a start for each new sequence. An existing sequence keeps its start if the file has none, and no
// start moves an unused sequence back.
func TestStartsWithoutACluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	for _, text := range []string{"sequences: {orders: }", "templates: {t/*: {quota: 5}}"} {
		if stdout, _, code := c.apply(text); code != cli.ExitFailed || !strings.Contains(stdout, "start: must be given") {
			t.Errorf("%s: exit code %d, %s", text, code, stdout)
		}
	}
	c.applied("cluster: "+c.ClusterID()+"\nsequences: {new: }", "created: 1, changed: 0, deleted: 0, unchanged: 0")
	c.applied("sequences: {orders: {start: 5000}, down: {start: 50, increment: -1}}", "created: 2, changed: 0, deleted: 0, unchanged: 0")
	c.applied("sequences: {orders: {max: 9000}, down: {increment: -1}}", "created: 0, changed: 1, deleted: 0, unchanged: 1")
	for _, text := range []string{"sequences: {orders: {start: 1}}", "sequences: {down: {start: 60, increment: -1}}"} {
		if stdout, _, code := c.apply(text); code != cli.ExitFailed || !strings.Contains(stdout, "would move back") {
			t.Errorf("%s: exit code %d, %s", text, code, stdout)
		}
	}
	if got := c.take("orders", 1); got != 5000 {
		t.Errorf("the sequence begins at %d", got)
	}
	c.applied("sequences: {orders: {start: 1}}", "created: 0, changed: 1, deleted: 0, unchanged: 0")
	if got := c.take("orders", 1); got <= 5000 {
		t.Errorf("after a change of the start, the next number is %d", got)
	}
}

// Members refuse what would repeat numbers. The other changes are made, and a second run makes only those that are left.
func TestRefusalsDoNotStopOthers(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	c.applied("sequences: {a: {start: 1}, b: {start: 1}}", "created: 2, changed: 0, deleted: 0, unchanged: 0")
	c.take("a", 3)
	const file = "sequences: {a: {increment: -1, max: 1000}, b: {description: new}, c: {start: 1}}\n"
	stdout, _, code := c.apply(file)
	for _, want := range []string{"! sequence a\n", "refused: ", "[WOULD_REPEAT]", "~ sequence b\n", "+ sequence c\n", "created: 1, changed: 1, deleted: 0, unchanged: 0, refused: 1\n"} {
		if code != cli.ExitFailed || !strings.Contains(stdout, want) {
			t.Errorf("exit code %d, %s, want %q", code, stdout, want)
		}
	}
	var again result
	stdout, _, code = c.apply(file, "-o", "json")
	clitest.Decode(t, stdout, &again)
	if code != cli.ExitFailed || len(again.Changes) != 1 || again.Unchanged != 2 || again.Changes[0].Reason != "WOULD_REPEAT" || again.Changes[0].Outcome != outcomeRefused {
		t.Errorf("a second run: exit code %d, %s", code, stdout)
	}
	// A name whose sequence was deleted does not begin again.
	c.remove("a")
	if stdout, _, code := c.apply("sequences: {a: {start: 1}}"); code != cli.ExitFailed || !strings.Contains(stdout, "[WOULD_REPEAT]") {
		t.Errorf("a deleted name: exit code %d, %s", code, stdout)
	}
	c.applied("layouts: {l: {fields: 'time:41,worker:10,sequence:12', epoch: 2026-01-01T00:00:00Z}}", "created: 1, changed: 0, deleted: 0, unchanged: 0")
	if stdout, _, code := c.apply("layouts: {l: {fields: 'time:41,worker:10,sequence:12', epoch: 2026-02-01T00:00:00Z}}"); code != cli.ExitFailed || !strings.Contains(stdout, "layouts never change") {
		t.Errorf("another layout: exit code %d, %s", code, stdout)
	}
	// Settings that no cluster accepts are refused before anything is done.
	for _, bad := range []string{"{increment: 0}", "{start: 5, max: 4}", "{reset: daily, format: '{seq}'}", "{format: '{nope}'}", "{year-starts: 02-30}", "{time-zone: Mars}", "{mode: gapless, increment: 2}"} {
		bad = strings.Replace(bad, "{", "{start: 1, ", 1)
		bad = strings.Replace(bad, "start: 1, start: 5", "start: 5", 1)
		stdout, _, code := c.apply(fmt.Sprintf("sequences: {bad: %s, good: {start: 1}}", bad))
		if code != cli.ExitFailed || !strings.Contains(stdout, "! sequence bad\n") || !strings.HasSuffix(stdout, "\nNothing was changed.\n") {
			t.Errorf("%s: exit code %d, %s", bad, code, stdout)
		}
	}
}

func (c *cluster) remove(name string) {
	c.t.Helper()
	if _, err := c.remote.Sequences.DeleteSequence(c.t.Context(), &snowraftv1.DeleteSequenceRequest{Name: name}); err != nil {
		c.t.Fatal(err)
	}
}

// --prune lists what it deletes and asks. It deletes nothing of sections that the file does not have.
func TestPrune(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	c.applied("sequences: {a: {start: 1}, b: {start: 1}}\ntemplates: {t/*: {start: 1}, u/*: {start: 1}}", "created: 4, changed: 0, deleted: 0, unchanged: 0")
	c.take("t/x", 1)
	const file = "sequences: {a: {start: 1}}\n"
	c.applied(file, "no differences; unchanged: 1")
	prune := func(attended bool, answer string, flags ...string) (stdout, stderr string, code int) {
		w := clitest.New()
		w.Attended = attended
		w.In.WriteString(answer)
		return c.in(w, append([]string{"apply", "-f", c.write("file", file), "--prune"}, flags...)...)
	}
	if _, stderr, code := prune(false, ""); code != cli.ExitUsage || !strings.Contains(stderr, "add --yes") {
		t.Errorf("without a terminal: exit code %d, %s", code, stderr)
	}
	const question = "- sequence b\nDelete these permanently, because "
	if _, stderr, code := prune(true, "n\n"); code != cli.ExitFailed || !strings.HasPrefix(stderr, question) || !strings.Contains(stderr, "nothing was done") {
		t.Errorf("without consent: exit code %d, %s", code, stderr)
	}
	if stdout, _, code := prune(false, "", "--dry-run"); code != cli.ExitDiffers || !strings.HasPrefix(stdout, "- sequence b\n\n") {
		t.Errorf("dry run: exit code %d, %s", code, stdout)
	}
	c.take("b", 1)
	if stdout, _, code := prune(true, "y\n"); code != cli.ExitDone || !strings.HasSuffix(stdout, "deleted: 1, unchanged: 1\n") {
		t.Errorf("with consent: exit code %d, %s", code, stdout)
	}
	if _, err := c.next("b", 1); err == nil {
		t.Error("the sequence still exists")
	}
	c.take("t/x", 1)
	c.applied("sequences: {}\ntemplates: {t/*: }", "created: 0, changed: 0, deleted: 2, unchanged: 1", "--prune", "--yes")
	c.take("t/x", 1)
	if stdout := c.export(); strings.Contains(stdout, "sequences:") || strings.Contains(stdout, "u/*") {
		t.Errorf("left:\n%s", stdout)
	}
}

// listless counts the lists of the sequences.
type listless struct {
	sequences
	lists *int
}

func (l listless) list(ctx context.Context) ([]*snowraftv1.Sequence, error) {
	*l.lists++
	return l.sequences.list(ctx)
}

// A run reads the sequences that the file names. Only --prune lists those of the cluster.
func TestOnlyPruneListsSequences(t *testing.T) {
	t.Parallel()
	c := startCluster(t, false)
	c.applied("sequences: {a: {start: 1}, b: {start: 1}, c: {start: 1}}", "created: 3, changed: 0, deleted: 0, unchanged: 0")
	f := &file{objects: map[string][]object{"sequences": {
		{name: "a", given: map[string]string{startKey: "1"}},
		{name: "new", given: map[string]string{startKey: "1"}},
		{name: "b", given: map[string]string{startKey: "1", "description": "changed"}},
	}}}
	for _, prune := range []bool{false, true} {
		lists, p := 0, &planner{file: f, cluster: c.ClusterID(), prune: prune}
		if err := plan(t.Context(), p, listless{sequences{c.remote}, &lists}); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, change := range append(p.changes, p.deletions...) {
			got += marks[change.Action] + change.Name + " "
		}
		if want := map[bool]string{false: "+new ~b ", true: "+new ~b -c "}[prune]; got != want || p.unchanged != 1 || (lists > 0) != prune {
			t.Errorf("prune %t: %q, unchanged: %d, after %d lists; want %q", prune, got, p.unchanged, lists, want)
		}
	}
}
