package server

import (
	"context"
	"io"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/server/backups"
)

// scheduled is the member whose state its [backups.Keeper] backs up.
type scheduled struct{ *Server }

var _ backups.Source = scheduled{}

// Leads implements backups.Source.
func (s scheduled) Leads() bool { return s.member.Node().IsLeader() }

// Capture implements backups.Source.
func (s scheduled) Capture(ctx context.Context) (*commandv1.BackupHeader, io.WriterTo, error) {
	return s.api.CaptureLeading(ctx)
}

// WallMillis implements backups.Source.
func (s scheduled) WallMillis() int64 { return s.member.Clock().Now().Wall }
