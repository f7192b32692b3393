package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// initialRetry is the pause between two requests to the leader for the configuration.
const initialRetry = time.Second

// given returns the given settings of a new cluster. Other settings are 0.
func (c Config) given() *commandv1.Config {
	policy, _ := rollbackPolicy(c.Rollback) // withDefaults checked all three texts
	create, _ := autoCreate(c.RedisCreate)
	upgrades, _ := upgradesOf(c.Upgrades)
	return &commandv1.Config{
		MaxWindowMs:      c.MaxWindow.Milliseconds(),
		WaitThresholdMs:  c.WaitThreshold.Milliseconds(),
		MaxClockOffsetMs: c.MaxClockOffset.Milliseconds(),
		Rollback:         policy,
		RedisCreate:      create,
		Upgrades:         upgrades,
	}
}

// initial returns the configuration of a cluster that this member starts.
func (c Config) initial() *commandv1.Config {
	config := fsm.DefaultConfig()
	proto.Merge(config, c.given())
	return config
}

func rollbackPolicy(name string) (commandv1.RollbackPolicy, error) {
	switch name {
	case "":
		return commandv1.RollbackPolicy_ROLLBACK_POLICY_UNSPECIFIED, nil
	case "refuse":
		return commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE, nil
	case "swap":
		return commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP, nil
	}
	return 0, fmt.Errorf("rollback %q: expected refuse or swap", name)
}

func autoCreate(name string) (commandv1.AutoCreate, error) {
	switch name {
	case "":
		return commandv1.AutoCreate_AUTO_CREATE_UNSPECIFIED, nil
	case "off":
		return commandv1.AutoCreate_AUTO_CREATE_OFF, nil
	case "relaxed":
		return commandv1.AutoCreate_AUTO_CREATE_RELAXED, nil
	case "strict":
		return commandv1.AutoCreate_AUTO_CREATE_STRICT, nil
	}
	return 0, fmt.Errorf("redis-create %q: expected off, relaxed or strict", name)
}

func upgradesOf(name string) (commandv1.Upgrades, error) {
	switch name {
	case "":
		return commandv1.Upgrades_UPGRADES_UNSPECIFIED, nil
	case "auto":
		return commandv1.Upgrades_UPGRADES_AUTO, nil
	case "manual":
		return commandv1.Upgrades_UPGRADES_MANUAL, nil
	}
	return 0, fmt.Errorf("upgrades %q: expected auto or manual", name)
}

// warnInitial logs a warning for each given setting that has another value in the cluster. It waits for a leader and reads
// the leader's configuration, because this member's replica may be behind.
func (s *Server) warnInitial(ctx context.Context) {
	given := s.cfg.given()
	if proto.Size(given) == 0 {
		return
	}
	for {
		current, err := s.api.ConfigAtLeader(ctx)
		if err == nil {
			for _, d := range differences(given, current) {
				s.logger.Warn("initial setting ignored, because the cluster has another value; run the command to change it",
					"setting", d.setting, "given", d.given, "cluster", d.cluster, "command", d.command())
			}
			return
		}
		select {
		case <-time.After(initialRetry):
		case <-ctx.Done():
			return
		}
	}
}

// difference is a given setting that has another value in the cluster.
type difference struct{ setting, given, cluster string }

// command returns the command that sets the given value in the cluster.
func (d difference) command() string {
	return fmt.Sprintf("snowraft config set --%s %s", d.setting, d.given)
}

// differences returns the given settings that have other values in the cluster.
func differences(given *commandv1.Config, current *snowraftv1.Config) (all []difference) {
	is, has := given.ProtoReflect(), current.ProtoReflect()
	fields := is.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		value := has.Get(has.Descriptor().Fields().ByName(f.Name()))
		if is.Has(f) && !is.Get(f).Equal(value) {
			name := strings.ReplaceAll(strings.TrimSuffix(string(f.Name()), "_ms"), "_", "-")
			all = append(all, difference{name, settingText(f, is.Get(f)), settingText(f, value)})
		}
	}
	return all
}

// settingText formats a setting in the form that its flag parses.
func settingText(field protoreflect.FieldDescriptor, value protoreflect.Value) string {
	if field.Kind() != protoreflect.EnumKind {
		return (time.Duration(value.Int()) * time.Millisecond).String()
	}
	values := field.Enum().Values()
	prefix := strings.TrimSuffix(string(values.ByNumber(0).Name()), "UNSPECIFIED")
	return strings.ToLower(strings.TrimPrefix(string(values.ByNumber(value.Enum()).Name()), prefix))
}
