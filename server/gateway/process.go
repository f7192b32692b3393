package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/api"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/redis"
)

// offAge is the time for which a gateway requests no creation of sequences after a member answered REDIS_CREATE_OFF.
const offAge = time.Second

// process implements [frontend.Process] for a gateway.
type process struct {
	*members
	g *Gateway
}

var _ frontend.Process = process{}

// Exists reports whether a sequence exists.
func (p process) Exists(ctx context.Context, sequence string) (bool, error) {
	err := p.ask(ctx, snowraftv1.SequenceService_GetSequence_FullMethodName,
		&snowraftv1.GetSequenceRequest{Name: sequence, Local: true}, new(snowraftv1.GetSequenceResponse))
	if errors.Is(err, client.ErrUnknownSequence) {
		return false, nil
	}
	return err == nil, err
}

// Create creates a sequence on demand. The result is false if the configuration does not let INCR create sequences.
func (p process) Create(ctx context.Context, sequence string) (created bool, err error) {
	now := p.g.clock().Mono
	if now < p.g.createsAt.Load() {
		return false, nil
	}
	err = p.ask(ctx, snowraftv1.SequenceService_CreateSequence_FullMethodName, api.OnDemand(sequence), new(snowraftv1.CreateSequenceResponse))
	if err != nil && rpc.FromError(err).Reason == rpc.RedisCreateOff {
		p.g.createsAt.Store(now + offAge.Milliseconds())
		return false, nil
	}
	return err == nil, err
}

// Failure returns nil: a gateway keeps no state that can break.
func (process) Failure() error { return nil }

// Clock returns the gateway's clock, in Unix ms.
func (p process) Clock() int64 { return p.g.clock().Wall }

// Info describes the gateway to Redis clients.
func (p process) Info() redis.Info {
	return redis.Info{Member: p.g.cfg.Name, Version: p.g.cfg.Version, Role: "gateway", Uptime: p.g.uptime()}
}
