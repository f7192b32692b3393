package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/internal/test/seed"
)

// written returns the specification of a sequence with a format.
func written(name, format string) *commandv1.SequenceSpec {
	return plain(name, func(s *commandv1.SequenceSpec) { s.Format = format })
}

// Each format in which a number was granted is the present one of the name or an earlier one, whatever changes, deletions, creations
// and snapshots happen. No format is among the earlier ones that the name never had.
func TestEarlierFormatsAreKept(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		l := newCodeLog(t)
		granted, had, present, next := map[string]bool{}, map[string]bool{}, "", int64(1)
		live := false
		draw := rapid.StringMatching(`[A-D]\{seq\}`)
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(rt *rapid.T) {
				if live {
					rt.Skip()
				}
				spec := written("v", draw.Draw(rt, "format"))
				spec.Start = next
				l.must(create(spec, 0))
				live, present = true, spec.GetFormat()
			},
			"change": func(rt *rapid.T) {
				if !live {
					rt.Skip()
				}
				spec := l.seq("v").Spec
				spec.Format = draw.Draw(rt, "format")
				l.must(change(spec, l.seq("v").Generation))
				present = spec.GetFormat()
			},
			"take": func(rt *rapid.T) {
				if !live {
					rt.Skip()
				}
				granted[present], next = true, l.take("v", 1, 0).First+1
			},
			"delete": func(rt *rapid.T) {
				if !live {
					rt.Skip()
				}
				l.must(remove("v"))
				live = false
			},
			"read again": func(*rapid.T) { l.survives() },
			"": func(rt *rapid.T) {
				q, ok := l.Remembered("v")
				if !ok {
					return
				}
				had[present] = true
				for format := range granted {
					if !slices.Contains(q.Formats(), Written{Format: format}) && (format != present || !live) {
						rt.Fatalf("the format %q of a granted number is forgotten: %v", format, q.Formats())
					}
				}
				for _, w := range q.Formats() {
					if !had[w.Format] {
						rt.Fatalf("%q was never a format of the name", w.Format)
					}
				}
			},
		})
	})
}

func TestTooManyFormats(t *testing.T) {
	l := newCodeLog(t)
	l.must(create(written("v", "A{seq}"), 0))
	l.take("v", 1, 0)
	format := func(i int) *commandv1.Command {
		spec := l.seq("v").Spec
		spec.Format = fmt.Sprintf("%d-{seq}", i)
		return change(spec, l.seq("v").Generation)
	}
	for i := range MaxFormats {
		l.must(format(i))
	}
	l.refused(commandv1.Refusal_REFUSAL_LIMIT_REACHED, format(MaxFormats))
	l.must(format(MaxFormats - 1))
	l.must(remove("v"))
	l.survives()
	if q, _ := l.DeletedSequence("v"); len(q.Formats()) != MaxFormats+1 || q.Forgotten {
		t.Errorf("%d formats of the deleted sequence", len(q.Formats()))
	}

	l = newCodeLog(t)
	l.maxAllFormats = 1
	for _, name := range []string{"a", "b"} {
		l.must(create(written(name, "A{seq}"), 0))
		l.take(name, 1, 0)
	}
	l.must(change(written("a", "B{seq}"), l.seq("a").Generation))
	l.refused(commandv1.Refusal_REFUSAL_LIMIT_REACHED, change(written("b", "B{seq}"), l.seq("b").Generation))
}

// An earlier fsm_version keeps no formats, and its records are forgotten ones.
func TestFormatsOfEarlierVersions(t *testing.T) {
	l := newLog(t)
	l.must(create(written("v", "A{seq}"), 0))
	l.take("v", 1, 0)
	l.must(change(written("v", "B{seq}"), l.seq("v").Generation))
	if q := l.seq("v"); len(q.Formats()) != 0 {
		t.Errorf("%v", q.Formats())
	}
	l.must(remove("v"))
	l.must(raise(DocumentVersion))
	if q, ok := l.DeletedSequence("v"); !ok || !q.Forgotten {
		t.Errorf("%+v, %v", q, ok)
	}
	l.survives()
}

