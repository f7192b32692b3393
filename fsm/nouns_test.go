package fsm

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func TestCreateLayout(t *testing.T) {
	l := newLog(t, wide)
	again := l.must(at(math.MinInt64, createLayout(wide))) // identical: whatever the clock says
	if again.Layout == nil || again.Layout.Name() != "default" {
		t.Errorf("%+v", again)
	}
	other := wide
	other.Spread = 0
	l.refused(commandv1.Refusal_REFUSAL_LAYOUT_EXISTS, at(epoch, createLayout(other)))

	for name, spoil := range map[string]func(*commandv1.LayoutSpec){
		"no name":           func(s *commandv1.LayoutSpec) { s.Name = "" },
		"a long name":       func(s *commandv1.LayoutSpec) { s.Name = strings.Repeat("x", 1<<16) },
		"no fields":         func(s *commandv1.LayoutSpec) { s.Fields = nil },
		"a field twice":     func(s *commandv1.LayoutSpec) { s.Fields = append(s.Fields, s.Fields[0]) },
		"no kind":           func(s *commandv1.LayoutSpec) { s.Fields[0].Kind = 0 },
		"a huge width":      func(s *commandv1.LayoutSpec) { s.Fields[0].Bits = 256 + 39 },
		"no worker":         func(s *commandv1.LayoutSpec) { s.Fields = append(s.Fields[:2:2], s.Fields[3]) },
		"no sequence":       func(s *commandv1.LayoutSpec) { s.Fields = s.Fields[:3] },
		"64 bits":           func(s *commandv1.LayoutSpec) { s.Fields[0].Bits++ },
		"no unit":           func(s *commandv1.LayoutSpec) { s.UnitMs = 0 },
		"a future epoch":    func(s *commandv1.LayoutSpec) { s.EpochAtMs++ },
		"a wide datacenter": func(s *commandv1.LayoutSpec) { s.Datacenter = 4 },
	} {
		t.Run(name, func(t *testing.T) {
			spec := wide
			spec.Name = "new"
			cmd := at(epoch, createLayout(spec))
			spoil(cmd.GetCreateLayout().GetSpec())
			l.t = t
			l.refused(invalidArgument, cmd)
		})
	}
	l.t = t
	l.refused(invalidArgument, at(epoch, &commandv1.Command{Body: &commandv1.Command_CreateLayout{CreateLayout: &commandv1.CreateLayout{}}}))
	l.refused(timeExhausted, at(math.MaxInt64, createLayout(tiny)))
}

func TestLayoutsAreLimited(t *testing.T) {
	l := newLog(t)
	spec := tiny
	for i := range maxLayouts {
		spec.Name = fmt.Sprint("layout-", i)
		l.must(at(epoch, createLayout(spec)))
	}
	l.must(at(epoch, createLayout(spec)))
	spec.Name = "one-more"
	l.refused(commandv1.Refusal_REFUSAL_LIMIT_REACHED, at(epoch, createLayout(spec)))
}

func TestConfig(t *testing.T) {
	l := newLog(t)
	want := &commandv1.Config{
		MaxWindowMs: 600_000, WaitThresholdMs: 1000, MaxClockOffsetMs: 500, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_REFUSE,
		RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF,
		Upgrades:    commandv1.Upgrades_UPGRADES_AUTO,
	}
	if got := l.Config(); !proto.Equal(got, want) {
		t.Errorf("default %v, want %v", got, want)
	}
	for name, spoil := range map[string]func(*commandv1.Config){
		"max_window too low":      func(c *commandv1.Config) { c.MaxWindowMs = 999 },
		"max_window too high":     func(c *commandv1.Config) { c.MaxWindowMs = 86_400_001 },
		"wait_threshold zero":     func(c *commandv1.Config) { c.WaitThresholdMs = 0 },
		"wait_threshold high":     func(c *commandv1.Config) { c.WaitThresholdMs = 60_001 },
		"max_clock_offset zero":   func(c *commandv1.Config) { c.MaxClockOffsetMs = math.MinInt64 },
		"max_clock_offset high":   func(c *commandv1.Config) { c.MaxClockOffsetMs = math.MaxInt64 },
		"no rollback policy":      func(c *commandv1.Config) { c.Rollback = 0 },
		"another rollback policy": func(c *commandv1.Config) { c.Rollback = 3 },
		"no creation by INCR":     func(c *commandv1.Config) { c.RedisCreate = 0 },
		"another creation":        func(c *commandv1.Config) { c.RedisCreate = 4 },
		"no upgrades":             func(c *commandv1.Config) { c.Upgrades = 0 },
		"other upgrades":          func(c *commandv1.Config) { c.Upgrades = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			c := proto.CloneOf(want)
			spoil(c)
			l.t = t
			l.refused(invalidArgument, at(epoch, setConfig(c, 0)))
		})
	}
	l.t = t
	l.refused(invalidArgument, at(epoch, setConfig(nil, 0)))
}

