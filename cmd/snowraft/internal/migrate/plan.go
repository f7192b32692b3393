package migrate

import (
	"context"
	"fmt"
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The actions of an import.
const (
	create  = "create"
	raise   = "raise"
	resume  = "resume" // a sequence that moved to the other system
	nothing = "unchanged"
)

// step continues one counter in a sequence. Its fields are those of the JSON, where numbers are strings.
type step struct {
	Source   string `json:"source"`
	Last     string `json:"last"` // empty if nothing was issued
	Fenced   bool   `json:"fenced"`
	Sequence string `json:"sequence"`
	Next     string `json:"next"`
	Action   string `json:"action"`
	Note     string `json:"note"`

	counter    counter
	next       int64
	generation uint64 // generation of the sequence that is raised or resumed
}

// plan is an import that may be done again: it never lowers a sequence.
type plan struct {
	remote *cli.Remote
	mode   snowraftv1.SequenceMode
}

// steps returns what an import of the counters would do.
func (p *plan) steps(ctx context.Context, counters []counter, mappings []mapping) ([]step, error) {
	from := make(map[string]string, len(counters))
	steps := make([]step, 0, len(counters))
	for _, c := range counters {
		name := sequenceOf(mappings, c.name)
		if other, ok := from[name]; ok {
			return nil, fmt.Errorf("%q and %q would become one sequence, %q: give them different names with --map", other, c.name, name)
		}
		from[name] = c.name
		s, err := p.step(ctx, c, name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// step returns what must be done so that the sequence begins after the counter.
func (p *plan) step(ctx context.Context, c counter, name string) (s step, err error) {
	s = step{Source: c.name, Fenced: c.fenced, Sequence: name, Action: create, Note: c.note, counter: c}
	if s.next, err = c.next(); err != nil {
		return s, err
	}
	if c.used {
		s.Last = strconv.FormatInt(c.last, 10)
	}
	s.Next = strconv.FormatInt(s.next, 10)
	resp, err := p.remote.Sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: name})
	if rpc.FromError(err).Code == codes.NotFound {
		return s, nil
	} else if err != nil {
		return s, fmt.Errorf("sequence %q: %w", name, err)
	}
	q := resp.GetSequence()
	switch {
	case q.GetIncrement() != c.increment:
		return s, fmt.Errorf("sequence %q exists with the increment %d, and counter %q has %d: give the counter another name with --map", name, q.GetIncrement(), c.name, c.increment)
	case q.GetReset_() > snowraftv1.SequenceReset_SEQUENCE_RESET_NONE:
		return s, fmt.Errorf("sequence %q exists and begins again in each period: give counter %q another name with --map", name, c.name)
	case q.GetMoved():
		s.Action, s.generation = resume, q.GetGeneration()
		if beyond := q.GetNext() > s.next; beyond == (c.increment > 0) {
			s.Next = strconv.FormatInt(q.GetNext(), 10)
		}
	case q.Next == nil || q.GetNext() >= s.next && c.increment > 0 || q.GetNext() <= s.next && c.increment < 0:
		s.Action = nothing
	default:
		s.Action, s.generation = raise, q.GetGeneration()
	}
	return s, nil
}

// do makes the sequence of a step begin after its counter.
func (p *plan) do(ctx context.Context, s step) (unreached []string, err error) {
	switch s.Action {
	case create:
		var resp *snowraftv1.CreateSequenceResponse
		resp, err = p.remote.Sequences.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: s.Sequence, Mode: p.mode, Start: &s.next, Increment: &s.counter.increment},
		})
		unreached = resp.GetUnreachedMembers()
	case raise:
		var resp *snowraftv1.SetNextResponse
		resp, err = p.remote.Sequences.SetNext(ctx, &snowraftv1.SetNextRequest{Sequence: s.Sequence, Next: s.next, ExpectedGeneration: &s.generation})
		unreached = resp.GetUnreachedMembers()
	case resume:
		var resp *snowraftv1.ResumeSequenceResponse
		resp, err = p.remote.Sequences.ResumeSequence(ctx, &snowraftv1.ResumeSequenceRequest{
			Sequence: s.Sequence, After: &s.counter.last, ExpectedGeneration: &s.generation,
		})
		unreached = resp.GetUnreachedMembers()
	}
	if err != nil {
		err = fmt.Errorf("counter %q, sequence %q: %w", s.Source, s.Sequence, err)
	}
	return unreached, err
}
