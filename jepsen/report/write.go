package report

import (
	"io"
	"os"
	"path/filepath"

	"github.com/snowraft/snowraft/jepsen/check"
)

// The names that the reports have in a run's directory.
const (
	PageName = "report.html"
	TextName = "report.txt"
)

// Write writes a run's reports into its directory, over those that may be there, and the text to w as well:
//
//   - the text has the verdict in the first line, then who says so, then what happened;
//   - the page shows what happened over the time of the run. It needs no other file and no network; it links
//     the pictures of the order checker that are in the run's directory.
//
// It fails if the operations can't be read.
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
