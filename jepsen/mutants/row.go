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

// ControlName is the name of a run without a bug, or the beginning of it.
const ControlName = "control"

// Row is a bug, and the run that shows it soon.
type Row struct {
	// Bug is what is planted; empty for the control, which has to pass.
	Bug string
	// Where tells rows of the same bug apart; usually there is one.
	Where string
	// Workloads are what clients do.
	Workloads []string
	// Kinds are faults to be drawn from the seed, as "jepsen run --nemesis" takes them; Events
	// are faults at fixed times. Whom of several they hit is drawn either way.
	Kinds  string
	Events []schedule.Event
	// Duration is the time with faults.
	Duration time.Duration
	// Rate is the number of requests per second that each workload makes, roughly; 0 is [schedule.DefaultRate].
	Rate float64
	// MaxWindow is the longest window that is granted; 0 is the one of other runs.
	MaxWindow time.Duration
	// Members is the number of members; 0 is 3.
	Members int
	// Serve are flags of "snowraft serve".
	Serve []string
	// Expected are the checkers that should see it. Another one that does is as good, unless OnlyExpected
	// says that it is not.
	Expected     []string
	OnlyExpected bool
}

// Name is the bug's and where it is looked for, or [ControlName].
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

// Plan is the row's run for a seed.
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
		p.Events[i].Seed = chance.Uint64() >> 11 // exact as a number in JSON
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

// Choose returns the rows of these names; none of them means all.
func Choose(names []string) ([]Row, error) {
	all := Rows()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []Row
	for _, name := range names {
		i := slices.IndexFunc(all, func(r Row) bool { return r.Name() == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no mutant %q: choose of %s", name, strings.Join(Names(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Names are the names of all rows.
func Names() []string {
	var names []string
	for _, r := range Rows() {
		names = append(names, r.Name())
	}
	return names
}

// again is a fault that is made again and again from a second after the beginning on, until
// it would not be over before the end.
func again(e schedule.Event, every, end time.Duration) []schedule.Event {
	var events []schedule.Event
	for at := time.Second; at+time.Duration(e.For) <= end; at += every {
		e.At = schedule.Duration(at)
		events = append(events, e)
	}
	return events
}

// lasting is the time that a fault lasts.
func lasting(d time.Duration) schedule.Duration { return schedule.Duration(d) }
