//go:build process

package processtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/test/lincheck"
	"github.com/snowraft/snowraft/internal/test/nextversion"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// nextFSMVersion is the version of log commands that only the next version of the program knows.
const nextFSMVersion = fsm.Version + 1

// buildNext builds the next version of the program, once.
var buildNext = sync.OnceValues(func() (string, error) {
	path := filepath.Join(filepath.Dir(program), "snowraft-next")
	return path, nextversion.Build(context.Background(), path, "./cmd/snowraft")
})

// mixed is a cluster whose members run two versions of the program, under load.
type mixed struct {
	t       *testing.T
	next    string // path of the newer version of the program
	members []*member
	ledger  *ledger
	ids     *load
	numbers *numbering
}

// startMixed starts three members of the older of two versions, and clients.
func startMixed(t *testing.T, older, newer string) *mixed {
	x := &mixed{t: t, next: newer, members: newCluster(t, 3, "--initial-upgrades", "manual"), ledger: newLedger()}
	for _, m := range x.members {
		m.program = older
		m.start()
	}
	for _, m := range x.members {
		m.untilIssues()
	}
	x.numbers = newNumbering(t, x.members, &snowraftv1.Sequence{Name: "strict", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT})
	x.numbers.clients(6, 2)
	x.ids = newLoad(t, x.ledger)
	x.ids.roaming(x.members, 3, few)
	return x
}

// swap restarts a member with another program, and waits until the others know the version of commands that it knows.
func (x *mixed) swap(m *member, program string, knows uint32) {
	x.t.Helper()
	m.stop()
	m.program = program
	m.start().untilIssues()
	for _, o := range x.members {
		until(x.t, fmt.Sprintf("%s knows that %s knows commands up to %d", o.name, m.name, knows), func() bool {
			return slices.ContainsFunc(o.list(), func(l *snowraftv1.Member) bool {
				return l.GetName() == m.name && l.GetFsmVersionSupported() == knows
			})
		})
	}
}

// lead makes each member the leader in turn. All members issue IDs and numbers under each leader.
func (x *mixed) lead(version uint32) {
	x.t.Helper()
	for _, m := range x.members {
		x.transfer(m)
		x.numbers.untilNext(x.t, x.members...)
		for _, o := range x.members {
			until(x.t, o.name+" issues IDs", func() bool { return x.ledger.ask(o, 100) == nil })
			if s := o.status(); s.GetFsmVersion() != version {
				x.t.Errorf("%s is at version %d of the commands while %s leads, want %d", o.name, s.GetFsmVersion(), m.name, version)
			}
		}
	}
}

// transfer makes a member the leader.
func (x *mixed) transfer(m *member) {
	x.t.Helper()
	until(x.t, m.name+" leads", func() bool {
		_, _ = x.members[0].cluster.TransferLeadership(x.t.Context(), &snowraftv1.TransferLeadershipRequest{Member: m.name})
		return leader(x.t, x.members) == m
	})
}

// grow makes the log so long that the members take a snapshot. written waits until each of them has a snapshot of an index that
// was not committed before the call.
func (x *mixed) grow() (written func(members ...*member)) {
	x.t.Helper()
	lead := leader(x.t, x.members)
	from := lead.status().GetCommitIndex()
	longLog(x.t, lead, from+5000)
	return func(members ...*member) {
		x.t.Helper()
		until(x.t, "members have a new snapshot", func() bool {
			return !slices.ContainsFunc(members, func(m *member) bool { return newestSnapshot(x.t, m) <= from })
		})
	}
}

// refused starts a member with the version under test, which must exit with the reason in its last line.
func (x *mixed) refused(m *member, why string) {
	x.t.Helper()
	m.program = program
	m.start()
	code := m.exit()
	if line := m.stderr.tail(1); code != 1 || line != "snowraft: "+why {
		x.t.Errorf("%s exited with code %d and the line %q, want 1 and %q", m.name, code, line, why)
	}
	for _, o := range others(x.members, m) {
		x.ledger.mustAsk(o, 100)
	}
}

// refusesToReturn restarts a member with the version under test, which refuses the directory, and then with the next version.
func (x *mixed) refusesToReturn(m *member) {
	x.t.Helper()
	m.stop()
	x.refused(m, tooOld)
	m.program = x.next
	m.start().untilIssues()
}

// tooOld is the error of the version under test for a directory of the next version.
var tooOld = (&fsm.NewerError{Used: nextFSMVersion, Known: fsm.Version}).Error()

// run runs a command of a version of the program.
func (x *mixed) run(program string, args ...string) (stdout, stderr string, code int) {
	x.t.Helper()
	p := startProgram(x.t, program, at(x.members[0]), args...)
	code = p.exit()
	return p.stdout.String(), p.stderr.String(), code
}

