package report

import (
	"io"
	"os"
	"path/filepath"

	"github.com/snowraft/snowraft/jepsen/check"
)

// Names of the reports in a run's directory.
const (
	PageName = "report.html"
	TextName = "report.txt"
)

// Write writes a run's reports into its directory and replaces earlier ones. It also writes the text to w.
//
//   - The text has the overall verdict in the first line, then the verdicts of the checkers, then counts of events.
//   - The page shows the events over the time of the run. It needs no other file and no network. It links the
//     pictures of the order checker in the run's directory.
//
// Write fails if the operations cannot be read.
func Write(w io.Writer, r *check.Run, verdicts []check.Verdict) error {
	d, err := read(r, verdicts)
	if err != nil {
		return err
	}
	if err := d.html(filepath.Join(r.Dir, PageName)); err != nil {
		return err
	}
	text := d.text()
	if err := os.WriteFile(filepath.Join(r.Dir, TextName), []byte(text), 0o644); err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}
