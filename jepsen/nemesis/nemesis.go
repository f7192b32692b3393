//go:build linux

// Package nemesis makes the faults of a schedule in a lab, and takes them back.
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
	// About says what it does, in a few words.
	About string
	// Alone says that no other fault may be there at the same time, and that the cluster has
	// to be well when it begins: what several of it could do is more than Raft allows for.
	Alone bool
	// Settles is the time that it takes to undo the fault, if that is long.
	Settles time.Duration
	// Beside says that it is a moment that adds to faults, however many there are.
	Beside bool
	// Interposed says that disks need a file system in front of them that can fail.
	Interposed bool
	// Twins and Strays are how many hosts of these kinds it needs.
	Twins, Strays int
	// Workload is the name of the workload that it is for; empty if it is for any.
	Workload string
	// Members is the least number of members that it needs; 0 is any number.
	Members int
	// Draw chooses an event's duration and particulars. Fault, At and Seed are set by others.
	Draw func(r *rand.Rand) schedule.Event
	// Begin makes the fault. What it has made when it fails it has taken back.
	Begin func(ctx context.Context, w *World, e schedule.Event) (Made, error)
}

// Fits says why a run with so many members and these workloads can't have faults of this kind; nil if it can.
func (k Kind) Fits(members int, workloads []string) error {
	switch {
	case k.Members > members:
		return fmt.Errorf("%s needs %d members, and there are %d: see --members", k.Name, k.Members, members)
	case k.Workload != "" && !slices.Contains(workloads, k.Workload):
		return fmt.Errorf("%s needs the workload %s: see --workload", k.Name, k.Workload)
	default:
		return nil
	}
}

// Made is a fault that was made.
type Made struct {
	Hosts  []string      // that it hit
	Offset time.Duration // of their clocks
	Detail string
	// Idle reports, before it is undone, whether nothing came that it could have hit; nil if it hits always,
	// or nobody knows.
	Idle func() bool
	// Undo takes it back; nil if there is nothing to take back. Its context is not bounded by
	// the run's.
	Undo func(ctx context.Context) error
}

// Kinds are all kinds of faults.
func Kinds() []Kind {
	return slices.Concat(networkKinds(), processKinds(), clockKinds(), diskKinds(), dataKinds(), guestKinds(), hostileKinds(), restoreKinds())
}

// Choose returns the kinds of these names, which are of kinds or families, separated by
// commas; "all" are all, and "none" none.
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
			return nil, fmt.Errorf("there is no nemesis %q: choose of %s; a family of network, process, clock, disk, hostile and restore; all or none", name, Names())
		}
	}
	return chosen, nil
}

// Named returns the kind of that name.
func Named(name string) (Kind, error) {
	for _, k := range append(Kinds(), finalizeKind()) {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("there is no nemesis %q: choose of %s", name, Names())
}

// Names lists the kinds.
func Names() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// World is where faults are made.
type World struct {
	Lab *lab.Lab

	last     Backup // that the present life of the cluster began with
	upgrades upgrades
}

// Whom an event may hit, beside a host by its name. They are chosen among the founders.
const (
	Leader   = "leader"   // who leads, or anybody when nobody does
	Follower = "follower" // one who runs and does not lead
	Majority = "majority" // just more than half, with the leader
	Minority = "minority" // just less than half, without the leader
	All      = "all"
)

// targets says whom an event hits.
func (w *World) targets(e schedule.Event) ([]*lab.Member, error) {
	members := slices.Clone(w.Lab.Founders())
	r := chance(e)
	r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	// The leader first, then those who run, then those who don't.
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
		return nil, fmt.Errorf("there is no member %q", e.On)
	}
	return []*lab.Member{m}, nil
}

// chance is what an event leaves to chance.
func chance(e schedule.Event) *rand.Rand { return rand.New(rand.NewPCG(e.Seed, 0)) }

// names are the names of members.
func names(members []*lab.Member) []string {
	var all []string
	for _, m := range members {
		all = append(all, m.Name)
	}
	return all
}

// one chooses one of these.
func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// between chooses a duration in [least, most), short ones as likely
// as long ones: evenly over their magnitudes.
func between(r *rand.Rand, least, most time.Duration) schedule.Duration {
	d := float64(least) * math.Pow(float64(most)/float64(least), r.Float64())
	return schedule.Duration(time.Duration(d).Round(time.Millisecond))
}
