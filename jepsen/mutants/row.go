//go:build linux

package mutants

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/nemesis"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// ControlName is the name of the control, or the beginning of the name if there are several.
const ControlName = "control"

// Row is a bug with a run that shows the bug soon, or a control.
type Row struct {
	// Bug is the name of the planted bug; empty for a control, which must pass.
	Bug string
	// Where distinguishes several rows of the same bug; empty for the first.
	Where string
	// Workloads are the names of the workloads of clients.
	Workloads []string
	// Kinds names the faults to draw from the seed, in the syntax of "jepsen run --nemesis". Events are faults at fixed
	// times. The members that the faults hit are random in both cases.
	Kinds  string
	Events []schedule.Event
	// Duration is the length of the part of the run with faults.
	Duration time.Duration
	// Rate is the approximate number of requests per second of each workload; 0 for [schedule.DefaultRate].
	Rate float64
	// MaxWindow is the longest window that members grant; 0 for the default of runs.
	MaxWindow time.Duration
	// Members is the number of members; 0 for 3.
	Members int
	// Serve are additional flags of "snowraft serve".
	Serve []string
	// Expected are the checkers that should catch the bug. Any other checker suffices too, unless OnlyExpected is true.
	Expected     []string
	OnlyExpected bool
}

// Name returns the bug's name, or [ControlName], followed by Where.
func (r *Row) Name() string {
	name := r.Bug
	if r.control() {
		name = ControlName
	}
	if r.Where != "" {
		name += "-" + r.Where
	}
	return name
}

// control reports whether the row has no bug.
func (r *Row) control() bool { return r.Bug == "" }

// Plan returns the row's run for a seed.
func (r *Row) Plan(seed uint64) (schedule.Plan, error) {
	p := schedule.Plan{
		Header: schedule.Header{Seed: seed, Members: r.members(), Duration: schedule.Duration(r.Duration), Workloads: r.Workloads, Rate: r.Rate, MaxWindow: schedule.Duration(r.MaxWindow), Flags: r.Serve},
		Events: slices.Clone(r.Events),
	}
	if !r.control() {
		p.Mutants = []string{r.Bug}
	}
	chance := rand.New(rand.NewPCG(seed, 2))
	for i := range p.Events {
		p.Events[i].Seed = chance.Uint64() >> 11 // exact as a JSON number
	}
	if r.Kinds == "" {
		return p, nil
	}
	kinds, err := nemesis.Choose(r.Kinds)
	if err != nil {
		return p, fmt.Errorf("%s: %w", r.Name(), err)
	}
	p.Events = append(p.Events, nemesis.Expand(seed, kinds, r.Duration, r.members(), r.Workloads)...)
	return p, nil
}

func (r *Row) members() int {
	if r.Members == 0 {
		return 3
	}
	return r.Members
}

// Choose returns the rows with these names, all rows if names is empty.
func Choose(names []string) ([]Row, error) {
	all := Rows()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []Row
	for _, name := range names {
		i := slices.IndexFunc(all, func(r Row) bool { return r.Name() == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown mutant %q; choose from %s", name, strings.Join(Names(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Names returns the names of all rows.
func Names() []string {
	var names []string
	for _, r := range Rows() {
		names = append(names, r.Name())
	}
	return names
}

// again returns events that repeat a fault at the interval every, from 1 s on, as long as the fault ends by end.
func again(e schedule.Event, every, end time.Duration) []schedule.Event {
	var events []schedule.Event
	for at := time.Second; at+time.Duration(e.For) <= end; at += every {
		e.At = schedule.Duration(at)
		events = append(events, e)
	}
	return events
}

// lasting converts the duration of a fault.
func lasting(d time.Duration) schedule.Duration { return schedule.Duration(d) }
