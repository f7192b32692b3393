package member

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/sequence"
	"github.com/snowraft/snowraft/trust"
)

// Application describes a page of sequences that get the settings of their template.
type Application struct {
	Pattern  string
	After    string // name before the first one of the page
	Limit    int    // greatest number of sequences, at least 1
	DryRun   bool   // changes nothing
	Force    Force
	Expected *uint64 // generation of the template; nil: any
}

// Applied holds the outcomes of an [Application].
type Applied struct {
	Outcomes   []Outcome // outcomes of the sequences that differ, in ascending order of their names
	Unchanged  int
	Next       string // name of the last sequence of the page; empty after the last page
	Generation uint64 // generation of the template
	Index      uint64 // log index of the last change; 0 without one
}

// Outcome is the outcome for a sequence that differs from its template.
type Outcome struct {
	Name   string
	Fields []string
	Err    error // refusal; nil if the sequence was changed or, without a change, would be
}

const (
	// appliedAtOnce is the greatest number of changes in flight: the log takes them in a few batches, and leaves room for other
	// callers.
	appliedAtOnce = 64
	// applyFor is the time after which a page ends early, so that its caller gets an answer in time from a busy cluster.
	applyFor = time.Second
)

// ApplyTemplate gives sequences that began with a template its present settings; only the leader can. Each change obeys
// the rules of UpdateSequence. The refusal of one is its outcome, and any other error ends the page: a repetition
// finds the sequences that were changed unchanged.
func (m *Member) ApplyTemplate(ctx context.Context, a Application) (Applied, error) {
	t, err := m.expectTemplate(ctx, a.Pattern, a.Expected)
	if err != nil {
		return Applied{}, err
	}
	applied := Applied{Generation: t.Generation}
	var differ []difference
	began, last, looked := m.monotonic(), "", 0
	for s := range m.fsm.Listing().Begun(a.Pattern, a.After) {
		if len(differ) == appliedAtOnce {
			if err := m.applyAll(ctx, differ, a, &applied); err != nil {
				return Applied{}, err
			}
			differ = nil
		}
		if looked == a.Limit || looked > 0 && len(differ) == 0 && m.monotonic() > began+applyFor {
			applied.Next = last
			break
		}
		last, looked = s.Spec.GetName(), looked+1
		want := proto.CloneOf(t.Spec.GetSettings())
		want.Name, want.Template = s.Spec.GetName(), s.Spec.GetTemplate()
		if proto.Equal(want, s.Spec) {
			applied.Unchanged++
		} else {
			differ = append(differ, difference{s, want})
		}
	}
	if err := m.applyAll(ctx, differ, a, &applied); err != nil {
		return Applied{}, err
	}
	if applied.Index != 0 {
		trust.NoteIndex(ctx, applied.Index)
	}
	return applied, nil
}

// difference is a sequence that differs from its template, and the specification that it is to get.
type difference struct {
	present fsm.Sequence
	want    *commandv1.SequenceSpec
}

// applyAll changes sequences at the same time and adds their outcomes.
func (m *Member) applyAll(ctx context.Context, differ []difference, a Application, applied *Applied) error {
	indexes, errs := make([]uint64, len(differ)), make([]error, len(differ))
	var wg sync.WaitGroup
	for i, d := range differ {
		wg.Go(func() { indexes[i], errs[i] = m.applyTo(ctx, d.present, d.want, a) })
	}
	wg.Wait()
	for i, d := range differ {
		if errs[i] != nil && !refusesOne(errs[i]) {
			return errs[i]
		}
		applied.Index = max(applied.Index, indexes[i])
		applied.Outcomes = append(applied.Outcomes, Outcome{d.want.GetName(), differingFields(d.present.Spec, d.want), errs[i]})
	}
	return nil
}

// applyTo changes a sequence or, in a dry run, returns the refusal that the change would get. It returns the index of the change.
func (m *Member) applyTo(ctx context.Context, s fsm.Sequence, want *commandv1.SequenceSpec, a Application) (index uint64, err error) {
	if !a.DryRun {
		changed, err := m.UpdateSequence(ctx, want.GetName(), Update{
			Edit: func(spec *commandv1.SequenceSpec) error {
				proto.Reset(spec)
				proto.Merge(spec, want)
				return nil
			},
			Force: a.Force, Expected: &s.Generation,
		})
		return changed.Index, err
	}
	if err := m.acceptChange(s, want, a.Force.Format); err != nil {
		return 0, err
	}
	m.fsm.View(func(state *fsm.State) {
		err = state.CheckUpdate(&commandv1.UpdateSequence{Spec: want, Generation: s.Generation, Force: a.Force.Numbers})
	})
	return 0, err
}

// refusesOne reports whether an error is about one sequence, so that the changes of others may succeed.
func refusesOne(err error) bool {
	if refused, ok := errors.AsType[*fsm.Refused](err); ok {
		return slices.Contains([]commandv1.Refusal{
			commandv1.Refusal_REFUSAL_WOULD_REPEAT, commandv1.Refusal_REFUSAL_SEQUENCE_FROZEN, commandv1.Refusal_REFUSAL_SEQUENCE_MOVED,
			commandv1.Refusal_REFUSAL_INVALID_ARGUMENT, commandv1.Refusal_REFUSAL_GENERATION_MISMATCH,
		}, refused.Reason)
	}
	_, deleted := errors.AsType[*UnknownSequenceError](err)
	_, changed := errors.AsType[*GenerationError](err)
	return deleted || changed || errors.Is(err, sequence.ErrInvalidFormat)
}

// differingFields returns the names of the fields in which two specifications differ.
func differingFields(a, b *commandv1.SequenceSpec) (names []string) {
	fields := a.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); !a.ProtoReflect().Get(f).Equal(b.ProtoReflect().Get(f)) {
			names = append(names, string(f.Name()))
		}
	}
	return names
}
