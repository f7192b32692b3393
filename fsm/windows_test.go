package fsm

import (
	"math"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	invalidArgument  = commandv1.Refusal_REFUSAL_INVALID_ARGUMENT
	workersExhausted = commandv1.Refusal_REFUSAL_WORKERS_EXHAUSTED
	clockBehind      = commandv1.Refusal_REFUSAL_CLOCK_BEHIND
	windowMismatch   = commandv1.Refusal_REFUSAL_WINDOW_MISMATCH
	timeExhausted    = commandv1.Refusal_REFUSAL_TIME_EXHAUSTED
)

func TestAcquire(t *testing.T) {
	l := newLog(t, tiny)
	l.must(at(epoch+1000, observe(false)))
	r := l.must(at(epoch+1005, acquire("a/0", 2001)))
	if want := (Grant{Worker: 0, Token: 3, From: 100, Until: 301}); r.Grant != want || r.Observed != epoch+1000 {
		t.Errorf("%+v, want %+v", r, want)
	}
	if r := l.must(at(epoch+1005, acquire("a/0", 1))); r.Grant != (Grant{1, 4, 100, 101}) {
		t.Errorf("a second one at once: %+v", r.Grant)
	}
}

func TestAcquirePicks(t *testing.T) {
	spec := tiny
	spec.Fields = []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 30}, {Field: snowflake.FieldWorker, Bits: 2}, {Field: snowflake.FieldSequence, Bits: 4},
	}
	l := newLog(t, spec)
	take := func(now int64, holder string, want uint64) Grant {
		t.Helper()
		g := l.must(at(now, acquire(holder, 1000))).Grant
		if g.Worker != want {
			t.Fatalf("%s got worker %d, want %d", holder, g.Worker, want)
		}
		return g
	}
	take(epoch, "a/0", 0)
	take(epoch, "a/0", 1)      // never used; a's own worker is taken
	take(epoch+1000, "a/0", 1) // a's last worker
	take(epoch+1000, "b/0", 2) // never used before the oldest
	take(epoch+1000, "a/0", 0) // a's last worker is taken, the one before it is free
	take(epoch+1000, "a/0", 3) // never used; all workers of a are taken
	take(epoch+2000, "c/0", 0) // the oldest, the lowest number first
	take(epoch+2000, "a/0", 3)
	take(epoch+2000, "a/0", 1) // a's first worker; a lost worker 0
	take(epoch+2500, "d/0", 2)
	take(epoch+3000, "e/0", 0)
	take(epoch+3000, "c/0", 1) // the oldest; c lost its own
	take(epoch+3000, "a/0", 3) // a's last worker, because a lost worker 1
	take(epoch+4000, "f/0", 2) // the oldest, whatever its number
}

func TestAcquireWithinTheThreshold(t *testing.T) {
	l := newLog(t, tiny)
	a := l.must(at(epoch, acquire("a/0", 2000))).Grant
	l.must(at(epoch, acquire("b/0", 3000)))
	refused := l.refused(workersExhausted, at(epoch+990, acquire("c/0", 2000)))
	if refused.RetryAtMillis != epoch+2000 {
		t.Errorf("retry at %d, want %d", refused.RetryAtMillis, epoch+2000)
	}
	g := l.must(at(epoch+1000, acquire("c/0", 2000))).Grant
	if g.Worker != a.Worker || g.From != a.Until || g.Until != a.Until+200 {
		t.Errorf("%+v, want worker %d from %d", g, a.Worker, a.Until)
	}
	l.refused(windowMismatch, at(epoch+1000, extend(a, nonceHash('a'), a.Until, 2000)))
}

// TestAcquireEndsAtTheMaximum: the threshold may be longer than the maximum window.
func TestAcquireEndsAtTheMaximum(t *testing.T) {
	l := newLog(t, tiny)
	l.must(at(epoch, setConfig(&commandv1.Config{
		MaxWindowMs: 1000, WaitThresholdMs: 60_000, MaxClockOffsetMs: 1, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
		RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
		Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
	}, 0)))
	g := l.must(at(epoch, acquire("a/0", math.MaxInt64))).Grant
	if g.Until != 100 {
		t.Errorf("%+v, want a window of 100 ticks", g)
	}
	l.must(at(epoch, acquire("b/0", 1000)))
	l.refused(workersExhausted, at(epoch, acquire("c/0", 1000)))
	if g = l.must(at(epoch+10, acquire("c/0", 1000))).Grant; g != (Grant{0, l.index, 100, 101}) {
		t.Errorf("%+v, want the one tick that the maximum leaves", g)
	}
}

