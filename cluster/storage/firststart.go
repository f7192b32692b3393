package storage

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
)

const (
	// asideSuffix is appended to the name of a damaged log that nothing was lost with.
	asideSuffix = ".damaged"
	// bootstrapTerm is the term that raft stores first when it bootstraps a node.
	bootstrapTerm = 1
)

// A first start that ends half-way, with the power say, leaves remains that the
// next one must not mistake for the loss of something. The difference
// is whether a request can have been answered on the strength of what was stored.

// setAside moves a damaged log away, so that the next start makes an empty one, if
// the damage is all that can have been in it; else it returns the damage. That is
// so if the node never remembered a term, a vote or an entry, which it does before
// it answers every caller, see Identity.sawTerm, and has no snapshot.
func setAside(id *Identity, damage error, logger *slog.Logger) error {
	path := filepath.Join(id.dir, logFile)
	if corrupt, ok := errors.AsType[*CorruptError](damage); !ok || corrupt.Path != path || id.held() {
		return damage
	}
	snapshots, err := os.ReadDir(filepath.Join(id.dir, snapshotDir))
	if (err != nil && !errors.Is(err, os.ErrNotExist)) || len(snapshots) > 0 {
		return damage
	}
	if err := os.Rename(path, path+asideSuffix); err != nil {
		return errors.Join(damage, err)
	}
	logger.Warn("empty Raft log of an interrupted first start set aside; creating a new one",
		"set_aside", path+asideSuffix, "damage", damage)
	return nil
}

// takeBootstrapBack makes a node new again that stored the term of its bootstrap
// and nothing more: otherwise Raft refuses to bootstrap it. No other node knows of that
// term, as a node that is of no cluster sends and answers nothing of Raft's.
func (s *Store) takeBootstrapBack(id *Identity, logger *slog.Logger) error {
	term, err := s.stable.Get([]byte("CurrentTerm"))
	if err != nil || len(term) != 8 || binary.BigEndian.Uint64(term) != bootstrapTerm || id.Cluster() != "" {
		return nil //nolint:nilerr // there is no term, as in any new node
	}
	if vote, err := s.stable.Get([]byte("LastVoteTerm")); err == nil || len(vote) > 0 {
		return nil
	}
	last, err := s.log.LastIndex()
	if err != nil {
		return err
	}
	snapshots, err := s.Snapshots.List()
	if err != nil {
		return err
	}
	if last > 0 || len(snapshots) > 0 {
		return nil // the bootstrap goes on from there
	}
	logger.Warn("interrupted bootstrap undone; bootstrapping again")
	return s.stable.SetUint64([]byte("CurrentTerm"), 0)
}
