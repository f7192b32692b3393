package fsm

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// defaultConfig holds until a SetConfig is applied. Never changed.
var defaultConfig = &commandv1.Config{
	MaxWindowMs:      limits.DefaultWindow.Milliseconds(),
	WaitThresholdMs:  limits.DefaultThreshold.Milliseconds(),
	MaxClockOffsetMs: limits.DefaultOffset.Milliseconds(),
	Rollback:         commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
}

// Config returns the configuration, which is the default one until it was set. It is
// never changed, only replaced, and the caller must not change it either.
func (s *State) Config() *commandv1.Config {
	if s.config == nil {
		return defaultConfig
	}
	return s.config
}

// Configured reports whether the configuration was set.
func (s *State) Configured() bool { return s.config != nil }

// setConfig replaces the configuration. With only_if_unset it has no effect, and
// succeeds, when one was set before.
func (s *State) setConfig(e entry) Result {
	c := e.cmd.GetSetConfig()
	if c.GetOnlyIfUnset() && s.config != nil {
		return Result{Config: s.config}
	}
	if err := checkConfig(c.GetConfig()); err != nil {
		return Result{Err: invalid("%v", err)}
	}
	if s.config == nil || !proto.Equal(s.config, c.GetConfig()) {
		s.config = proto.CloneOf(c.GetConfig())
		s.revision++
	}
	return Result{Config: s.config}
}

func checkConfig(c *commandv1.Config) error {
	for _, setting := range []struct {
		name            string
		value, min, max int64
	}{
		{"maximum window", c.GetMaxWindowMs(), limits.MinWindow.Milliseconds(), limits.MaxWindow.Milliseconds()},
		{"wait threshold", c.GetWaitThresholdMs(), limits.MinThreshold.Milliseconds(), limits.MaxThreshold.Milliseconds()},
		{"maximum clock offset", c.GetMaxClockOffsetMs(), limits.MinOffset.Milliseconds(), limits.MaxOffset.Milliseconds()},
	} {
		if setting.value < setting.min || setting.value > setting.max {
			return fmt.Errorf("a %s of %d ms, expected %d to %d", setting.name, setting.value, setting.min, setting.max)
		}
	}
	switch c.GetRollback() {
	case commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE, commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP:
		return nil
	}
	return fmt.Errorf("a rollback policy of %v, expected refuse or swap", c.GetRollback())
}
