package fsm

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/reflect/protoreflect"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// choices holds whether commands have a field set, and whether some leave it out.
type choices struct{ set, unset bool }

// note adds what a message chose for each of its fields, and for those of its messages.
func note(drawn map[protoreflect.FullName]choices, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		c := drawn[f.FullName()]
		if m.Has(f) {
			c.set = true
		} else {
			c.unset = true
		}
		drawn[f.FullName()] = c
		switch {
		case !m.Has(f) || f.Message() == nil:
		case f.IsList():
			for j := range m.Get(f).List().Len() {
				note(drawn, m.Get(f).List().Get(j).Message())
			}
		default:
			note(drawn, m.Get(f).Message())
		}
	}
}

// missing returns the fields of a message, and of its messages, that no command has set.
func missing(drawn map[protoreflect.FullName]choices, d protoreflect.MessageDescriptor) map[protoreflect.FullName]bool {
	all := map[protoreflect.FullName]bool{}
	fields := d.Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if c := drawn[f.FullName()]; !c.set || f.HasOptionalKeyword() && !c.unset {
			all[f.FullName()] = true
		}
		if f.Message() != nil {
			maps.Copy(all, missing(drawn, f.Message()))
		}
	}
	return all
}

// undrawn is the field that no model draws: only the state machine writes the generation of a configuration, and every
// SetConfig must leave it out.
const undrawn = protoreflect.FullName("command.v1.Config.generation")

// The models draw every other field of every command, and leave out those that are optional.
func TestModelsDrawEveryField(t *testing.T) {
	t.Parallel()
	drawn := map[protoreflect.FullName]choices{}
	read := func(log []*raft.Log) {
		for _, entry := range log {
			cmd, err := Decode(entry.Data)
			if err != nil {
				t.Fatal(err)
			}
			note(drawn, cmd.ProtoReflect())
		}
	}
	for seed := range uint64(96) {
		source := seeded{rand.New(rand.NewPCG(seed, 0))}
		w, l := newWorld(source, adversary{}, 1), newLives(source)
		if seed < 4 {
			w = newLeaseWorld(source, adversary{}, 1)
		}
		if err := w.run(walkSteps); err != nil {
			t.Fatal(err)
		}
		if err := l.run(2, walkSteps); err != nil {
			t.Fatal(err)
		}
		g, err := walkLedger(seed)
		if err != nil {
			t.Fatal(err)
		}
		read(w.log)
		read(l.log)
		read(g.log)
	}
	missing := missing(drawn, (*commandv1.Command)(nil).ProtoReflect().Descriptor())
	if got := slices.Sorted(maps.Keys(missing)); !slices.Equal(got, []protoreflect.FullName{undrawn}) {
		t.Errorf("no model draws %v, want %v", got, undrawn)
	}
}
