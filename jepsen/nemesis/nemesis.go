//go:build linux

// Package nemesis makes the faults of a schedule in a lab, and undoes them. A [Kind] is a kind of fault, and [World.Play]
// plays a schedule.
package nemesis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// The families of faults.
const (
	Network = "network"
	Process = "process"
	Clock   = "clock"
	Disk    = "disk"
	Hostile = "hostile"
	Restore = "restore"
)

// Kind is one kind of fault.
type Kind struct {
	Name, Family string
	// About describes the effect in a few words.
	About string
	// Alone reports whether no other fault may overlap this one, and the cluster must be healthy when it begins. Several
	// such faults together could exceed what Raft tolerates.
	Alone bool
	// Settles is the time that undoing the fault takes; 0 if it is short.
	Settles time.Duration
	// Beside reports whether the fault is momentary and may overlap any number of faults that are not Alone.
	Beside bool
	// Interposed reports whether the fault needs disks behind a file system that can be made to fail.
	Interposed bool
	// Twins and Strays are the numbers of such hosts that the fault needs; see [lab.Config].
	Twins, Strays int
	// Workload is the name of the workload that the fault needs; empty if it needs none.
	Workload string
	// Members is the least number of members that the fault needs; 0 for any number.
	Members int
	// Draw chooses the duration and details of an event. [Expand] and [Mix] set Fault, At and Seed.
	Draw func(r *rand.Rand) schedule.Event
	// Begin makes the fault. If it fails, it has undone the fault.
	Begin func(ctx context.Context, w *World, e schedule.Event) (Made, error)
}

// Fits returns nil if a run with this number of members and these workloads can have faults of this kind. Otherwise its
// error names the reason.
func (k Kind) Fits(members int, workloads []string) error {
	switch {
	case k.Members > members:
		return fmt.Errorf("%s needs %d members, the cluster has %d; set --members", k.Name, k.Members, members)
	case k.Workload != "" && !slices.Contains(workloads, k.Workload):
		return fmt.Errorf("%s needs the workload %s; add it to --workload", k.Name, k.Workload)
	default:
		return nil
	}
}

// Made is a fault that was made.
type Made struct {
	Hosts  []string      // hosts that the fault hit
	Offset time.Duration // offset of the clocks of Hosts
	Detail string
	// Idle reports, before the fault is undone, whether nothing occurred that the fault could have hit. It is nil if the
	// fault always hits something, or if that is unknown.
	Idle func() bool
	// Undo undoes the fault; nil if there is nothing to undo. Its context may outlive the run's.
	Undo func(ctx context.Context) error
}

// Kinds returns all kinds of faults that schedules are drawn from.
func Kinds() []Kind {
	return slices.Concat(networkKinds(), processKinds(), clockKinds(), diskKinds(), dataKinds(), guestKinds(), hostileKinds(), restoreKinds())
}

// Choose returns the kinds in names, a comma-separated list of kinds and families. "all" stands for all kinds, and "none"
// for no kind.
func Choose(names string) ([]Kind, error) {
	switch names {
	case "all":
		return Kinds(), nil
	case "none":
		return nil, nil
	}
	var chosen []Kind
	for name := range strings.SplitSeq(names, ",") {
		found := false
		for _, k := range Kinds() {
			if k.Name == name || k.Family == name {
				chosen, found = append(chosen, k), true
			}
		}
		if !found {
			return nil, fmt.Errorf("unknown nemesis %q; choose from %s, a family (network, process, clock, disk, hostile, restore), all or none", name, Names())
		}
	}
	return chosen, nil
}

// Named returns the kind with this name, which may be "finalize".
func Named(name string) (Kind, error) {
	for _, k := range append(Kinds(), finalizeKind()) {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("unknown nemesis %q; choose from %s", name, Names())
}

// Names returns the names of [Kinds], separated by commas.
func Names() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// World is the lab of a run with the state that its faults share.
type World struct {
	Lab *lab.Lab

	last     Backup // backup with which the cluster's present life began
	upgrades upgrades
}

// The targets of an event. Any other target is the name of a host. Members are chosen among the founders.
const (
	Leader   = "leader"   // the leader; a running founder while there is none
	Follower = "follower" // one founder that does not lead, a running one if possible
	Majority = "majority" // just more than half, including the leader
	Minority = "minority" // just less than half, without the leader
	All      = "all"
)

// targets returns the members that an event hits.
func (w *World) targets(e schedule.Event) ([]*lab.Member, error) {
	members := slices.Clone(w.Lab.Founders())
	r := chance(e)
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	// The leader comes first, then the other running members, then those that are down.
	leader := w.Lab.Leader()
	rank := func(m *lab.Member) int {
		switch {
		case m == leader:
			return 0
		case m.Running():
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(members, func(a, b *lab.Member) int { return rank(a) - rank(b) })
	most := len(members)/2 + 1
	switch e.On {
	case Leader:
		return members[:1], nil
	case Follower:
		return members[1:2], nil
	case Majority:
		return members[:most], nil
	case Minority:
		return members[most:], nil
	case All:
		return members, nil
	}
	m := w.Lab.Member(e.On)
	if m == nil {
		return nil, fmt.Errorf("unknown member %q", e.On)
	}
	return []*lab.Member{m}, nil
}

// chance returns the random source of an event, seeded by the event.
func chance(e schedule.Event) *rand.Rand { return rand.New(rand.NewPCG(e.Seed, 0)) }

// names returns the names of members.
func names(members []*lab.Member) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.Name)
	}
	return all
}

// one returns a random one of the arguments.
func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// between returns a random duration in [least, most), rounded to milliseconds. Its logarithm is uniformly distributed,
// so each order of magnitude is equally likely.
func between(r *rand.Rand, least, most time.Duration) schedule.Duration {
	d := float64(least) * math.Pow(float64(most)/float64(least), r.Float64())
	return schedule.Duration(time.Duration(d).Round(time.Millisecond))
}
