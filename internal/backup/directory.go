package backup

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// OpenDirectory returns the state in the data directory of a stopped member as a backup taken at nowMillis, in Unix
// milliseconds. It does not change the directory. The result has neither a size nor a checksum.
//
// The last entries of the log may never have been committed. OpenDirectory applies their grants and ignores their releases
// and returns. So the state covers all grants of the cluster up to the last entry, committed or not.
func OpenDirectory(dir string, nowMillis int64) (_ *Backup, err error) {
	s, err := storage.OpenStopped(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, directoryError(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	state := fsm.NewState()
	var replay *fsm.Replay
	index, term, servers, err := s.Replay(func(content io.ReadCloser) error {
		read, err := fsm.ReadState(content, fsm.Version)
		if err = errors.Join(err, content.Close()); err == nil {
			state = read
		}
		return err
	}, func(l *raft.Log) error {
		if replay == nil {
			replay = fsm.NewReplay(state, fsm.Version)
		}
		return replay.Apply(l)
	})
	if err != nil {
		return nil, directoryError(err)
	}
	if replay == nil {
		replay = fsm.NewReplay(state, fsm.Version)
	}
	if state, err = replay.State(); err != nil {
		return nil, err
	}
	window, offset := replay.Limits()
	h := &commandv1.BackupHeader{
		ClusterId: s.Cluster(), Index: index, Term: term, TakenAtMs: nowMillis, MaxWindowMs: window, MaxClockOffsetMs: offset,
		Source: commandv1.BackupSource_BACKUP_SOURCE_DIRECTORY, MemberId: s.Node(),
	}
	for _, server := range servers {
		_, address, _ := strings.Cut(string(server.Address), "@")
		h.Members = append(h.Members, &commandv1.BackupMember{Id: string(server.ID), RaftAddress: address, Voter: server.Suffrage == raft.Voter})
	}
	return &Backup{Header: h, State: state}, nil
}

// directoryError adds advice about a directory that cannot be read. The advice differs from that for a member that starts with
// the directory.
func directoryError(err error) error {
	if corrupt, ok := errors.AsType[*storage.CorruptError](err); ok {
		return fmt.Errorf("%s is damaged (%s); use the data directory of another member, or a backup", corrupt.Path, corrupt.Reason)
	}
	if errors.Is(err, fsm.ErrUnknownCommand) {
		return fmt.Errorf("data directory of a newer version of Snowraft; use the version that wrote it, or a newer one (%w)", err)
	}
	return err
}