// A request on demand, which has no format, does not begin a name again whose texts had one.
func TestOnDemandOverFormats(t *testing.T) {
	l := newCodeLog(t)
	l.must(setConfig(&commandv1.Config{
		MaxWindowMs: 600_000, WaitThresholdMs: 1000, MaxClockOffsetMs: 500, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
		RedisCreate: commandv1.AutoCreate_AUTO_CREATE_STRICT, Upgrades: commandv1.Upgrades_UPGRADES_AUTO,
	}, 0))
	for name, format := range map[string]string{"coded": "{seq}-", "decimal": ""} {
		spec := written(name, format)
		spec.Start, spec.Increment, spec.Min = -1, -1, -100
		l.must(create(spec, 0))
		l.take(name, 1, 0)
		l.must(remove(name))
		r := l.do(onDemand(create(plain(name), 0)))
		if refused := format != ""; refused != (reasonOf(r) == commandv1.Refusal_REFUSAL_WOULD_REPEAT) {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}

func TestMergedFormats(t *testing.T) {
	l := newCodeLog(t)
	l.must(create(written("v", "A{seq}"), 0))
	l.take("v", 1, 0)
	b := l.branches()
	b[0].must(change(written("v", "B{seq}"), b[0].seq("v").Generation))
	b[1].must(change(written("v", "C{seq}"), b[1].seq("v").Generation))
	merged(t, b, func(t *testing.T, l *log) {
		q, _ := l.Remembered("v")
		for _, format := range []string{"A{seq}", "B{seq}", "C{seq}"} {
			if format != q.Spec.GetFormat() && !slices.Contains(q.Formats(), Written{Format: format}) {
				t.Errorf("%q is forgotten: %v", format, q.Formats())
			}
		}
	})
}

func TestSnapshotsOfFormats(t *testing.T) {
	l := newCodeLog(t)
	l.must(create(written("v", "A{seq}"), 0))
	l.take("v", 1, 0)
	l.must(change(written("v", "B{seq}"), l.seq("v").Generation))
	l.survives()
	digest := l.Digest()
	s := mustRead(t, snapshotBytes(t, l.State))
	q, _ := s.sequences.live.Get("v")
	if q.setEarlier(nil); s.Digest() == digest {
		t.Error("the digest does not cover the earlier formats")
	}
	for name, edit := range map[string]func(q *commandv1.SnapshotSequence){
		"twice":    func(q *commandv1.SnapshotSequence) { q.Formats = append(q.Formats, q.GetFormats()[0]) },
		"too long": func(q *commandv1.SnapshotSequence) { q.Formats[0].Format = string(make([]byte, 257)) },
		"no day":   func(q *commandv1.SnapshotSequence) { q.Formats[0].YearStarts = 1232 },
		"too many": func(q *commandv1.SnapshotSequence) {
			for i := range maxReadFormats {
				q.Formats = append(q.Formats, &commandv1.SnapshotFormat{Format: fmt.Sprint(i, "{seq}")})
			}
		},
	} {
		data := reseal(t, snapshotBytes(t, l.State), func(r []*commandv1.SnapshotRecord) []*commandv1.SnapshotRecord {
			for _, record := range r {
				if record.GetSequence() != nil {
					edit(record.GetSequence())
				}
			}
			return r
		})
		if s, err := ReadState(bytes.NewReader(data), Version); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, %v", name, s != nil, err)
		}
	}
}

// A format counts in which no number was written: a backup may have it, and a restored cluster then writes numbers in it.
func TestUnusedFormatsAreKept(t *testing.T) {
	l := newCodeLog(t)
	l.must(create(written("v", "A{seq}"), 0))
	l.must(change(written("v", "B{seq}"), l.seq("v").Generation))
	l.must(remove("v"))
	if q, _ := l.Remembered("v"); !slices.Equal(q.Formats(), []Written{{Format: "A{seq}"}, {Format: "B{seq}"}}) {
		t.Errorf("%v", q.Formats())
	}
}
