package gateway

import (
	"context"
	"errors"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/api"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/redis"
)

// backend is what the front needs of a gateway apart from issuing; see frontend.Backend.
type backend struct {
	*members
	g *Gateway
}

var _ frontend.Backend = backend{}

// Exists reports whether there is such a sequence.
func (b backend) Exists(ctx context.Context, sequence string) (bool, error) {
	err := b.ask(ctx, snowraftv1.SequenceService_GetSequence_FullMethodName,
		&snowraftv1.GetSequenceRequest{Name: sequence}, new(snowraftv1.GetSequenceResponse))
	if errors.Is(err, client.ErrUnknownSequence) {
		return false, nil
	}
	return err == nil, err
}

// Create creates a sequence that starts at 1, unless there is one of that name.
func (b backend) Create(ctx context.Context, sequence string, strict bool) error {
	err := b.ask(ctx, snowraftv1.SequenceService_CreateSequence_FullMethodName, api.Creation(sequence, strict), new(snowraftv1.CreateSequenceResponse))
	if errors.Is(err, client.ErrSequenceExists) {
		return nil // created meanwhile, as somebody else likes it
	}
	return err
}

// Failure is nil: nothing that can break is kept here.
func (backend) Failure() error { return nil }

// Info describes the gateway to Redis clients.
func (b backend) Info() redis.Info {
	return redis.Info{Member: b.g.cfg.Name, Version: b.g.cfg.Version, Role: "gateway", Uptime: b.g.uptime()}
}