func TestAcquireRefuses(t *testing.T) {
	l := newLog(t, tiny)
	long := strings.Repeat("x", limits.NameBytes)
	l.must(at(epoch, acquire(long, 10)))
	for name, spoil := range map[string]func(*commandv1.AcquireWorker){
		"no holder":         func(c *commandv1.AcquireWorker) { c.Holder = "" },
		"a long holder":     func(c *commandv1.AcquireWorker) { c.Holder = long + "x" },
		"a space":           func(c *commandv1.AcquireWorker) { c.Holder = "a 0" },
		"a no-break space":  func(c *commandv1.AcquireWorker) { c.Holder = "a\u00a00" },
		"a control":         func(c *commandv1.AcquireWorker) { c.Holder = "a\x1b0" },
		"right to left":     func(c *commandv1.AcquireWorker) { c.Holder = "a\u202e0" },
		"no UTF-8":          func(c *commandv1.AcquireWorker) { c.Holder = "a\xff0" },
		"a reserved name":   func(c *commandv1.AcquireWorker) { c.Holder = "$a/0" },
		"no nonce":          func(c *commandv1.AcquireWorker) { c.NonceHash = nil },
		"a short nonce":     func(c *commandv1.AcquireWorker) { c.NonceHash = c.NonceHash[1:] },
		"a long nonce":      func(c *commandv1.AcquireWorker) { c.NonceHash = append(c.NonceHash, 0) },
		"no window":         func(c *commandv1.AcquireWorker) { c.WindowMs = 0 },
		"a negative window": func(c *commandv1.AcquireWorker) { c.WindowMs = math.MinInt64 },
	} {
		t.Run(name, func(t *testing.T) {
			cmd := at(epoch, acquire("é/0", 10))
			cmd.GetAcquireWorker().NonceHash = nonceHash('a')
			spoil(cmd.GetAcquireWorker())
			l.t = t
			l.refused(invalidArgument, cmd)
		})
	}
	cmd := at(epoch, acquire("a/0", 10))
	cmd.GetAcquireWorker().Layout = "other"
	l.t = t
	l.refused(commandv1.Refusal_REFUSAL_UNKNOWN_LAYOUT, cmd)
}

func TestAcquireWithAClockBehind(t *testing.T) {
	l := newLog(t, tiny)
	l.must(at(epoch+5000, observe(false)))
	l.must(at(epoch+4000, acquire("a/0", 10)))
	refused := l.refused(clockBehind, at(epoch+3999, acquire("a/0", 10)))
	if refused.BehindMillis != 1001 || refused.RetryAtMillis != epoch+4000 {
		t.Errorf("%+v", refused)
	}
	swap := &commandv1.Config{
		MaxWindowMs: 1000, WaitThresholdMs: 1000, MaxClockOffsetMs: 1, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
		RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
		Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
	}
	l.must(at(epoch, setConfig(swap, 0)))
	l.must(at(epoch, acquire("a/0", 10)))
	// Before the epoch there are no ticks, whatever the policy.
	refused = l.refused(clockBehind, at(epoch-7, acquire("a/0", 10)))
	if refused.BehindMillis != 7 || refused.RetryAtMillis != epoch {
		t.Errorf("%+v", refused)
	}
	refused = l.refused(clockBehind, at(math.MinInt64, acquire("a/0", 10)))
	if refused.BehindMillis != math.MaxInt64 {
		t.Errorf("%+v", refused)
	}
}

func TestEndOfTime(t *testing.T) {
	spec := tiny
	spec.Fields = []snowflake.FieldBits{
		{Field: snowflake.FieldTime, Bits: 7}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 1},
	}
	l := newLog(t, spec)
	g := l.must(at(epoch+1270, acquire("a/0", 2000))).Grant
	if g.Until != 128 {
		t.Fatalf("%+v, want an end at tick 128, the end of the time field", g)
	}
	l.refused(timeExhausted, at(epoch+1270, extend(g, nonceHash('a'), g.Until, 2000)))
	l.must(at(epoch+1270, acquire("b/0", 2000)))
	l.refused(timeExhausted, at(epoch+1270, acquire("c/0", 2000)))
	for _, now := range []int64{epoch + 1280, math.MaxInt64} {
		l.refused(timeExhausted, at(now, acquire("c/0", 2000)))
	}
	l.must(at(epoch+1270, release(g, nonceHash('a'), g.From)))
	if g = l.must(at(epoch+1270, acquire("c/0", 2000))).Grant; g.From != 127 || g.Until != 128 {
		t.Errorf("%+v, want the last tick", g)
	}
}

