package server

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/fsm"
)

func TestHaltReasons(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"": nil, "damage": &storage.CorruptError{}, "disk": &storage.DiskError{Err: errors.New("full")},
		"duplicate": cluster.ErrDuplicate, "name": cluster.ErrNameTaken, "removed": cluster.ErrRemoved, "superseded": cluster.ErrSuperseded,
		"state": fsm.ErrHalted, "version": &fsm.NewerError{}, "other": errors.New("another one"),
	} {
		if err != nil {
			err = fmt.Errorf("halted: %w", err)
		}
		if got := haltReason(err); got != want || want != "" && !slices.Contains(haltReasons, want) {
			t.Errorf("haltReason(%v) = %q, want %q", err, got, want)
		}
	}
	if got := haltReason(&cluster.StalledError{}); got != "disk" {
		t.Errorf("a disk that hangs: %q", got)
	}
}
