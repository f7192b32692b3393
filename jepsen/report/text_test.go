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

// A run that stopped before its first operation also gets a report.
func TestTextOfNothing(t *testing.T) {
	t.Parallel()
	golden(t, "nothing", text(t, written(t, header()), nil))
}

func TestTextFirstLine(t *testing.T) {
	t.Parallel()
	r := written(t, header())
	pass, fail, invalid := check.Verdict{Checker: "order", Outcome: check.Pass}, check.Verdict{Checker: "containment", Outcome: check.Fail}, check.Verdict{Checker: "vacuity", Outcome: check.Invalid}
	for want, verdicts := range map[string][]check.Verdict{
		"PASS: all promises kept according to 2 checkers":                  {pass, pass},
		"PASS: all promises kept according to 1 checker":                   {pass},
		"FAIL: promises broken: containment":                               {pass, fail},
		"FAIL: promises broken: containment; not enough evidence: vacuity": {invalid, fail},
		"INVALID: not enough evidence: vacuity":                            {pass, invalid},
		"INVALID: no checker ran":                                          nil,
		"INVALID: not enough evidence: unknown outcome":                    {{Checker: "unknown outcome", Outcome: "great"}},
	} {
		if got, _, _ := strings.Cut(text(t, r, verdicts), "\n"); got != want {
			t.Errorf("first line = %q, want %q", got, want)
		}
	}
}

func TestTextFitsATerminal(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(text(t, handMade(t), verdicts())) {
		if len([]rune(line)) > 101 || strings.ContainsAny(line, "\x1b\r\t") {
			t.Errorf("line %q, want at most 100 printable columns", line)
		}
	}
}

func TestWriteRejectsUnreadableOperations(t *testing.T) {
	t.Parallel()
	r := handMade(t)
	f, err := os.OpenFile(filepath.Join(r.Dir, "history.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"op":`)
	f.Close()
	if err := report.Write(io.Discard, r, verdicts()); err == nil {
		t.Error("Write() of a truncated history = nil, want an error")
	}
}
