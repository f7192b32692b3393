package apply

import (
	"context"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// redisCreateKey is the setting that lets an INCR create sequences.
const redisCreateKey = "redis-create"

// configSettings lists the settings of the cluster. Each has the name of its flag of "config set".
var configSettings = []setting[*snowraftv1.Config]{
	{"max-window", "max_window_ms", "Longest window granted, and so the longest time that a member issues IDs without quorum, such as 10m.", isText,
		func(m *snowraftv1.Config) *cli.Value {
			return millisOf(present(&m.MaxWindowMs), limits.MinWindow, limits.MaxWindow)
		}},
	{"wait-threshold", "wait_threshold_ms", "Largest clock lag at which requests wait instead of failing, such as 1s.", isText,
		func(m *snowraftv1.Config) *cli.Value {
			return millisOf(present(&m.WaitThresholdMs), limits.MinThreshold, limits.MaxThreshold)
		}},
	{"max-clock-offset", "max_clock_offset_ms", "Largest clock lead over the majority at which a member issues IDs, such as 500ms.", isText,
		func(m *snowraftv1.Config) *cli.Value {
			return millisOf(present(&m.MaxClockOffsetMs), limits.MinOffset, limits.MaxOffset)
		}},
	{"rollback", "rollback", "Behavior beyond the wait threshold: refuse requests, or swap to another worker.", isText,
		func(m *snowraftv1.Config) *cli.Value { return wordOf(present(&m.Rollback)) }},
	{redisCreateKey, "redis_create", "Kind of sequence that a Redis INCR creates for an unknown key; off rejects the command.", isText,
		func(m *snowraftv1.Config) *cli.Value { return wordOf(present(&m.RedisCreate)) }},
	{"upgrades", "upgrades", "Finalization of upgrades: by the leader after an hour (auto), or by a command (manual).", isText,
		func(m *snowraftv1.Config) *cli.Value { return wordOf(present(&m.Upgrades)) }},
	{"token-workers-percent", "token_workers_percent", "Part of a layout's workers that one API token can hold, 1 to 100.", isNumber,
		func(m *snowraftv1.Config) *cli.Value { return percentOf(present(&m.TokenWorkersPercent)) }},
}

func percentOf(p *int32) *cli.Value {
	n := int(*p)
	v := cli.IntValue(&n, 1, 100)
	parse := v.Parse
	v.Parse = func(s string) bool {
		ok := parse(s)
		*p = int32(n) //nolint:gosec // 100 at most
		return ok
	}
	return v
}

var configSection = section{
	key: "config", about: "Configuration of the cluster. Settings that the file omits stay as they are.",
	keys: keys(configSettings, func() *snowraftv1.Config { return &snowraftv1.Config{} }),
}

// planConfig adds the change of the configuration.
func planConfig(ctx context.Context, p *planner, r *cli.Remote) error {
	given := p.file.objects[configSection.key]
	if len(given) == 0 {
		return nil
	}
	resp, err := r.Cluster.GetConfig(ctx, &snowraftv1.GetConfigRequest{})
	if err != nil {
		return err
	}
	was, m := resp.GetConfig(), &snowraftv1.Config{}
	fill(m, configSettings, given[0].given)
	c := &change{Action: actionUpdate, Kind: configSection.key}
	var fields []string
	for _, s := range configSettings {
		text, ok := given[0].given[s.key]
		now := s.value(was).Text()
		if !ok || s.value(m).Text() == now {
			continue
		}
		if s.key == redisCreateKey && p.elsewhere() && m.GetRedisCreate() > snowraftv1.AutoCreate_AUTO_CREATE_OFF {
			c.Error = redisCreateKey + ": INCR would create the sequences of the other cluster again, at 1; " +
				"set it with \"snowraft config set\" once none of their names is new"
		}
		c.Settings = append(c.Settings, difference{s.key, now, text})
		fields = append(fields, s.field)
	}
	if len(fields) == 0 {
		p.unchanged++
		return nil
	}
	c.do = func(ctx context.Context) ([]string, error) {
		resp, err := r.Cluster.UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{
			Config: m, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields}, ExpectedGeneration: new(was.GetGeneration()),
		})
		return resp.GetUnreachedMembers(), err
	}
	p.add(c)
	return nil
}
