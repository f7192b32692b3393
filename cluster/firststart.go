package cluster

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
)

// asideSuffix is appended to the name of a damaged log that nothing was lost with.
const asideSuffix = ".damaged"

// A first start that ends half-way, with the power say, leaves remains that the
// next one must not mistake for the loss of something. What makes the difference
// is whether anybody can have been answered on the strength of what was stored.

// setAside moves a damaged log away, so that the next start makes an empty one, if
// the damage is all that can have been in it; else it returns the damage. That is
// so if the node never remembered a term, a vote or an entry, which it does before
// it answers anybody, see identity.sawTerm, and has no snapshot.
func setAside(dir string, id *identity, damage error, logger *slog.Logger) error {
	path := filepath.Join(dir, logFile)
	if corrupt, ok := errors.AsType[*CorruptError](damage); !ok || corrupt.Path != path || id.held() {
		return damage
	}
	snapshots, err := os.ReadDir(filepath.Join(dir, snapshotDir))
	if (err != nil && !errors.Is(err, os.ErrNotExist)) || len(snapshots) > 0 {
		return damage
	}
	if err := os.Rename(path, path+asideSuffix); err != nil {
		return errors.Join(damage, err)
	}
	logger.Warn("an earlier start ended while it made the Raft log; nothing was in it, so this one makes another",
		"set_aside", path+asideSuffix, "damage", damage)
	return nil
}
