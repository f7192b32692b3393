package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/thrift"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/snowflake"
)

// twitterRetry is the pause between two attempts to create the layout.
const twitterRetry = time.Second

// twitterLayout is the state of the layout of Thrift clients.
type twitterLayout struct {
	created chan struct{}             // closed once the cluster has the layout
	failure atomic.Pointer[rpc.Error] // error of the last attempt to create it; nil before the first failure
}

// wait returns nil once the cluster has the layout. It returns the error of the last attempt to create the layout when ctx ends,
// or at once if that error lasts until an operator removes its cause.
func (l *twitterLayout) wait(ctx context.Context) error {
	select {
	case <-l.created:
		return nil
	default:
	}
	failed := l.failure.Load()
	if failed != nil {
		if reason, known := rpc.ReasonOf(failed.Reason); known && reason.Repeat == rpc.RepeatNo {
			return failed
		}
	}
	select {
	case <-l.created:
		return nil
	case <-ctx.Done():
	}
	if failed = l.failure.Load(); failed != nil {
		return failed
	}
	return rpc.NewError(rpc.NoLeader, `the layout "twitter" is not created yet, because no leader is known; try again`)
}

// createTwitter creates the layout of Thrift clients if the cluster has none. It retries until it succeeds or ctx is canceled.
func (s *Server) createTwitter(ctx context.Context, layout *twitterLayout) {
	preset, _ := snowflake.Preset(thrift.Layout)
	spec := preset.Spec()
	logged := rpc.NoLeader // usual while a cluster starts
	for {
		found, err := s.api.EnsureLayout(ctx, spec)
		if err == nil {
			// An operator may have created the layout before. Its datacenter may differ.
			have := found.Spec()
			if snowflake.FormatFields(have.Fields) != snowflake.FormatFields(spec.Fields) || have.UnitMillis != spec.UnitMillis || have.EpochMillis != spec.EpochMillis {
				s.logger.Warn("layout differs from that of Twitter's server; Thrift clients get IDs with other fields", "layout", spec.Name)
			}
			close(layout.created)
			return
		}
		failed := rpc.FromError(wire.Status(err))
		layout.failure.Store(failed)
		if failed.Reason != logged && ctx.Err() == nil {
			logged = failed.Reason
			s.logger.Warn("layout of Thrift clients not created; retrying", "layout", spec.Name, "error", failed, "retry_after", twitterRetry)
		}
		select {
		case <-time.After(twitterRetry):
		case <-ctx.Done():
			return
		}
	}
}
