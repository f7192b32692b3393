package check

import (
	"strings"
	"testing"

	"github.com/snowraft/snowraft/jepsen/history"
)

// second is a second of history time, in nanoseconds.
const second = 1_000_000_000

// scene is a history made by a test. It begins with a header. At moment t, the wall clock is sceneWall + t.
type scene struct {
	lines []history.Line
	ids   map[string][]history.Issued
}

const sceneWall = 1_800_000_000 * second

// sceneLayouts are the usual layout, one with the sequence in the middle, one with few workers, and one with a data
// center.
var sceneLayouts = map[string][]history.Field{
	"default": {{Kind: "time", Bits: 41}, {Kind: "worker", Bits: 10}, {Kind: "sequence", Bits: 12}},
	"middle":  {{Kind: "time", Bits: 39}, {Kind: "sequence", Bits: 8}, {Kind: "worker", Bits: 16}},
	"small":   {{Kind: "time", Bits: 41}, {Kind: "worker", Bits: 3}, {Kind: "sequence", Bits: 12}},
	"center":  {{Kind: "time", Bits: 41}, {Kind: "datacenter", Bits: 5}, {Kind: "worker", Bits: 5}, {Kind: "sequence", Bits: 12}},
}

func newScene(lines ...history.Line) *scene {
	s := &scene{ids: make(map[string][]history.Issued)}
	s.add(history.Line{Run: &history.Run{
		Seed: 1, Members: []string{"n1", "n2", "n3"}, WallNanos: sceneWall, WaitThresholdMillis: 1000, MaxOffsetMillis: 500,
	}})
	for name, fields := range sceneLayouts {
		s.add(history.Line{Layout: &history.Layout{Name: name, Fields: fields, UnitMillis: 1, EpochMillis: sceneWall/1e6 - 1000}})
	}
	s.add(lines...)
	return s
}

func (s *scene) add(lines ...history.Line) { s.lines = append(s.lines, lines...) }

func (s *scene) ops(ops ...history.Op) *scene {
	for _, op := range ops {
		s.add(history.Line{Op: &op})
	}
	return s
}

func (s *scene) status(all ...history.Status) *scene {
	s.add(statuses(all...)...)
	return s
}

func (s *scene) issue(layout string, all ...history.Issued) *scene {
	s.ids[layout] = append(s.ids[layout], all...)
	return s
}

// write writes the files of the history to dir. The IDs of a layout are in two files.
func (s *scene) write(t testing.TB, dir string) {
	t.Helper()
	j, err := history.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range s.lines {
		j.Add(l)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for layout, all := range s.ids {
		for number, part := range [][]history.Issued{all[:len(all)/2], all[len(all)/2:]} {
			w, err := history.CreateIDs(dir, layout, number)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range part {
				w.Add(i)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (s *scene) open(t testing.TB) *Run {
	t.Helper()
	dir := t.TempDir()
	s.write(t, dir)
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wants fails the test unless the verdict has the outcome and its failures contain each of texts.
func wants(t *testing.T, v Verdict, outcome Outcome, texts ...string) {
	t.Helper()
	if v.Outcome != outcome {
		t.Errorf("outcome = %s, want %s: %s: %q", v.Outcome, outcome, v.Summary, v.Failures)
	}
	all := strings.Join(v.Failures, "\n")
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("failures = %q, want them to contain %q", v.Failures, text)
		}
	}
	if v.Outcome == Pass && len(v.Failures) > 0 {
		t.Errorf("passed with failures %q, want none", v.Failures)
	}
	if v.Checker == "" || v.Summary == "" {
		t.Errorf("verdict = %+v, want a checker's name and a summary", v)
	}
}
