package fsm

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/internal/test/seed"
)

// states adds the operator's statement about formats to a command that resumes a sequence.
func states(cmd *commandv1.Command, formats ...string) *commandv1.Command {
	cmd.GetResumeSequence().FormatsStated, cmd.GetResumeSequence().Formats = true, formats
	return cmd
}

// textLife is a cluster with one name, whose operators and proposers act as those of members do: they change to no format that can
// write a number as an earlier one, and only while all formats of the name are known. All lives of the cluster issue no text twice.
type textLife struct {
	*log
	began []string // formats that the name got in this life since the last backup
}

// textFormats write texts of two kinds. Two of one kind can write two numbers alike.
var textFormats = []string{"A{seq}", "A{seq:hex}", "A1{seq}", "B{seq}", "B{seq:hex}"}

func alikeTexts(a, b string) bool { return a != b && a[0] == b[0] }

func writeText(format string, n int64) string {
	switch format[1:] {
	case "{seq:hex}":
		return fmt.Sprintf("%c%x", format[0], n)
	case "1{seq}":
		return fmt.Sprintf("%c1%d", format[0], n)
	}
	return fmt.Sprintf("%c%d", format[0], n)
}

// accepts reports whether a proposer accepts a new format of the name.
func (l textLife) accepts(format string) bool {
	q, ok := l.Remembered("v")
	if !ok {
		return true
	}
	if l.Restored() != nil && !q.FormatsStated || q.Frozen {
		return false
	}
	return (q.Deleted || !alikeTexts(q.Spec.GetFormat(), format)) && !slices.ContainsFunc(q.Formats(), func(w Written) bool { return alikeTexts(w.Format, format) })
}

// No two lives issue one text. Formats change before and after the backup. The second life learns the formats
// since the backup from its operator, or keeps the format of the backup.
func TestTextsOfAllLivesDiffer(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		l := textLife{log: newCodeLog(t)}
		issued, last, life := map[string]string{}, int64(0), 1
		var backup []byte
		changed := func(format string) { l.began = append(l.began, format) }
		draw := rapid.SampledFrom(textFormats)
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(rt *rapid.T) {
				format := draw.Draw(rt, "format")
				_, known := l.Remembered("v")
				if _, live := l.Sequence("v"); live || !l.accepts(format) || life > 1 && !known {
					rt.Skip()
				}
				spec := written("v", format)
				spec.Start = last + 1
				l.must(create(spec, 0))
				changed(format)
			},
			"change": func(rt *rapid.T) {
				format := draw.Draw(rt, "format")
				q, live := l.Sequence("v")
				if !live || !l.accepts(format) {
					rt.Skip()
				}
				spec := written("v", format)
				spec.Start = q.Spec.GetStart()
				l.must(change(spec, q.Generation))
				changed(format)
			},
			"take": func(rt *rapid.T) {
				q, live := l.Sequence("v")
				if !live || q.Frozen {
					rt.Skip()
				}
				last = l.take("v", 1, 0).First
				text := writeText(q.Spec.GetFormat(), last)
				if was, again := issued[text]; again {
					rt.Fatalf("%q of %d in %q was issued before: %s", text, last, q.Spec.GetFormat(), was)
				}
				issued[text] = fmt.Sprintf("%d in %q of life %d", last, q.Spec.GetFormat(), life)
			},
			"delete": func(rt *rapid.T) {
				if q, live := l.Sequence("v"); !live || q.Frozen {
					rt.Skip()
				}
				l.must(remove("v"))
			},
			"back up": func(rt *rapid.T) {
				if life > 1 {
					rt.Skip()
				}
				backup, l.began = snapshotBytes(t, l.State), nil
			},
			"restore": func(rt *rapid.T) {
				if backup == nil || life > 1 {
					rt.Skip()
				}
				after := l.index
				l.State = mustRead(t, backup)
				r := restoration(l.State)
				r.Index = l.FirstIndex(after, r.NowMillis, r.OldEndedMillis)
				if err := l.Restore(r); err != nil {
					rt.Fatal(err)
				}
				l.index, life = r.Index, 2
				if _, known := l.Remembered("v"); known {
					l.must(acknowledge(l.Restored().GetIndex()))
				}
			},
			"resume": func(rt *rapid.T) {
				q, ok := l.Remembered("v")
				if !ok || !q.Frozen {
					rt.Skip()
				}
				l.must(resume("v", q.Generation, new(max(last, q.Next-1)), 0))
			},
			"state": func(rt *rapid.T) {
				if q, ok := l.Remembered("v"); ok && life > 1 && !q.Frozen && !q.FormatsStated {
					l.must(states(resume("v", q.Generation, nil, 0), l.began...))
				}
			},
			"read again": func(*rapid.T) { l.State = mustRead(t, snapshotBytes(t, l.State)) },
		})
	})
}

