package fsm

import (
	"bytes"
	"testing"

	"github.com/snowraft/snowraft/internal/position"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// newOffice returns a log of fsm_version 2 under a first leadership, in term 1.
func newOffice(t testing.TB) *log {
	l := newLog(t, tiny)
	l.term = 1
	l.must(raise(2))
	l.must(lead('a'))
	l.must(at(epoch+1000, observe(false)))
	return l
}

func leadNonce(b byte) [nonceBytes]byte { return [nonceBytes]byte(bytes.Repeat([]byte{b}, nonceBytes)) }

func lead(b byte) *commandv1.Command {
	nonce := leadNonce(b)
	return &commandv1.Command{Version: 2, Body: &commandv1.Command_Lead{Lead: &commandv1.Lead{Nonce: nonce[:]}}}
}

// elect begins a leadership in the next term.
func (l *log) elect(b byte) {
	l.t.Helper()
	l.term++
	l.must(lead(b))
}

// fork returns a copy of the log, like a copy of the data directory.
func (l *log) fork() *log {
	l.t.Helper()
	s, err := ReadState(bytes.NewReader(snapshotBytes(l.t, l.State)), Version)
	if err != nil {
		l.t.Fatal(err)
	}
	return &log{State: s, t: l.t, index: l.index, term: l.term}
}

// run appends n observations of the clock, and returns the position after the last.
func (l *log) run(n int) position.Position {
	l.t.Helper()
	for range n {
		l.must(at(epoch+1000+int64(l.index), observe(false)))
	}
	return l.position()
}

// TestJudge compares positions of one branch with the history of another. Both branches begin with the same copy.
func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		branches func(a, b *log) // the position is from a
		want     Verdict
	}{
		"the same history":                            {func(a, b *log) { a.run(3); b.run(3) }, Consistent},
		"an earlier point":                            {func(a, b *log) { a.run(3); b.run(3); b.elect('b'); b.run(9) }, Consistent},
		"a replica that lags":                         {func(a, _ *log) { a.run(3) }, Unknown},
		"a replica that lags in a leadership":         {func(a, _ *log) { a.elect('b') }, Missing},
		"the same term twice":                         {func(a, b *log) { a.elect('b'); b.elect('c') }, SetBack},
		"the same term twice, the second longer":      {func(a, b *log) { a.elect('b'); a.run(3); b.elect('c'); b.run(9) }, SetBack},
		"the same term twice, the second shorter":     {func(a, b *log) { a.elect('b'); a.run(9); b.elect('c'); b.run(3) }, Missing},
		"the leadership ended earlier":                {func(a, b *log) { a.run(9); b.run(2); b.elect('c') }, SetBack},
		"the leadership ended earlier, and later":     {func(a, b *log) { a.run(9); b.run(2); b.elect('c'); b.run(20) }, SetBack},
		"other commands of one leadership":            {func(a, b *log) { a.must(at(epoch, createLayout(wide))); a.run(2); b.run(9) }, SetBack},
		"a clock where there is another command":      {func(a, b *log) { a.run(1); b.must(at(epoch, createLayout(wide))); b.run(3) }, SetBack},
		"a command after the last clock in common":    {func(a, b *log) { a.must(at(epoch, createLayout(wide))); b.run(1) }, Consistent},
		"more entries and clocks than are remembered": {func(a, b *log) { a.elect('b'); b.elect('c'); b.run(maxClocks + 99) }, SetBack},
		"an earlier life": {func(_, b *log) {
			b.restore(nil)
			b.run(2)
		}, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			a := newOffice(t)
			b := a.fork()
			test.branches(a, b)
			verdict, reason := b.judge(a.position())
			if verdict != test.want || (reason == "") != (verdict == Consistent || verdict == Unknown) {
				t.Errorf("verdict %d %q about %+v at index %d, want %d", verdict, reason, a.position(), b.index, test.want)
			}
		})
	}
}

