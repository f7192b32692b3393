package server

import (
	"context"
	"time"

	"github.com/snowraft/snowraft/server/thrift"
	"github.com/snowraft/snowraft/snowflake"
)

// twitterRetry is the pause between two attempts to create the layout.
const twitterRetry = time.Second

// createTwitter creates the layout of Thrift clients if the cluster has none, then closes created. It retries until a leader
// answers or ctx is canceled.
func (s *Server) createTwitter(ctx context.Context, created chan<- struct{}) {
	preset, _ := snowflake.Preset(thrift.Layout)
	spec := preset.Spec()
	for {
		found, err := s.api.EnsureLayout(ctx, spec)
		if err == nil {
			// An operator may have created the layout before. Its datacenter may differ.
			have := found.Spec()
			if snowflake.FormatFields(have.Fields) != snowflake.FormatFields(spec.Fields) || have.UnitMillis != spec.UnitMillis || have.EpochMillis != spec.EpochMillis {
				s.logger.Warn("layout differs from that of Twitter's server; Thrift clients get IDs of another form", "layout", spec.Name)
			}
			close(created)
			return
		}
		select {
		case <-time.After(twitterRetry):
		case <-ctx.Done():
			return
		}
	}
}