func TestExtend(t *testing.T) {
	l := newLog(t, tiny)
	g := l.must(at(epoch, acquire("a/0", 1000))).Grant
	r := l.must(at(epoch+500, extend(g, nonceHash('a'), 100, 2000)))
	if r.Grant != (Grant{g.Worker, g.Token, 0, 250}) {
		t.Errorf("%+v, want an end at 250", r.Grant)
	}
	if r = l.must(at(epoch, extend(g, nonceHash('a'), 250, 2000))); r.Grant.Until != 250 {
		t.Errorf("%+v, want no change", r.Grant)
	}
	for _, now := range []int64{epoch - 1, math.MinInt64} { // also by a clock before the epoch
		if r = l.must(at(now, extend(g, nonceHash('a'), 250, 2000))); r.Grant.Until != 250 {
			t.Errorf("%+v, want no change", r.Grant)
		}
	}
	// After the window passed, as long as no other holder acquired the worker.
	r = l.must(at(epoch+9_000_000, extend(g, nonceHash('a'), 250, math.MaxInt64)))
	if want := int64(900_000 + 60_000); r.Grant.Until != want {
		t.Errorf("%+v, want the maximum window, %d", r.Grant, want)
	}
	// The proposer's clock is far off: to the end of time, and not beyond.
	r = l.must(at(math.MaxInt64, extend(g, nonceHash('a'), r.Grant.Until, 1000)))
	if r.Grant.Until != 1<<30 {
		t.Errorf("%+v, want the end of time", r.Grant)
	}
}

func TestUntrueClaims(t *testing.T) {
	l := newLog(t, tiny)
	g := l.must(at(epoch, acquire("a/0", 1000))).Grant
	for name, spoil := range map[string]func(g *Grant, n []byte){
		"another worker":  func(g *Grant, _ []byte) { g.Worker++ },
		"a worker beyond": func(g *Grant, _ []byte) { g.Worker = math.MaxUint64 },
		"a token before":  func(g *Grant, _ []byte) { g.Token-- },
		"no token":        func(g *Grant, _ []byte) { g.Token = 0 },
		"another nonce":   func(_ *Grant, n []byte) { n[15]++ },
		"an earlier end":  func(g *Grant, _ []byte) { g.Until-- },
		"a later end":     func(g *Grant, _ []byte) { g.Until++ },
		"a hostile end":   func(g *Grant, _ []byte) { g.Until = math.MinInt64 },
	} {
		t.Run(name, func(t *testing.T) {
			l.t = t
			other, n := g, nonceHash('a')
			spoil(&other, n)
			l.refused(windowMismatch, at(epoch, extend(other, n, other.Until, 5000)))
			l.refused(windowMismatch, at(epoch, release(other, n, other.From)))
		})
	}
	l.t = t
	l.refused(windowMismatch, at(epoch, extend(g, nil, g.Until, 5000)))
	l.refused(invalidArgument, at(epoch, extend(g, nonceHash('a'), g.Until, 0)))
	for _, cmd := range []*commandv1.Command{extend(g, nonceHash('a'), g.Until, 1), release(g, nonceHash('a'), 0)} {
		if c := cmd.GetExtendWindow(); c != nil {
			c.Layout = "other"
		} else {
			cmd.GetReleaseWorker().Layout = "other"
		}
		l.refused(commandv1.Refusal_REFUSAL_UNKNOWN_LAYOUT, at(epoch, cmd))
	}
}

