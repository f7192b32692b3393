package fsm

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowraft/snowraft/internal/test/seed"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// newLeaseLog returns a log of the version that has all fields of a lease.
func newLeaseLog(t testing.TB, specs ...snowflake.Spec) *log {
	l := newLog(t, specs...)
	l.must(at(epoch, raise(LeaseVersion)))
	return l
}

// turnedDown applies a command to a log whose digest covers all commands, and expects that the command is refused.
func (l *log) turnedDown(reason commandv1.Refusal, cmd *commandv1.Command) *Refused {
	l.t.Helper()
	r := l.do(cmd)
	if r.Err == nil || r.Err.Reason != reason {
		l.t.Fatalf("%v returned %+v (%v), want %v", cmd, r, r.Err, reason)
	}
	return r.Err
}

// stamped stamps a command as a proposer does.
func stamped(now int64, cmd *commandv1.Command) *commandv1.Command {
	cmd.ClockAtMs, cmd.Version = now, MinVersion(cmd)
	return cmd
}

// below is acquire for a worker below a number.
func below(number uint64, holder string, windowMillis int64) *commandv1.Command {
	cmd := acquire(holder, windowMillis)
	cmd.GetAcquireWorker().Below = number
	return cmd
}

// described is acquire of a process.
func described(p *commandv1.HolderProcess, holder string, windowMillis int64) *commandv1.Command {
	cmd := acquire(holder, windowMillis)
	cmd.GetAcquireWorker().Process = p
	return cmd
}

// TestNewerFieldsNeedTheVersion: until the upgrade is finalized, no command with a field of a lease changes a state, because
// an earlier program would ignore the field.
func TestNewerFieldsNeedTheVersion(t *testing.T) {
	l := newLog(t, tiny)
	only := tiny
	only.Name, only.LeaseOnly = "only", true
	share := DefaultConfig()
	share.TokenWorkersPercent = 90
	for name, cmd := range map[string]func() *commandv1.Command{
		"below":      func() *commandv1.Command { return below(1, "a/0", 1000) },
		"process":    func() *commandv1.Command { return described(&commandv1.HolderProcess{Host: "h"}, "a/0", 1000) },
		"lease only": func() *commandv1.Command { return createLayout(only) },
		"share":      func() *commandv1.Command { return setConfig(share, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			l.t = t
			if need := MinVersion(cmd()); need != LeaseVersion {
				t.Errorf("MinVersion() = %d, want %d", need, LeaseVersion)
			}
			l.refused(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW, stamped(epoch, cmd()))
		})
	}
	l.t = t
	l.must(at(epoch, raise(LeaseVersion)))
	l.must(stamped(epoch, below(1, "a/0", 1000)))
	l.must(stamped(epoch, createLayout(only)))
	l.must(stamped(epoch, setConfig(share, 0)))
}

// TestLeaseOnlyLayout: a layout whose IDs no lane can make has workers, all of them for applications.
func TestLeaseOnlyLayout(t *testing.T) {
	l := newLeaseLog(t)
	spec := withWorkers(6)
	spec.Name, spec.LeaseOnly = "tiny", true
	spec.Fields = []snowflake.FieldBits{{Field: snowflake.FieldWorker, Bits: 6}, {Field: snowflake.FieldTime, Bits: 58}}
	l.must(stamped(epoch, createLayout(spec)))
	app := l.token("app")
	for i := range 32 {
		if g := l.must(at(epoch, by(app, l.index, acquire(fmt.Sprint("h", i), 10_000)))).Grant; g.Worker != uint64(i) {
			t.Fatalf("acquisition %d got worker %d", i, g.Worker)
		}
	}
	l.turnedDown(commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED, at(epoch, by(app, l.index, acquire("more", 1000))))
	other := l.token("other")
	for i := range 32 {
		l.must(at(epoch, by(other, l.index, acquire(fmt.Sprint("o", i), 10_000))))
	}
	l.survives()
	if info, ok := l.LayoutInfo("tiny"); !ok || !info.Layout.Spec().LeaseOnly {
		t.Errorf("%+v is not for leases only after a restore", info)
	}
	issuing := spec
	issuing.Name, issuing.LeaseOnly = "issuing", false
	l.turnedDown(invalidArgument, at(epoch, createLayout(issuing)))
}

