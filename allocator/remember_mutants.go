//go:build mutants

package allocator

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/snowraft/snowraft/internal/mutant"
)

// What the planted bug [mutant.ReuseWindow] does: a lane keeps its window in a file, and goes on in
// that after a restart, until the cluster refuses to extend it.

// remember keeps the window that was granted last.
func (l *lane) remember(g Grant) {
	if !mutant.On(mutant.ReuseWindow) {
		return
	}
	raw, err := json.Marshal(g)
	if err == nil {
		err = os.WriteFile(l.memory(), raw, 0o600)
	}
	if err != nil {
		l.log.Error("the planted bug has no effect", "bug", mutant.ReuseWindow, "err", err)
	}
}

// remembered returns the window that was kept, if it is not over at a tick.
func (l *lane) remembered(tick int64) (g Grant, ok bool) {
	raw, err := os.ReadFile(l.memory())
	if err == nil {
		err = json.Unmarshal(raw, &g) // fails if the process was killed while it wrote
	}
	return g, err == nil && g.Until > tick
}

// forget is called when the cluster says that the window is somebody else's.
func (l *lane) forget() {
	if !mutant.On(mutant.ReuseWindow) {
		return
	}
	if err := os.Remove(l.memory()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.log.Error("the planted bug is stuck", "bug", mutant.ReuseWindow, "err", err)
	}
}

// memory is the lane's file.
func (l *lane) memory() string {
	return filepath.Join(os.Getenv("SNOWRAFT_MUTANT_DIR"), "window-"+url.PathEscape(l.issuer.layout.Name()+"/"+l.holder)+".json")
}