// TestJudgeBeforeFirstLeadership takes the copies before the upgrade, which begins the lineage.
func TestJudgeBeforeFirstLeadership(t *testing.T) {
	a, b := newLog(t, tiny), newLog(t, tiny)
	if verdict, _ := b.judge(a.position()); verdict != Consistent {
		t.Errorf("verdict %d at fsm_version 1, want %d", verdict, Consistent)
	}
	a.must(raise(2))
	a.must(lead('a'))
	p := a.run(1)
	if verdict, _ := b.judge(p); verdict != Missing {
		t.Errorf("verdict %d of fsm_version 1 about a later position, want %d", verdict, Missing)
	}
	for range 9 {
		b.must(at(epoch, observe(false)))
	}
	if verdict, _ := b.judge(p); verdict != SetBack {
		t.Errorf("verdict %d of fsm_version 1 about an earlier position, want %d", verdict, SetBack)
	}
	b.must(raise(2))
	b.elect('b')
	if verdict, _ := b.judge(p); verdict != SetBack {
		t.Errorf("verdict %d about a leadership before the first, want %d", verdict, SetBack)
	}
}

// TestForgottenLeadershipIsUnknown takes more elections than the state remembers.
func TestForgottenLeadershipIsUnknown(t *testing.T) {
	l := newOffice(t)
	first := l.position()
	l.run(1)
	for i := range maxLeaderships {
		l.elect(byte(1 + i%200))
	}
	if n := len(l.lineage.leaderships); n != maxLeaderships {
		t.Fatalf("%d leaderships, want %d", n, maxLeaderships)
	}
	if verdict, _ := l.judge(first); verdict != Unknown {
		t.Errorf("verdict %d about a forgotten leadership, want %d", verdict, Unknown)
	}
	first.Hash[0]++
	if verdict, _ := l.judge(first); verdict != SetBack {
		t.Errorf("verdict %d about another hash under a forgotten leadership, want %d", verdict, SetBack)
	}
	l.survives()
}

// TestLeadRepeated sends a Lead again, like a leader that got no answer.
func TestLeadRepeated(t *testing.T) {
	l := newOffice(t)
	l.must(lead('a'))
	if n := len(l.lineage.leaderships); n != 1 {
		t.Errorf("%d leaderships after a repetition, want 1", n)
	}
	l.elect('a')
	if n := len(l.lineage.leaderships); n != 2 {
		t.Errorf("%d leaderships after another term, want 2", n)
	}
	for _, nonce := range [][]byte{nil, make([]byte, nonceBytes), make([]byte, 15)} {
		cmd := lead('b')
		cmd.GetLead().Nonce = nonce
		if r := l.do(cmd); r.Err == nil || r.Err.Reason != commandv1.Refusal_REFUSAL_INVALID_ARGUMENT {
			t.Errorf("nonce %x: %v", nonce, r.Err)
		}
	}
}

// TestFirstVersionHasNoLineage shows that earlier programs can read what this one writes before the upgrade.
func TestFirstVersionHasNoLineage(t *testing.T) {
	l := newLog(t, tiny)
	l.refused(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW, lead('a'))
	l.refused(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW, seal(nil))
	l.must(at(epoch, observe(false)))
	if _, err := ReadState(bytes.NewReader(snapshotBytes(t, l.State)), 1); err != nil {
		t.Error(err)
	}
	if p := l.position(); p != (position.Position{Index: l.index}) {
		t.Errorf("position %+v, want the index alone", p)
	}
}

// TestPosition reads the position of a machine.
func TestPosition(t *testing.T) {
	l := newOffice(t)
	clock := l.index
	end := l.must(at(epoch+1000, acquire("a/0", 2000))).Grant.Until
	m := New(Options{})
	m.install(l.State)
	got := m.Position()
	want := position.Position{Index: l.index, Nonce: leadNonce('a'), HashIndex: clock, Hash: l.lineage.clocks[0].hash, WindowEnd: l.layouts["tiny"].layout.MillisAt(end)}
	if got != want || got.Hash == noNonce {
		t.Errorf("position %+v, want %+v", got, want)
	}
	if back := l.fork().position(); back != want {
		t.Errorf("position after a snapshot: %+v, want %+v", back, want)
	}
	if verdict, _ := m.Judge(got); verdict != Consistent {
		t.Errorf("verdict %d about the own position", verdict)
	}
}
