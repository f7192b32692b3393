package fsm

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// A creation on demand obeys the configuration at its place in the log.
func TestCreateOnDemand(t *testing.T) {
	const (
		relaxed = commandv1.SequenceMode_SEQUENCE_MODE_RELAXED
		strict  = commandv1.SequenceMode_SEQUENCE_MODE_STRICT
	)
	l := newLog(t)
	configure := func(create commandv1.AutoCreate) {
		c := proto.CloneOf(l.Config())
		generation := c.GetGeneration()
		c.Generation, c.RedisCreate = 0, create
		l.must(setConfig(c, generation))
	}
	demand := func(name string, mode commandv1.SequenceMode) *commandv1.Command {
		return onDemand(create(plain(name, func(s *commandv1.SequenceSpec) { s.Mode = mode }), 0))
	}
	refused := func(name string) {
		t.Helper()
		if r := l.refused(redisCreateOff, demand(name, strict)); !strings.Contains(r.Detail, "snowraft seq create") {
			t.Errorf("refused with %q", r.Detail)
		}
	}
	refused("never-configured")
	for _, c := range []struct {
		create commandv1.AutoCreate
		mode   commandv1.SequenceMode
	}{
		{commandv1.AutoCreate_AUTO_CREATE_RELAXED, relaxed},
		{commandv1.AutoCreate_AUTO_CREATE_STRICT, strict},
	} {
		configure(c.create)
		for asked, name := range map[commandv1.SequenceMode]string{relaxed: "asked-relaxed-", strict: "asked-strict-"} {
			name += c.mode.String()
			created := l.must(demand(name, asked)).Sequence
			if got := l.seq(name); got.Spec.GetMode() != c.mode || got.Next != 1 || got.Generation != l.index {
				t.Errorf("%v created %+v", c.create, got)
			}
			if again := l.must(demand(name, relaxed+strict-asked)).Sequence; again.Generation != created.Generation {
				t.Errorf("again: %+v, want %+v", again, created)
			}
		}
		configure(commandv1.AutoCreate_AUTO_CREATE_OFF)
		refused("off-again")
	}
	// An existing sequence is returned under any configuration, with any specification.
	tens := plain("tens", numbers(10, 10, 10, 1000))
	generation := l.must(create(tens, 0)).Sequence.Generation
	if got := l.must(demand("tens", strict)).Sequence; got.Generation != generation || !proto.Equal(got.Spec, tens) {
		t.Errorf("on demand: %+v, want %v", got, tens)
	}
	l.refused(invalidArgument, forced(demand("tens", strict)))
	over := demand("tens", strict)
	over.GetCreateSequence().Replaces = new(uint64(0))
	l.refused(invalidArgument, over)
	// A deleted sequence is not begun again.
	l.must(create(plain("gone"), 0))
	l.take("gone", 10, 0)
	l.must(remove("gone"))
	refused("gone")
	configure(commandv1.AutoCreate_AUTO_CREATE_STRICT)
	l.refused(wouldRepeats, demand("gone", strict))
	l.survives()
}

// onDemand returns the specification that a creation on demand must create or find, or the reason why it must be refused.
func (q *auditSequence) onDemand(c *commandv1.CreateSequence, config *commandv1.Config) (*commandv1.SequenceSpec, commandv1.Refusal) {
	off := config.GetRedisCreate() == commandv1.AutoCreate_AUTO_CREATE_OFF
	switch {
	case c.GetForce() || c.Replaces != nil:
		return nil, invalidArgument
	case q.live:
		return q.spec, 0
	case off:
		return nil, redisCreateOff
	}
	spec := proto.CloneOf(c.GetSpec())
	spec.Mode = commandv1.SequenceMode_SEQUENCE_MODE_RELAXED
	if config.GetRedisCreate() == commandv1.AutoCreate_AUTO_CREATE_STRICT {
		spec.Mode = commandv1.SequenceMode_SEQUENCE_MODE_STRICT
	}
	return spec, 0
}
