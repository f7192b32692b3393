package storage

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
)

const (
	// asideSuffix is appended to the name of a damaged log that contained nothing.
	asideSuffix = ".damaged"
	// bootstrapTerm is the term that raft stores first when it bootstraps a node.
	bootstrapTerm = 1
)

// A first start that is interrupted, for example by a power loss, leaves remains that the next start must not mistake for lost
// data. The remains are harmless if the node cannot have answered a request based on the stored data.

// setAside moves a damaged log away, so that the next start creates an empty one, if the log cannot have held anything that
// counts; otherwise it returns the damage. The log held nothing if the identity never recorded a term, a vote or an entry,
// and there is no snapshot: a node records those before it answers any caller, see Identity.sawTerm.
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

// takeBootstrapBack makes a node new again if it stored the term of its bootstrap and nothing more. Otherwise Raft would refuse
// to bootstrap it. No other node knows that term, because a node without a cluster sends and answers no Raft message.
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
		return nil // the bootstrap continues from there
	}
	logger.Warn("interrupted bootstrap undone; bootstrapping again")
	return s.stable.SetUint64([]byte("CurrentTerm"), 0)
}