func TestStatedFormats(t *testing.T) {
	l := newCodeLog(t)
	for _, name := range []string{"live", "gone", "later"} {
		l.must(create(written(name, "A{seq}"), 0))
		l.take(name, 1, 0)
	}
	l.must(remove("gone"))
	l.refused(commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, states(resume("live", l.seq("live").Generation, nil, 0)))
	l.restore(nil)
	generation := func(name string) uint64 { return l.RememberedGeneration(name) }
	for name, cmd := range map[string]*commandv1.Command{
		"no number":    states(resume("live", generation("live"), nil, 0)),
		"no statement": {Body: &commandv1.Command_ResumeSequence{ResumeSequence: &commandv1.ResumeSequence{Name: "live", Generation: generation("live"), Margin: 9, Formats: []string{"B{seq}"}}}},
		"empty":        states(resume("live", generation("live"), nil, 9), ""),
		"too long":     states(resume("live", generation("live"), nil, 9), string(bytes.Repeat([]byte{'a'}, maxFormatBytes+1))),
		"too many":     states(resume("live", generation("live"), nil, 9), make([]string, MaxFormats+1)...),
		"of a period":  states(resumePeriod(20250101, resume("live", generation("live"), nil, 9))),
	} {
		if r := l.do(cmd); reasonOf(r) != commandv1.Refusal_REFUSAL_INVALID_ARGUMENT {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	if q := l.must(states(resume("live", generation("live"), new(int64(9)), 0), "B{seq}", "B{seq}")).Sequence; q.Next != 10 || !q.FormatsStated || len(q.Formats()) != 1 {
		t.Errorf("%+v", q)
	}
	numbering := l.seq("live").Numbering
	if q := l.must(states(resume("live", generation("live"), nil, 0), "C{seq}")).Sequence; q.Numbering != numbering || len(q.Formats()) != 2 {
		t.Errorf("the statement alone changes %+v", q)
	}
	l.must(resume("gone", generation("gone"), new(int64(9)), 0))
	if q := l.must(states(resume("gone", generation("gone"), nil, 0))).Sequence; !q.Deleted || !q.FormatsStated {
		t.Errorf("%+v", q)
	}
	l.survives()
	l.must(create(plain("gone", numbers(10, 1, 1, 100)), 0))
	if q := l.seq("gone"); !q.FormatsStated || len(q.Formats()) != 1 {
		t.Errorf("created again: %+v", q)
	}
	l.must(acknowledge(l.Restored().GetIndex()))
	l.must(create(plain("new"), 0))
	if l.seq("new").FormatsStated || l.seq("later").FormatsStated {
		t.Error("formats are known without a statement")
	}
	l.restore(nil)
	if l.seq("live").FormatsStated {
		t.Error("a second restore trusts the statement of the first one")
	}
	if v := MinVersion(states(resume("live", 1, nil, 0))); v != DocumentVersion {
		t.Errorf("the statement needs version %d", v)
	}
}

// A statement is refused that the state has no room for.
func TestTooManyStatedFormats(t *testing.T) {
	l := newCodeLog(t)
	l.must(create(written("v", "A{seq}"), 0))
	l.restore(nil)
	l.maxAllFormats = 1
	l.refused(commandv1.Refusal_REFUSAL_LIMIT_REACHED, states(resume("v", l.seq("v").Generation, nil, 9), "B{seq}", "C{seq}"))
	l.must(states(resume("v", l.seq("v").Generation, nil, 9), "B{seq}"))
}

// Sequences that begin with a template in a restored cluster continue those of the earlier one, so a change of the format suspends it.
func TestFormatOfATemplateSuspendsIt(t *testing.T) {
	l := newTemplateLog(t)
	l.restore(nil)
	l.must(acknowledge(l.Restored().GetIndex()))
	l.must(resumeTemplate("t/a*", l.template("t/a*").Generation, 150))
	spec := templateOf("t/a*", numbers(100, 1, 1, 200))
	spec.Quota = 7
	if got := l.must(updateTemplate(spec, l.template("t/a*").Generation)).Template; got.Suspended {
		t.Errorf("another quota suspends %+v", got)
	}
	spec.Settings.Format = "B{seq}"
	if got := l.must(updateTemplate(spec, l.template("t/a*").Generation)).Template; !got.Suspended || got.Start != nil {
		t.Errorf("another format does not suspend %+v", got)
	}
}
