package fsm

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// defaultConfig is the configuration before the first SetConfig. It never changes.
var defaultConfig = &commandv1.Config{
	MaxWindowMs:      limits.DefaultWindow.Milliseconds(),
	WaitThresholdMs:  limits.DefaultThreshold.Milliseconds(),
	MaxClockOffsetMs: limits.DefaultOffset.Milliseconds(),
	Rollback:         commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
	RedisCreate:      commandv1.AutoCreate_AUTO_CREATE_OFF,
	Upgrades:         commandv1.Upgrades_UPGRADES_AUTO,
}

// DefaultConfig returns a copy of the configuration before the first SetConfig.
func DefaultConfig() *commandv1.Config { return proto.CloneOf(defaultConfig) }

// Config returns the configuration: the default before the first SetConfig. The
// configuration is never changed, only replaced, and the caller must not change it.
func (s *State) Config() *commandv1.Config {
	if s.config == nil {
		return defaultConfig
	}
	return s.config
}

// setConfig replaces the configuration if it has the generation that the proposer saw. An equal configuration keeps
// its generation.
func (s *State) setConfig(e entry) Result {
	c, present := e.cmd.GetSetConfig(), s.Config()
	if err := checkConfig(c.GetConfig()); err != nil {
		return Result{Err: invalid("%v", err)}
	}
	if c.GetConfig().GetGeneration() != 0 {
		return Result{Err: invalid("configuration: only the state machine sets the generation")}
	}
	if c.GetGeneration() != present.GetGeneration() {
		return Result{Err: refuse(commandv1.Refusal_REFUSAL_GENERATION_MISMATCH,
			"the configuration has generation %d, not %d; read it again before you repeat the change", present.GetGeneration(), c.GetGeneration())}
	}
	next := proto.CloneOf(c.GetConfig())
	next.Generation = present.GetGeneration()
	if s.config == nil || !proto.Equal(s.config, next) {
		next.Generation = e.index
		s.config = next
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
			return fmt.Errorf("%s of %d ms: expected %d to %d ms", setting.name, setting.value, setting.min, setting.max)
		}
	}
	if p := c.GetTokenWorkersPercent(); p < 0 || p > 100 {
		return fmt.Errorf("share of an API token of %d percent: expected 1 to 100, or 0 for the default", p)
	}
	switch c.GetRollback() {
	case commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE, commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP:
	default:
		return fmt.Errorf("rollback %v: expected refuse or swap", c.GetRollback())
	}
	switch c.GetRedisCreate() {
	case commandv1.AutoCreate_AUTO_CREATE_OFF, commandv1.AutoCreate_AUTO_CREATE_RELAXED, commandv1.AutoCreate_AUTO_CREATE_STRICT:
	default:
		return fmt.Errorf("redis_create %v: expected off, relaxed or strict", c.GetRedisCreate())
	}
	switch c.GetUpgrades() {
	case commandv1.Upgrades_UPGRADES_AUTO, commandv1.Upgrades_UPGRADES_MANUAL:
	default:
		return fmt.Errorf("upgrades %v: expected auto or manual", c.GetUpgrades())
	}
	return nil
}
