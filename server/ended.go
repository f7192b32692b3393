package server

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/snowraft/snowraft/server/kernel"
)

// runningFile is the file in the data directory that exists while a process runs, and after a process that did not shut down in order.
const runningFile = "running"

var descEnded = kernel.Desc("after_ordered_end", "1 if the last process of this member shut down in order, or there was none; 0 if it was killed, crashed or halted.")

// ended records whether the last process shut down in order, as in a planned restart.
type ended struct {
	path    string // empty: in memory only
	ordered bool   // the last process shut down in order
}

// openEnded looks how the last process stopped, and notes that this one runs. Without a usable directory, the end counts as ordered.
func openEnded(dir string) *ended {
	if dir == "" {
		return &ended{ordered: true}
	}
	e := &ended{path: filepath.Join(dir, runningFile)}
	f, err := os.OpenFile(e.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if e.ordered = !errors.Is(err, fs.ErrExist); err == nil {
		_ = f.Close()
	}
	return e
}

// end notes that this process shuts down in order.
func (e *ended) end() {
	if e.path != "" {
		_ = os.Remove(e.path) // a file that stays makes a planned restart look like a crash
	}
}