// TestBelow: a program whose IDs have fewer bits for the worker gets a worker that fits.
func TestBelow(t *testing.T) {
	const exhausted = commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED
	l := newLeaseLog(t, withWorkers(8))
	for i := range 20 {
		l.must(at(epoch, acquire(fmt.Sprint("h", i), 5000+100*int64(i))))
	}
	refused := l.turnedDown(exhausted, stamped(epoch, below(8, "few/0", 1000)))
	if refused.RetryAtMillis != epoch+5000 || !strings.Contains(refused.Detail, "all 8 workers below 8 are held") {
		t.Errorf("%+v", refused)
	}
	if g := l.must(stamped(epoch+4100, below(8, "few/0", 1000))).Grant; g.Worker != 0 {
		t.Errorf("got worker %d, want the one that was free first", g.Worker)
	}
	// Its last worker comes first, unless that does not fit.
	l.must(at(epoch+4200, acquire("big/0", 1000))) // worker 20
	if g := l.must(stamped(epoch+10_000, below(8, "big/0", 1000))).Grant; g.Worker >= 8 {
		t.Errorf("got worker %d, want one below 8", g.Worker)
	}
	if g := l.must(stamped(epoch+20_000, below(8, "few/0", 1000))).Grant; g.Worker != 0 {
		t.Errorf("got worker %d, want its last one, 0", g.Worker)
	}
	if g := l.must(stamped(epoch+20_000, below(250, "new/0", 1000))).Grant; g.Worker != 21 {
		t.Errorf("got worker %d, want 21, the first that was never used", g.Worker)
	}
	l.turnedDown(invalidArgument, stamped(epoch, below(maxBelow+1, "few/0", 1000)))
	l.survives()
}

// TestBelowOfAFullShare: a token with all the workers that it may have gets those of its own that fit.
func TestBelowOfAFullShare(t *testing.T) {
	const exhausted = commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED
	l := newLeaseLog(t, withWorkers(3)) // six common workers, three of them for a token
	other, greedy := l.token("other"), l.token("greedy")
	for i := range 2 {
		l.must(at(epoch, by(other, l.index, acquire(fmt.Sprint("o", i), 1000))))
	}
	for i := range 3 { // the workers 2 to 4
		l.must(at(epoch, by(greedy, l.index, acquire(fmt.Sprint("g", i), 5000))))
	}
	refused := l.turnedDown(exhausted, stamped(epoch+2000, by(greedy, l.index, below(2, "new/0", 1000))))
	if refused.RetryAtMillis != epoch+5000 || !strings.Contains(refused.Detail, "limit for one API token") {
		t.Errorf("%+v", refused)
	}
	if g := l.must(stamped(epoch+6000, by(greedy, l.index, below(3, "new/0", 1000)))).Grant; g.Worker != 2 {
		t.Errorf("got worker %d, want 2, the only one of its own below 3", g.Worker)
	}
}

// TestTokenShare: the share of a token is configurable, and a smaller one takes no worker away.
func TestTokenShare(t *testing.T) {
	for percent, part := range map[int32]int{0: 24, 1: 1, 50: 24, 75: 36, 100: 48} {
		t.Run(fmt.Sprint(percent, " percent"), func(t *testing.T) {
			l := newLeaseLog(t, withWorkers(6)) // 48 common workers
			c := DefaultConfig()
			c.TokenWorkersPercent = percent
			l.must(stamped(epoch, setConfig(c, 0)))
			app := l.token("app")
			for i := range part {
				l.must(at(epoch, by(app, l.index, acquire(fmt.Sprint("h", i), 10_000))))
			}
			l.turnedDown(commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED, at(epoch, by(app, l.index, acquire("more", 1000))))
			c = DefaultConfig()
			c.TokenWorkersPercent = 1
			l.must(stamped(epoch, setConfig(c, l.Config().GetGeneration())))
			for i := range part {
				l.must(at(epoch+20_000, by(app, l.index, acquire(fmt.Sprint("h", i), 1000))))
			}
		})
	}
	l := newLeaseLog(t)
	for _, percent := range []int32{-1, 101} {
		c := DefaultConfig()
		c.TokenWorkersPercent = percent
		l.turnedDown(invalidArgument, stamped(epoch, setConfig(c, 0)))
	}
}

