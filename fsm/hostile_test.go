package fsm

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// TestHostileValues applies every extreme value to every command: no panic, no grant
// outside the layout, and a state that can be restored.
func TestHostileValues(t *testing.T) {
	extremes := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, epoch - 1, epoch, epoch + 10, math.MaxInt64 - 1, math.MaxInt64}
	specs := []snowflake.Spec{tiny, wide}
	for _, e := range []int64{math.MinInt64 / 2, -epoch, 0} {
		spec := tiny
		spec.EpochMillis, spec.UnitMillis = e, 3_600_000
		spec.Fields = []snowflake.FieldBits{
			{Field: snowflake.FieldTime, Bits: 61}, {Field: snowflake.FieldWorker, Bits: 1}, {Field: snowflake.FieldSequence, Bits: 1},
		}
		specs = append(specs, spec)
	}
	for _, spec := range specs {
		l := newLog(t, spec)
		l.must(at(epoch, setConfig(&commandv1.Config{
			MaxWindowMs: limits.MaxWindow.Milliseconds(), WaitThresholdMs: limits.MaxThreshold.Milliseconds(), MaxClockOffsetMs: 1,
			Rollback:    commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
			RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
			Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
		}, 0)))
		ticks := int64(snowflakeOf(t, spec).Ticks())
		check := func(r Result) Grant {
			g := r.Grant
			if r.Halted != nil || r.Err == nil && (g.From < 0 || g.From > g.Until || g.Until > ticks) {
				t.Fatalf("%s: %+v", spec.Name, r)
			}
			return g
		}
		for _, now := range extremes {
			for _, x := range extremes {
				cmd := at(now, acquire("a/0", x))
				cmd.GetAcquireWorker().Layout = spec.Name
				g := check(l.do(cmd))
				for _, y := range []int64{x, g.From, g.Until} {
					ext, rel := at(now, extend(g, nonceHash('a'), y, x)), at(now, release(g, nonceHash('a'), y))
					ext.GetExtendWindow().Layout, rel.GetReleaseWorker().Layout = spec.Name, spec.Name
					check(l.do(ext))
					check(l.do(rel))
				}
				check(l.do(at(now, observe(x > 0))))
			}
		}
		back, err := ReadState(readerOf(snapshotBytes(t, l.State)), Version)
		if err != nil || back.Digest() != l.Digest() {
			t.Errorf("%s: restored: %v", spec.Name, err)
		}
	}
}

func snowflakeOf(t *testing.T, spec snowflake.Spec) *snowflake.Layout {
	t.Helper()
	l, err := snowflake.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestIndexesGrow(t *testing.T) {
	l := newLog(t, tiny)
	l.must(at(epoch, acquire("a/0", 1000)))
	before := l.Digest()
	if r := l.Apply(l.index, 0, at(epoch, acquire("b/0", 1000))); r.Halted == nil || r.Failure() == nil || l.Digest() != before {
		t.Errorf("the same index again returned %+v", r)
	}
}

func FuzzRestore(f *testing.F) {
	f.Add(snapshotBytes(f, NewState()))
	f.Add(snapshotBytes(f, sample(f)))
	f.Add(snapshotBytes(f, sampleSequences(f)))
	f.Add(snapshotBytes(f, sampleTokens(f)))
	f.Add(snapshotBytes(f, sampleRestored(f)))
	f.Add(snapshotBytes(f, newLog(f, tiny, wide).State))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, in := range [][]byte{data, checksummed(data)} {
			s, err := ReadState(bytes.NewReader(in), Version)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnknownCommand) {
					t.Errorf("an error of no kind: %v", err)
				}
				continue
			}
			if !bytes.Equal(snapshotBytes(t, s), in) {
				t.Error("accepted what it does not write")
			}
			l := &log{State: s, t: t, index: 1 << 62}
			l.do(at(epoch+5000, acquire("a/0", 1000)))
			for _, q := range l.Frozen("", 10) {
				l.do(resume(q.Spec.GetName(), q.Generation, nil, 5))
			}
			for _, q := range l.Sequences("", "", 10) {
				name := q.Spec.GetName()
				l.do(withID(allocate(name, q.Generation, 5, q.Period), "request-1"))
				b := l.do(allocate(name, q.Generation, 5, max(q.Period, 20300101)))
				l.do(giveBack(name, b.Block.Token, 2))
				l.do(change(q.Spec, q.Generation))
				l.do(remove(name))
				l.do(create(q.Spec, q.Period))
			}
			for _, r := range l.Tokens(0, 10) {
				l.do(by(r.ID, l.index, updateToken(r.ID, r.Generation, "a")))
				l.do(deleteToken(r.ID))
				l.do(createToken("t"))
			}
			l.do(updateToken(0, l.tokens.anonymous.Generation))
			if _, err := ReadState(readerOf(snapshotBytes(t, l.State)), math.MaxUint32); err != nil {
				t.Error(err)
			}
		}
	})
}