func TestRelease(t *testing.T) {
	l := newLog(t, tiny)
	g := l.must(at(epoch, acquire("a/0", 1000))).Grant
	for _, next := range []int64{g.From - 1, g.Until + 1, math.MinInt64, math.MaxInt64} {
		l.refused(invalidArgument, at(epoch, release(g, nonceHash('a'), next)))
	}
	l.must(at(epoch, release(g, nonceHash('a'), 30)))
	// It is released once.
	l.refused(windowMismatch, at(epoch, release(g, nonceHash('a'), 30)))
	g.Until = 30
	l.refused(windowMismatch, at(epoch, release(g, nonceHash('a'), 30)))
	l.refused(windowMismatch, at(epoch, extend(g, nonceHash('a'), 30, 1000)))
	if _, ok := l.WhoIs("tiny", g.Worker, 30); ok {
		t.Error("tick 30 still belongs to the holder that released it")
	}
	if who, ok := l.WhoIs("tiny", g.Worker, 29); !ok || who.Holder != "a/0" {
		t.Errorf("tick 29: %+v, %v", who, ok)
	}
	again := l.must(at(epoch+300, acquire("a/0", 1000))).Grant
	if again.Worker != g.Worker || again.From != 30 {
		t.Errorf("%+v, want worker %d from tick 30", again, g.Worker)
	}
}

func TestNeighborsAreTheNearestGrantsOfTheWorker(t *testing.T) {
	l := newLog(t, tiny)
	grants := make([]Grant, 3)
	other := Grant{}
	for i := range grants { // each window ends before the next begins
		now := epoch + 1000*int64(i)
		grants[i] = l.must(at(now, acquire("a/0", 100))).Grant
		other = l.must(at(now, acquire("b/0", 100))).Grant
	}
	worker := grants[0].Worker
	if grants[1].Worker != worker || grants[2].Worker != worker || other.Worker == worker {
		t.Fatalf("grants %+v and %+v, want one worker for each holder", grants, other)
	}
	for i, g := range grants {
		want := [2]uint64{}
		if i > 0 {
			want[0] = grants[i-1].Token
		}
		if i < 2 {
			want[1] = grants[i+1].Token
		}
		if previous, next := l.Neighbors("tiny", worker, g.Token); [2]uint64{previous.Token, next.Token} != want {
			t.Errorf("Neighbors(%d) = %d, %d, want %v", g.Token, previous.Token, next.Token, want)
		}
	}
	if previous, next := l.Neighbors("tiny", 99, grants[1].Token); previous.Token != 0 || next.Token != 0 {
		t.Errorf("Neighbors of an unknown worker = %+v, %+v", previous, next)
	}
}

func TestGracefulRestartsUseOneWorker(t *testing.T) {
	l := newLog(t, wide)
	for i := range int64(20) {
		g := l.must(at(epoch+100*i, acquireWide("a/0", 2000))).Grant
		if g.Worker != 0 {
			t.Fatalf("restart %d got worker %d", i, g.Worker)
		}
		cmd := release(g, nonceHash('a'), g.From+50)
		cmd.GetReleaseWorker().Layout = "default"
		l.must(at(epoch+100*i+50, cmd))
	}
}

func TestReaders(t *testing.T) {
	l := newLog(t, tiny, wide)
	l.must(at(epoch, acquire("a/0", 1000)))
	l.must(at(epoch, acquire("b/0", 2000)))
	if infos := l.Layouts(); len(infos) != 2 || infos[0].Layout.Name() != "default" || infos[1].Used != 2 || infos[1].CreatedMillis != epoch {
		t.Errorf("layouts: %+v", infos)
	}
	if info, ok := l.LayoutInfo("tiny"); !ok || info.Used != 2 {
		t.Errorf("layout: %+v, %v", info, ok)
	}
	if all := l.Workers("tiny", 0, 10); len(all) != 2 || all[0].Holder != "a/0" || all[1].Until != 200 {
		t.Errorf("workers: %+v", all)
	}
	if page := l.Workers("tiny", 1, 1); len(page) != 1 || page[0].Worker != 1 {
		t.Errorf("second page: %+v", page)
	}
	for _, none := range [][]WorkerRecord{
		l.Workers("tiny", 2, 10), l.Workers("tiny", math.MaxUint64, 10), l.Workers("tiny", 0, 0), l.Workers("tiny", 0, -1), l.Workers("x", 0, 10),
	} {
		if len(none) != 0 {
			t.Errorf("%+v, want none", none)
		}
	}
	_, info := l.LayoutInfo("x")
	_, who := l.WhoIs("x", 0, 0)
	_, beyond := l.WhoIs("tiny", 2, 0)
	if info || who || beyond {
		t.Error("something is known of what there is not")
	}
}
