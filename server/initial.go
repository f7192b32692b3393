package server

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/apijson"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// initialRetry is the pause between two requests to the leader for the configuration.
const initialRetry = time.Second

// given returns the given settings of a new cluster; others are 0. Enums have the same numbers in both protos.
func (c Config) given() (*commandv1.Config, error) {
	policy, err := setting[snowraftv1.RollbackPolicy]("rollback", c.Rollback)
	create, err2 := setting[snowraftv1.AutoCreate]("redis-create", c.RedisCreate)
	upgrades, err3 := setting[snowraftv1.Upgrades]("upgrades", c.Upgrades)
	return &commandv1.Config{
		MaxWindowMs:      c.MaxWindow.Milliseconds(),
		WaitThresholdMs:  c.WaitThreshold.Milliseconds(),
		MaxClockOffsetMs: c.MaxClockOffset.Milliseconds(),
		Rollback:         commandv1.RollbackPolicy(policy),
		RedisCreate:      commandv1.AutoCreate(create),
		Upgrades:         commandv1.Upgrades(upgrades),
	}, cmp.Or(err, err2, err3)
}

// initial returns the configuration of a cluster that this member starts.
func (c Config) initial() *commandv1.Config {
	config := fsm.DefaultConfig()
	given, _ := c.given() // withDefaults checked it
	proto.Merge(config, given)
	return config
}

// setting returns the value that a word names; 0 for no word.
func setting[E apijson.Enum](name, word string) (value E, err error) {
	value, ok := apijson.Parse[E](word)
	if word == "" || ok && value.Number() != 0 {
		return value, nil
	}
	words := apijson.Words[E]()
	last := len(words) - 1
	return 0, fmt.Errorf("%s %q: expected %s or %s", name, word, strings.Join(words[:last], ", "), words[last])
}

// warnInitial logs a warning for each given setting that has another value in the cluster. It waits for a leader and reads
// the leader's configuration, because this member's replica may be behind.
func (s *Server) warnInitial(ctx context.Context) {
	given, _ := s.cfg.given() // withDefaults checked it
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
	return apijson.WordOf(field.Enum().Values().ByNumber(value.Enum()))
}
