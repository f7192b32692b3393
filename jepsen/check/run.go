package check

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/snowflake"
)

// Run is an opened run directory: the journal without the operations, which can be many. Only [Judge] changes a
// Run after [Open]. Times are on the clock of [history.Now].
type Run struct {
	Dir       string
	Header    history.Run
	Layouts   map[string]*snowflake.Layout
	Processes []ProcessSpan // sorted by Start
	Faults    []FaultSpan   // sorted by begin
	Statuses  []history.Status
	Phases    map[string]int64 // times by the names of phases
	Notes     []history.Note
	Lives     []history.Life // restored clusters, in order; the first life is not among them

	gaps map[uint32][]gap // exceptions of wrapped generators, by start
}

// ProcessSpan is a process, from its start to its end.
type ProcessSpan struct {
	Start     uint32
	Member    string
	Generator bool
	Binary    string // path of the program
	From, To  int64  // To is MaxInt64 without an end
	Exit      string // exit status or signal
}

// FaultSpan is a fault, from its begin to its end.
type FaultSpan struct {
	Event        int
	Name, Family string
	From, To     int64 // To is MaxInt64 without an end
	Hosts        []string
	OffsetNanos  int64
	Detail       string
	Idle         bool // nothing to affect
	Failed       string
}

// Open reads a run's journal. It returns an error if a line cannot be read or contradicts another line.
func Open(dir string) (*Run, error) {
	r := &Run{Dir: dir, Layouts: map[string]*snowflake.Layout{}, Phases: map[string]int64{}}
	headed := false
	for line, err := range history.Lines(dir) {
		if err != nil {
			return nil, err
		}
		if line.Run != nil {
			if headed {
				return nil, errors.New("history has two headers")
			}
			headed, r.Header = true, *line.Run
		}
		if err := r.add(line); err != nil {
			return nil, err
		}
	}
	if !headed {
		return nil, errors.New("history has no header")
	}
	slices.SortFunc(r.Processes, func(a, b ProcessSpan) int { return cmp.Compare(a.Start, b.Start) })
	return r, nil
}

// add adds a line to the run. It ignores headers, sequences and operations.
func (r *Run) add(line history.Line) error {
	switch {
	case line.Layout != nil:
		return r.addLayout(line.Layout)
	case line.Process != nil:
		return r.addProcess(line.Process)
	case line.Fault != nil:
		r.addFault(line.Fault)
	case line.Status != nil:
		r.Statuses = append(r.Statuses, *line.Status)
	case line.Phase != nil:
		r.Phases[line.Phase.Name] = line.Phase.At
	case line.Note != nil:
		r.Notes = append(r.Notes, *line.Note)
	case line.Life != nil:
		r.Lives = append(r.Lives, *line.Life)
		if line.Life.Number != len(r.Lives)+1 {
			return fmt.Errorf("history has life %d: expected number %d", line.Life.Number, len(r.Lives)+1)
		}
	}
	return nil
}

func (r *Run) addLayout(l *history.Layout) error {
	spec := snowflake.Spec{
		Name: l.Name, UnitMillis: l.UnitMillis, EpochMillis: l.EpochMillis, Datacenter: l.Datacenter, Spread: l.Spread, LeaseOnly: l.LeaseOnly,
	}
	for _, f := range l.Fields {
		field, err := snowflake.ParseField(f.Kind)
		if err != nil {
			return fmt.Errorf("read layout %q of history: %w", l.Name, err)
		}
		spec.Fields = append(spec.Fields, snowflake.FieldBits{Field: field, Bits: uint8(min(f.Bits, math.MaxUint8))})
	}
	layout, err := snowflake.New(spec)
	if err != nil {
		return fmt.Errorf("read layout %q of history: %w", l.Name, err)
	}
	r.Layouts[l.Name] = layout
	return nil
}

func (r *Run) addProcess(p *history.Process) error {
	at := slices.IndexFunc(r.Processes, func(s ProcessSpan) bool { return s.Start == p.Start })
	switch {
	case p.Start == 0:
		return fmt.Errorf("history has a process of %s with start 0", p.Member)
	case !p.Ended && at >= 0:
		return fmt.Errorf("history has two processes with start %d", p.Start)
	case p.Ended && at < 0:
		return fmt.Errorf("history has the end of start %d without its begin", p.Start)
	case p.Ended:
		r.Processes[at].To, r.Processes[at].Exit = p.At, p.Exit
	default:
		r.Processes = append(r.Processes, ProcessSpan{
			Start: p.Start, Member: p.Member, Generator: p.Generator, Binary: p.Binary, From: p.At, To: math.MaxInt64,
		})
	}
	return nil
}

// addFault begins a span, or ends the latest open span of the same event. An end adds the hosts, detail and error that
// its begin lacks.
func (r *Run) addFault(f *history.Fault) {
	span := FaultSpan{
		Event: f.Event, Name: f.Name, Family: f.Family, From: f.At, To: math.MaxInt64,
		Hosts: f.Hosts, OffsetNanos: f.OffsetNanos, Detail: f.Detail, Failed: f.Failed,
	}
	if !f.Ended {
		r.Faults = append(r.Faults, span)
		return
	}
	for i := len(r.Faults) - 1; i >= 0; i-- {
		begun := &r.Faults[i]
		if begun.Event != f.Event || begun.Name != f.Name || begun.To != math.MaxInt64 {
			continue
		}
		begun.To, begun.Idle = f.At, f.Idle
		if len(begun.Hosts) == 0 {
			begun.Hosts = f.Hosts
		}
		begun.Detail = cmp.Or(begun.Detail, f.Detail)
		begun.Failed = cmp.Or(begun.Failed, f.Failed)
		return
	}
	span.To = f.At // end without a begin
	r.Faults = append(r.Faults, span)
}

// Ops reads the operations in the order of the journal. The iteration ends after an error.
func (r *Run) Ops() iter.Seq2[history.Op, error] {
	return func(yield func(history.Op, error) bool) {
		for line, err := range history.Lines(r.Dir) {
			if err != nil {
				yield(history.Op{}, err)
				return
			}
			if line.Op != nil && !yield(*line.Op, nil) {
				return
			}
		}
	}
}

// Process returns the process with a start number.
func (r *Run) Process(start uint32) (ProcessSpan, bool) {
	at, ok := slices.BinarySearchFunc(r.Processes, start, func(p ProcessSpan, start uint32) int { return cmp.Compare(p.Start, start) })
	if !ok {
		return ProcessSpan{}, false
	}
	return r.Processes[at], true
}
