package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// backup returns the backup that a member sends.
func (n *node) backup(stale bool) (*backup.Backup, error) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	stream, err := snowraftv1.NewOperationsServiceClient(n.conn).Backup(ctx, &snowraftv1.BackupRequest{Stale: stale})
	if err != nil {
		return nil, err
	}
	var file []byte
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return backup.Read(bytes.NewReader(file), int64(len(file)), fsm.Version)
		}
		if err != nil {
			return nil, err
		}
		file = append(file, piece.GetData()...)
	}
}

func TestBackupHasAcknowledgedChanges(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for _, name := range []string{"orders", "invoices"} {
			if _, err := snowraftv1.NewSequenceServiceClient(nodes[0].conn).CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{
				Sequence: &snowraftv1.Sequence{Name: name},
			}); err != nil {
				t.Fatal(err)
			}
			for _, n := range nodes {
				b, err := n.backup(false)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := b.State.Sequence(name); !ok {
					t.Errorf("the backup of %s lacks sequence %q, which was created before", n.status().GetName(), name)
				}
				h := b.Header
				if h.GetClusterId() != n.server.ClusterID() || h.GetMemberId() != n.server.MemberID() || len(h.GetMembers()) != 3 ||
					h.GetSource() != commandv1.BackupSource_BACKUP_SOURCE_MEMBER || h.GetMaxWindowMs() == 0 {
					t.Errorf("header: %v", h)
				}
			}
		}
	})
}

func TestBackupWithoutLeaderIsStale(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		survivor := follower(t, nodes)
		for _, n := range except(nodes, survivor) {
			n.crash()
		}
		until(t, "the leader is gone", func() bool { return survivor.status().GetLeaderId() == "" })
		if _, err := survivor.backup(false); reason(err) != rpc.NoLeader {
			t.Errorf("Backup() = %v, want %s", err, rpc.NoLeader)
		}
		b, err := survivor.backup(true)
		if err != nil {
			t.Fatal(err)
		}
		if b.Header.GetSource() != commandv1.BackupSource_BACKUP_SOURCE_STALE {
			t.Errorf("header: %v", b.Header)
		}
	})
}
