package server

import (
	"context"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/redis"
)

// gatewayDoors is doors of a gateway, and what else Redis's protocol and HTTP need of it.
type gatewayDoors struct {
	doors
	g *Gateway
}

var _ backend = gatewayDoors{}

// TryNext has nothing in memory.
func (gatewayDoors) TryNext(string, uint64) (first, increment int64, ok bool) { return 0, 0, false }

// Last is the last number given out.
func (d gatewayDoors) Last(ctx context.Context, sequence string) (int64, bool, error) {
	resp := new(snowraftv1.GetLastResponse)
	err := d.g.ask(ctx, snowraftv1.SequenceService_GetLast_FullMethodName, &snowraftv1.GetLastRequest{Sequence: sequence}, resp)
	return resp.GetLast(), resp.Last != nil, toStatus(err)
}

// Exists reports whether there is such a sequence.
func (d gatewayDoors) Exists(ctx context.Context, sequence string) (bool, error) {
	err := d.g.ask(ctx, snowraftv1.SequenceService_GetSequence_FullMethodName,
		&snowraftv1.GetSequenceRequest{Name: sequence}, new(snowraftv1.GetSequenceResponse))
	if rpc.FromError(err).Reason == rpc.UnknownSequence {
		return false, nil
	}
	return err == nil, toStatus(err)
}

// Create creates a sequence that starts at 1, unless there is one of that name.
func (d gatewayDoors) Create(ctx context.Context, sequence string, strict bool) error {
	err := d.g.ask(ctx, snowraftv1.SequenceService_CreateSequence_FullMethodName, creation(sequence, strict), new(snowraftv1.CreateSequenceResponse))
	if rpc.FromError(err).Reason == rpc.SequenceExists {
		return nil // created meanwhile, as somebody else likes it
	}
	return toStatus(err)
}

// creation is the request of what Redis clients create.
func creation(sequence string, strict bool) *snowraftv1.CreateSequenceRequest {
	mode := snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED
	if strict {
		mode = snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT
	}
	return &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: sequence, Mode: mode}}
}

// Failure is nil.
func (d gatewayDoors) Failure() error { return d.g.Failure() }

// Info describes the gateway to Redis clients.
func (d gatewayDoors) Info() redis.Info {
	return redis.Info{Member: d.g.cfg.Name, Version: d.g.cfg.Version, Role: "gateway", Uptime: d.g.uptime()}
}
