package report_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/jepsen/check"
	"github.com/snowraft/snowraft/jepsen/report"
)

func text(t *testing.T, r *check.Run, verdicts []check.Verdict) string {
	t.Helper()
	var b strings.Builder
	if err := report.Write(&b, r, verdicts); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), r.Dir, "RUN")
}

func TestText(t *testing.T) {
	t.Parallel()
	golden(t, "text", text(t, handMade(t), verdicts()))
}

// A run that ended before anything began is shown as well: somebody has to see why.
func TestTextOfNothing(t *testing.T) {
	t.Parallel()
	golden(t, "nothing", text(t, written(t, header()), nil))
}

func TestFirstLine(t *testing.T) {
	t.Parallel()
	r := written(t, header())
	pass, fail, invalid := check.Verdict{Checker: "order", Outcome: check.Pass}, check.Verdict{Checker: "containment", Outcome: check.Fail}, check.Verdict{Checker: "vacuity", Outcome: check.Invalid}
	for want, verdicts := range map[string][]check.Verdict{
		"PASS: all promises were kept, say 2 checkers":                     {pass, pass},
		"PASS: all promises were kept, say 1 checker":                      {pass},
		"FAIL: promises were broken: containment":                          {pass, fail},
		"FAIL: promises were broken: containment; not shown: vacuity":      {invalid, fail},
		"INVALID: the run doesn't show enough: vacuity":                    {pass, invalid},
		"INVALID: no checker looked at the run":                            nil,
		"INVALID: the run doesn't show enough: an outcome that is unknown": {{Checker: "an outcome that is unknown", Outcome: "great"}},
	} {
		if got, _, _ := strings.Cut(text(t, r, verdicts), "\n"); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestTextFitsATerminal(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(text(t, handMade(t), verdicts())) {
		if len([]rune(line)) > 101 || strings.ContainsAny(line, "\x1b\r\t") {
			t.Errorf("%q", line)
		}
	}
}

func TestUnreadableOperations(t *testing.T) {
	t.Parallel()
	r := handMade(t)
	f, err := os.OpenFile(filepath.Join(r.Dir, "history.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"op":`)
	f.Close()
	if err := report.Write(io.Discard, r, verdicts()); err == nil {
		t.Error("reports of half a history")
	}
}