func TestConfigIsComparedAndSwapped(t *testing.T) {
	l := newLog(t)
	first, second := proto.CloneOf(l.Config()), proto.CloneOf(l.Config())
	first.MaxWindowMs, second.MaxWindowMs = 1000, 86_400_000
	given := proto.CloneOf(first)
	set := func(generation uint64, want *commandv1.Config) {
		t.Helper()
		r := l.must(at(epoch, setConfig(given, generation)))
		want.Generation = r.Config.GetGeneration()
		if !proto.Equal(r.Config, want) || l.Config() != r.Config {
			t.Errorf("%v, want %v", r.Config, want)
		}
	}
	set(0, first)
	if l.Config().GetGeneration() != l.index {
		t.Errorf("generation %d, want %d", l.Config().GetGeneration(), l.index)
	}
	given.MaxWindowMs = 7 // the state keeps nothing of a command
	if l.Config().GetMaxWindowMs() != 1000 {
		t.Errorf("%v, want %v", l.Config(), first)
	}
	given = second
	mismatch := commandv1.Refusal_REFUSAL_GENERATION_MISMATCH
	for _, generation := range []uint64{0, first.Generation - 1, first.Generation + 1} {
		l.refused(mismatch, at(epoch, setConfig(second, generation)))
	}
	given = proto.CloneOf(second)
	set(first.Generation, second)
	set(second.Generation, second) // an equal one keeps its generation
	if first.Generation == second.Generation || second.Generation == l.index {
		t.Errorf("generations %d and %d at index %d", first.Generation, second.Generation, l.index)
	}
	given.Generation = second.Generation
	l.refused(invalidArgument, at(epoch, setConfig(given, second.Generation)))
}

func TestObserveClock(t *testing.T) {
	l := newLog(t)
	if l.observed != 0 {
		t.Errorf("%d before the first observation", l.observed)
	}
	for _, step := range []struct {
		now   int64
		force bool
		want  int64
	}{{epoch, false, epoch}, {epoch - 1, false, epoch}, {epoch + 1, false, epoch + 1}, {5, true, 5}, {6, false, 6}, {9, true, 9}} {
		if r := l.must(at(step.now, observe(step.force))); r.Observed != step.want || l.observed != step.want {
			t.Errorf("%+v returned %d", step, r.Observed)
		}
	}
	for _, now := range []int64{0, -1, math.MinInt64} {
		l.refused(invalidArgument, at(now, observe(true)))
	}
}

func TestRaiseVersion(t *testing.T) {
	l := newLog(t)
	if l.FSMVersion() != 1 {
		t.Errorf("version %d at the start", l.FSMVersion())
	}
	newer := at(epoch, observe(false))
	newer.Version = 3
	l.refused(commandv1.Refusal_REFUSAL_VERSION_TOO_LOW, newer)
	for _, step := range []struct{ to, want uint32 }{{0, 1}, {1, 1}, {3, 3}, {2, 3}} {
		l.must(at(epoch, raise(step.to)))
		if l.FSMVersion() != step.want {
			t.Errorf("raised to %d: %d, want %d", step.to, l.FSMVersion(), step.want)
		}
	}
	l.must(newer)
	if r := l.do(&commandv1.Command{}); !errors.Is(r.Halted, ErrUnknownCommand) {
		t.Errorf("no body: %+v", r)
	}
}

