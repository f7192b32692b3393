package api

import (
	"context"
	"time"

	"google.golang.org/grpc"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/diagnose"
	"github.com/snowraft/snowraft/server/wire"
)

const (
	maxDebugSeconds = 60
	// maxDebug bounds the duration of Debug, even if its caller reads slowly.
	maxDebug = 5 * time.Minute
)

// Debug implements snowraftv1.OperationsServiceServer.
func (o *operations) Debug(req *snowraftv1.DebugRequest, stream grpc.ServerStreamingServer[snowraftv1.DebugResponse]) error {
	ctx := stream.Context()
	switch {
	case req.GetSeconds() < 1 || req.GetSeconds() > maxDebugSeconds:
		return wire.Invalid("seconds: expected 1 to 60")
	case !endsWithin(ctx, maxDebug):
		return wire.Invalid("deadline: must be within 5 minutes")
	}
	cluster := &clusterService{Services: o.Services}
	status, err := cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{})
	if err != nil {
		return err
	}
	members, err := cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	if err != nil {
		return err
	}
	return o.Services.Config.Debug.Collect(ctx, diagnose.Request{
		Duration: time.Duration(req.GetSeconds()) * time.Second, Status: status, Members: members,
	}, func(file string, content []byte) error {
		for first := true; first || len(content) > 0; first = false {
			n := min(len(content), pieceBytes)
			if err := stream.Send(&snowraftv1.DebugResponse{File: file, Data: content[:n]}); err != nil {
				return err
			}
			content = content[n:]
		}
		return nil
	})
}

// endsWithin reports whether ctx has a deadline that is at most d from now.
func endsWithin(ctx context.Context, d time.Duration) bool {
	own, ok := ctx.Deadline()
	bounded, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	earliest, _ := bounded.Deadline()
	return ok && !own.After(earliest)
}
