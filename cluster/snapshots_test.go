package cluster

import (
	"errors"
	"slices"
	"testing"

	"github.com/hashicorp/raft"
)

// fullDisk is a store on which no snapshot can be written.
type fullDisk struct{ raft.SnapshotStore }

var errFull = errors.New("no space left on device")

func (fullDisk) Create(raft.SnapshotVersion, uint64, uint64, raft.Configuration, uint64, raft.Transport) (raft.SnapshotSink, error) {
	return fullSink{}, nil
}

type fullSink struct{ raft.SnapshotSink }

func (fullSink) Write([]byte) (int, error) { return 0, errFull }
func (fullSink) Close() error              { return errFull }
func (fullSink) Cancel() error             { return nil }

// The state machine and raft both cancel a snapshot whose write failed. The reason is in the one event.
func TestFailedSnapshotIsOneEvent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fail func(raft.SnapshotSink) error
		want string
	}{
		"write":  {func(s raft.SnapshotSink) error { _, err := s.Write(nil); return err }, errFull.Error()},
		"close":  {raft.SnapshotSink.Close, errFull.Error()},
		"cancel": {raft.SnapshotSink.Cancel, errCanceled.Error()},
	} {
		var events noted
		store := &observedSnapshots{fullDisk{}, &events, func(int64) { t.Errorf("%s: the snapshot counts as written", name) }}
		sink, err := store.Create(raft.SnapshotVersionMax, 1, 1, raft.Configuration{}, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = tc.fail(sink)
		_, _ = sink.Cancel(), sink.Cancel()
		if want := []string{"storage: snapshot not written: " + tc.want}; !slices.Equal(events, want) {
			t.Errorf("%s: events %q, want %q", name, events, want)
		}
	}
}