// TestMixedVersions upgrades members under load one by one and back, makes each member of each mix the leader, and finalizes the
// upgrade. From then on the old version refuses to start where it finds the new one, without an effect on the other members.
func TestMixedVersions(t *testing.T) {
	t.Parallel()
	next, err := buildNext()
	if err != nil {
		t.Fatal(err)
	}
	x := startMixed(t, program, next)
	old := uint32(fsm.Version)
	x.lead(old)
	var written func(...*member)
	for i, m := range x.members {
		x.swap(m, x.next, nextFSMVersion)
		if i == 2 {
			written = x.grow()
		}
		x.lead(old) // includes leaders and followers that know the next version
	}
	written(x.members[:2]...) // the old version reads these snapshots of the next one
	for _, m := range x.members[:2] {
		x.swap(m, program, old)
		x.lead(old)
	}
	stdout, stderr, code := x.run(program, "upgrade", "finalize")
	if code == 0 || !strings.Contains(stderr, x.members[0].name) || strings.Contains(stderr, x.members[2].name) {
		t.Errorf("finalize with two old members: exit code %d: %s%s", code, stdout, stderr)
	}
	for _, m := range x.members[:2] {
		x.swap(m, x.next, nextFSMVersion)
	}
	if stdout, stderr, code := x.run(program, "upgrade", "finalize"); code != 0 {
		t.Fatalf("finalize: exit code %d: %s%s", code, stdout, stderr)
	}
	for _, m := range x.members {
		until(t, m.name+" uses the new commands", func() bool { return m.status().GetFsmVersion() == nextFSMVersion })
	}
	x.lead(nextFSMVersion)
	until(t, "a new command is committed", func() bool {
		return strings.Contains(leader(t, x.members).stderr.String(), "mark committed")
	})

	x.refusesToReturn(others(x.members, leader(t, x.members))[0]) // to the log
	written = x.grow()
	x.refusesBackup()
	joins := newcomer(t, "m4", x.members)
	x.refused(joins, fmt.Sprintf("%v: the cluster uses commands of fsm_version %d, and this program knows them up to fsm_version %d; start the newer program",
		cluster.ErrTooOld, nextFSMVersion, fsm.Version))
	if voters, nonvoters := x.members[0].voters(); voters != 3 || nonvoters != 0 {
		t.Errorf("%d voters and %d nonvoters after an old member tried to join, want 3 and 0", voters, nonvoters)
	}
	x.lead(nextFSMVersion)
	back := others(x.members, leader(t, x.members))[0]
	written(back)
	x.refusesToReturn(back) // to the snapshot

	x.judge()
}

// judge ends the load. All IDs must be unique, all numbers in order, and all states equal.
func (x *mixed) judge() {
	x.t.Helper()
	x.ids.stop()
	x.numbers.stop()
	report(x.t, "a request failed at all members", x.ids.failed(func(f failure) bool { return true }))
	if err := lincheck.CheckOrder(x.numbers.history.Calls()); err != nil {
		x.t.Error(err)
	}
	x.ledger.checkUnique(x.t)
	for _, m := range x.members {
		if strings.Contains(m.stderr.String(), "differs from the leader's") {
			x.t.Errorf("the state of %s differs", m.name)
		}
	}
}

// refusesBackup writes backups of a running cluster and of a directory with the next version. The old version must
// refuse them in one line.
func (x *mixed) refusesBackup() {
	x.t.Helper()
	dir := x.t.TempDir()
	file := filepath.Join(dir, "next.backup")
	if _, stderr, code := x.run(x.next, "backup", file); code != 0 {
		x.t.Fatalf("backup: %s", stderr)
	}
	want := fmt.Sprintf("%v (fsm_version %d, known: %d)", backup.ErrFuture, nextFSMVersion, fsm.Version)
	for _, args := range [][]string{
		{"backup", "inspect", file},
		{"restore", file, "--data-dir", filepath.Join(dir, "restored"), "--old-ended", time.Now().UTC().Format(time.RFC3339), "--old-cluster-is-gone", "--clock-checked"},
	} {
		_, stderr, code := x.run(program, args...)
		if code != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			x.t.Errorf("%v exited with code %d and printed %q, want 1 and one line with %q", args, code, stderr, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "restored")); err == nil {
		x.t.Error("a refused backup left a data directory")
	}
}

// newestSnapshot returns the index of a member's newest snapshot, 0 if it has none.
func newestSnapshot(t *testing.T, m *member) (newest uint64) {
	t.Helper()
	metas, err := filepath.Glob(filepath.Join(m.dir, "snapshots", "*-*", "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range metas {
		var meta struct{ Index uint64 }
		raw, err := os.ReadFile(path)
		if err == nil && !strings.Contains(path, ".tmp") && json.Unmarshal(raw, &meta) == nil {
			newest = max(newest, meta.Index)
		}
	}
	return newest
}

// longLog makes the log at least entries long. It ignores failed changes, because
// many concurrent changes may depose a leader on a slow machine.
func longLog(t *testing.T, askAt *member, entries uint64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = askAt.cluster.UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{WaitThresholdMs: new(int64(1000))}})
			}
		})
	}
	until(t, "the log is long", func() bool { return askAt.status().GetCommitIndex() >= entries })
	cancel()
	wg.Wait()
}
