package member

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
)

// stranger returns a member with m's log and a clock of its own that was never compared.
func stranger(m *Member, ahead time.Duration) *Member {
	read := func() clock.Reading {
		r := m.clock.Now()
		r.Wall += ahead.Milliseconds()
		return r
	}
	other := &Member{cfg: m.cfg, logger: m.logger, fsm: m.fsm, node: m.node}
	other.clock = clock.NewWatch(read, m.fsm.Observed(), m.clock.Limits())
	other.counters.byName = make(map[string]*counter)
	return other
}

func TestLastingTimesNeedAComparedClock(t *testing.T) {
	m := openOne(t)
	spec := func(name string, reset commandv1.SequenceReset) *commandv1.SequenceSpec {
		return &commandv1.SequenceSpec{
			Name: name, Start: 1, Increment: 1, Min: 1, Max: math.MaxInt64, BlockDurationMs: 1000, MinBlock: 1, MaxBlock: 100,
			Mode: commandv1.SequenceMode_SEQUENCE_MODE_RELAXED, Reset_: reset,
		}
	}
	daily, plain := spec("daily", commandv1.SequenceReset_SEQUENCE_RESET_DAILY), spec("plain", commandv1.SequenceReset_SEQUENCE_RESET_NONE)
	for _, s := range []*commandv1.SequenceSpec{daily, plain} {
		if _, err := m.CreateSequence(t.Context(), s, Force{}); err != nil {
			t.Fatal(err)
		}
	}
	lasting := map[string]func(m *Member) error{
		"observe": func(m *Member) error { _, err := m.ObserveClock(t.Context(), false); return err },
		"reset":   func(m *Member) error { _, err := m.ObserveClock(t.Context(), true); return err },
		"create":  func(m *Member) error { _, err := m.CreateSequence(t.Context(), daily, Force{}); return err },
		"period": func(m *Member) error {
			_, err := m.AllocateBlock(t.Context(), "daily", 1, allocator.ReturnKey{})
			return err
		},
		"answer": func(m *Member) error { _, err := m.AllocateBlockOnce(anyone(t), "plain", 1, "r"); return err },
	}
	fresh, wrong := stranger(m, 0), stranger(m, 36*time.Hour)
	for name, do := range lasting {
		if err := do(fresh); !errors.Is(err, ErrNoLeader) || !strings.Contains(err.Error(), "transfer leadership") {
			t.Errorf("%s before the comparison: %v, want an ErrNoLeader with the action", name, err)
		}
	}
	if _, err := wrong.AllocateBlock(t.Context(), "plain", 1, allocator.ReturnKey{}); err != nil {
		t.Errorf("a block without a period: %v", err)
	}
	for _, m := range []*Member{fresh, wrong} {
		for _, id := range []string{"b", "c"} {
			m.clock.ObservePeer(id, time.Now().UnixMilli(), 0)
		}
	}
	for name, do := range lasting {
		if err := do(fresh); err != nil {
			t.Errorf("%s after the comparison: %v", name, err)
		}
		if err := do(wrong); !errors.As(err, new(*clock.SkewError)) {
			t.Errorf("%s of a clock 36 h ahead: %v, want a SkewError", name, err)
		}
	}
}

// A leader whose clock is ahead proposes nothing at all, not even commands without a time.
func TestLeaderAheadProposesNothing(t *testing.T) {
	m := openOne(t)
	ahead := stranger(m, time.Minute)
	for _, id := range []string{"b", "c"} {
		ahead.clock.ObservePeer(id, time.Now().UnixMilli(), 0)
	}
	if _, err := ahead.UpdateConfig(t.Context(), nil, func(*commandv1.Config) {}); !errors.As(err, new(*clock.SkewError)) {
		t.Errorf("UpdateConfig() = %v, want a SkewError", err)
	}
}

// One other voter contradicts a clock that has never agreed with another: neither is known to be correct.
func TestDisputedClockIsNotObserved(t *testing.T) {
	m := openOne(t)
	disputed := stranger(m, time.Hour)
	disputed.clock.ObservePeer("b", time.Now().Add(36*time.Hour).UnixMilli(), 0)
	before := disputed.clock.Now().Wall
	if err := disputed.observe(t.Context()); err != nil || m.fsm.Observed().Load() >= before {
		t.Errorf("observe() = %v, and the observed clock is %d ms from the disputed one", err, m.fsm.Observed().Load()-before)
	}
}