func TestRemoveMember(t *testing.T) {
	l := newLog(t)
	for _, id := range []string{"", "a b", strings.Repeat("x", limits.NameBytes+1)} {
		l.refused(invalidArgument, removeMember(id))
	}
	for i := range maxRemoved + 1 {
		l.must(removeMember(fmt.Sprint("node-", i)))
	}
	before := l.Digest()
	l.must(removeMember("node-1"))
	if l.Digest() != before {
		t.Error("removing a removed member changed something")
	}
	if l.Removed("node-0") || !l.Removed("node-1") || !l.Removed("node-1000") || l.Removed("node-1001") {
		t.Error("not the last 1000 are remembered")
	}
}

func TestCheckpoint(t *testing.T) {
	l := newLog(t, tiny)
	digest := l.Digest()
	l.must(checkpoint(0, nil))
	taken := l.index
	l.must(at(epoch, acquire("a/0", 1000))) // the digest is not requested until after that
	l.must(create(plain("orders"), 0))
	l.must(removeMember("node-1"))
	if index, got := l.LastCheckpoint(); index != taken || got != digest {
		t.Errorf("checkpoint %d, %x, want %d, %x", index, got, taken, digest)
	}
	l.refused(invalidArgument, checkpoint(0, digest[:]))
	l.refused(invalidArgument, checkpoint(2, digest[:31]))
	wrong := [32]byte{1}
	l.must(checkpoint(1, wrong[:])) // not the last checkpoint here: nothing to compare
	index, digest := l.LastCheckpoint()
	l.must(checkpoint(index, digest[:]))
	index, _ = l.LastCheckpoint()
	before := l.Digest()
	r := l.do(checkpoint(index, wrong[:]))
	if !errors.Is(r.Halted, ErrHalted) || r.Err == nil || l.Digest() != before {
		t.Errorf("another digest returned %+v", r)
	}
}

// TestDigestCoversEverything changes one thing at a time.
func TestDigestCoversEverything(t *testing.T) {
	seen := map[[32]byte]string{sample(t).Digest(): "the sample"}
	for name, change := range map[string]func(*State){
		"version":    func(s *State) { s.version++ },
		"observed":   func(s *State) { s.observed++ },
		"config":     func(s *State) { s.config = nil },
		"checkpoint": func(s *State) { s.lastCheckpoint.index++ },
		"digest":     func(s *State) { s.lastCheckpoint = checkpointOf(s.lastCheckpoint.index, [32]byte{1}) },
		"removed":    func(s *State) { s.removed = nil },
		"layout":     func(s *State) { s.names = s.names[1:] },
		"created":    func(s *State) { s.layouts["tiny"].created++ },
		"high-water": func(s *State) { s.layouts["tiny"].workers.at(0).highWater++ },
		"from":       func(s *State) { s.layouts["tiny"].workers.at(0).from++ },
		"token":      func(s *State) { s.layouts["tiny"].workers.at(0).token++ },
		"holder":     func(s *State) { s.layouts["tiny"].workers.at(0).holder += "x" },
		"owner":      func(s *State) { s.layouts["tiny"].workers.at(0).owner++ },
		"past owner": func(s *State) { s.layouts["tiny"].history.entries[0].Owner++ },
		"nonce":      func(s *State) { s.layouts["tiny"].workers.at(0).nonceHash[0]++ },
		"released":   func(s *State) { s.layouts["tiny"].workers.at(1).released = true },
		"grant":      func(s *State) { s.layouts["tiny"].history.entries[0].GrantedMillis++ },
	} {
		s := sample(t)
		change(s)
		digest := s.Digest()
		if other, ok := seen[digest]; ok {
			t.Errorf("%s: the same digest as %s", name, other)
		}
		seen[digest] = name
	}
}

func TestLayoutSpecSurvives(t *testing.T) {
	for _, preset := range snowflake.Presets() {
		back, err := specToLayout(LayoutSpec(preset.Spec()))
		if err != nil || !reflect.DeepEqual(back.Spec(), preset.Spec()) {
			t.Errorf("%+v, %v, want %+v", back, err, preset.Spec())
		}
	}
}

func TestFieldAndKindHaveOneNumber(t *testing.T) {
	for _, field := range []snowflake.Field{snowflake.FieldTime, snowflake.FieldDatacenter, snowflake.FieldWorker, snowflake.FieldSequence} {
		kind := commandv1.FieldKind(field).String()
		if kind != "FIELD_KIND_"+strings.ToUpper(field.String()) {
			t.Errorf("FieldKind(%v) = %s", field, kind)
		}
	}
}