// TestHolderProcess: the log keeps what a holder says of its process for its worker and for its earlier grants.
func TestHolderProcess(t *testing.T) {
	l := newLeaseLog(t, tiny)
	first := &commandv1.HolderProcess{Host: "web-1", ProcessId: "812", Kind: "worker run", Version: "1.4.0"}
	g := l.must(stamped(epoch, described(first, "a/0", 1000))).Grant
	l.must(at(epoch+100, extend(g, nonceHash('a'), g.Until, 2000)))
	l.must(stamped(epoch+5000, described(&commandv1.HolderProcess{Host: strings.Repeat("h", 128)}, "a/0", 1000)))
	l.must(at(epoch+5000, acquire("b/0", 1000)))
	l.survives()
	was, _ := l.WhoIs("tiny", 0, g.From)
	if want := (Process{"web-1", "812", "worker run", "1.4.0"}); was.Process == nil || *was.Process != want {
		t.Errorf("the earlier grant has the process %+v, want %+v", was.Process, want)
	}
	now := l.Workers("tiny", 0, 2)
	if p := now[0].Process; p == nil || len(p.Host) != 128 || p.Kind != "" {
		t.Errorf("the worker has the process %+v", p)
	}
	if now[1].Process != nil {
		t.Errorf("the worker of another holder has the process %+v", now[1].Process)
	}
	for name, p := range map[string]*commandv1.HolderProcess{
		"empty": {}, "long": {Kind: strings.Repeat("k", 129)}, "no UTF-8": {Version: "\xff"}, "a line": {ProcessId: "1\n2"},
	} {
		t.Run(name, func(t *testing.T) {
			l.t = t
			l.turnedDown(invalidArgument, stamped(epoch, described(p, "a/0", 1000)))
		})
	}
}

// TestPickEqualsSearch compares pick with a search over all workers that know no order.
func TestPickEqualsSearch(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		l := newLeaseLog(t, withWorkers(4)) // 12 common workers
		app, other := l.token("app"), l.token("other")
		now := epoch
		for range rapid.IntRange(1, 60).Draw(rt, "acquisitions") {
			now += rapid.Int64Range(0, 40).Draw(rt, "pause") * 100
			cmd := below(rapid.Uint64Max(18).Draw(rt, "below"), fmt.Sprintf("h%d/0", rapid.IntRange(0, 6).Draw(rt, "holder")), rapid.Int64Range(1, 90).Draw(rt, "window")*100)
			switch rapid.IntRange(0, 2).Draw(rt, "caller") {
			case 1:
				cmd = by(app, l.index, cmd)
			case 2:
				cmd = by(other, l.index, cmd)
			}
			cmd = stamped(now, cmd)
			tiny := l.layouts["tiny"]
			a, _ := l.wantOf(entry{now: now, cmd: cmd}, tiny)
			want, ok := searched(tiny, a, tiny.layout.TickAt(now))
			got, found := tiny.workers.pick(a, tiny.layout.TickAt(now))
			if found != ok || ok && got != want {
				rt.Fatalf("pick(%+v) = %d, %t, want %d, %t", a, got, found, want, ok)
			}
			if r := l.do(cmd); r.Err == nil && a.end < tiny.workers.size && r.Grant.Worker >= a.end {
				rt.Fatalf("got worker %d, want one below %d", r.Grant.Worker, a.end)
			}
		}
		l.survives()
	})
}

// searched chooses a worker as pick does, by reading all workers.
func searched(l *layout, a want, limit int64) (int, bool) {
	w, last, owned := &l.workers, none, 0
	for n := range w.count() {
		k := w.see(n)
		if k.owner == a.owner {
			owned++
		}
		if k.holding() == a.holding && (last == none || k.token > w.see(last).token) {
			last = n
		}
	}
	full := a.owner != 0 && owned >= a.part
	fits := func(n int) bool { return n < int(a.end) && w.see(n).highWater <= limit }
	if last != none && fits(last) {
		return last, true
	}
	own, common := none, none
	for n := range w.count() {
		k := w.see(n)
		if k.holding() == a.holding && fits(n) && (own == none || k.token < w.see(own).token) {
			own = n
		}
		if fits(n) && (!full || k.owner == a.owner) && (common == none || k.highWater < w.see(common).highWater) {
			common = n
		}
	}
	switch {
	case own != none:
		return own, true
	case !full && w.count() < int(a.end):
		return w.count(), true
	}
	return common, common != none
}
