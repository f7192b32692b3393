package api

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// GetConfig returns the configuration of this member's replica. For a forwarded call it returns the configuration as the leader.
func (c *clusterService) GetConfig(ctx context.Context, _ *snowraftv1.GetConfigRequest) (*snowraftv1.GetConfigResponse, error) {
	config := c.Member.State().ConfigValue()
	if trust.RelayOf(ctx) != "" {
		var err error
		if config, err = c.Member.ConfigAtLeader(ctx); err != nil {
			return nil, err
		}
	}
	return &snowraftv1.GetConfigResponse{Config: ConfigMessage(config)}, nil
}

func (c *clusterService) UpdateConfig(ctx context.Context, req *snowraftv1.UpdateConfigRequest) (*snowraftv1.UpdateConfigResponse, error) {
	fields, err := configFields(req)
	if err != nil {
		return nil, err
	}
	config, err := c.Member.UpdateConfig(ctx, req.ExpectedGeneration, func(config *commandv1.Config) {
		editConfig(config, req.GetConfig(), fields)
	})
	if err != nil {
		return nil, err
	}
	c.noteChange(ctx, "configuration changed", "fields", fields, "generation", config.GetGeneration())
	return &snowraftv1.UpdateConfigResponse{
		Config: ConfigMessage(config), UnreachedMembers: c.spread(ctx, config.GetGeneration()),
	}, nil
}

// configFields returns the names of the fields that an update changes.
func configFields(req *snowraftv1.UpdateConfigRequest) (change []string, err error) {
	if req.GetConfig() == nil {
		return nil, wire.Invalid("config: missing")
	}
	m := req.GetConfig().ProtoReflect()
	var known []string
	for i := range m.Descriptor().Fields().Len() {
		field := m.Descriptor().Fields().Get(i)
		if !field.HasPresence() {
			continue // output only
		}
		known = append(known, string(field.Name()))
		if m.Has(field) {
			change = append(change, string(field.Name()))
		}
	}
	if req.UpdateMask != nil {
		change = req.GetUpdateMask().GetPaths()
	}
	return change, checkPaths(change, known)
}

// editConfig sets fields of c to the values in m. The fields have the same names in both protos. A field that m does not set
// gets its default.
func editConfig(c *commandv1.Config, m *snowraftv1.Config, fields []string) {
	to, from, standard := c.ProtoReflect(), m.ProtoReflect(), fsm.DefaultConfig().ProtoReflect()
	for _, name := range fields {
		field := to.Descriptor().Fields().ByName(protoreflect.Name(name))
		value := standard.Get(field)
		if given := from.Descriptor().Fields().ByName(field.Name()); from.Has(given) {
			value = from.Get(given)
		}
		to.Set(field, value)
	}
}

// ConfigAtLeader returns the configuration of the cluster at some moment after the call began.
func (s *Services) ConfigAtLeader(ctx context.Context) (*snowraftv1.Config, error) {
	resp, err := lead(ctx, s, snowraftv1.ClusterService_GetConfig_FullMethodName, &snowraftv1.GetConfigRequest{},
		func(ctx context.Context, _ *snowraftv1.GetConfigRequest) (*snowraftv1.GetConfigResponse, error) {
			config, err := s.Member.ConfigAtLeader(ctx)
			return &snowraftv1.GetConfigResponse{Config: ConfigMessage(config)}, err
		})
	return resp.GetConfig(), err
}

// ConfigMessage returns a configuration as a new message of the API.
func ConfigMessage(c *commandv1.Config) *snowraftv1.Config {
	return &snowraftv1.Config{
		MaxWindowMs: new(c.GetMaxWindowMs()), WaitThresholdMs: new(c.GetWaitThresholdMs()), MaxClockOffsetMs: new(c.GetMaxClockOffsetMs()),
		Rollback: new(snowraftv1.RollbackPolicy(c.GetRollback())), RedisCreate: new(snowraftv1.AutoCreate(c.GetRedisCreate())),
		Upgrades:            new(snowraftv1.Upgrades(c.GetUpgrades())),
		TokenWorkersPercent: new(cmp.Or(c.GetTokenWorkersPercent(), limits.DefaultTokenWorkers)),
		Generation:          c.GetGeneration(),
	}
}
