//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/jepsen/disk"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

func diskKinds() []Kind {
	return []Kind{
		{
			Name: "power-loss", Family: Disk, About: "one member, a majority or all lose power and all unsynced writes",
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{On: one(r, Leader, Follower, Majority, All), For: between(r, 200*time.Millisecond, 5*time.Second)}
			},
			Begin: powerLoss,
		},
		{
			Name: "dead-disk", Family: Disk, About: "a disk fails while its member runs",
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{On: one(r, Leader, Follower), For: between(r, 2*time.Second, 15*time.Second)}
			},
			Begin: deadDisk,
		},
		{
			Name: "full-disk", Family: Disk, About: "a disk or all disks have 0, 4 or 64 KiB left",
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{On: one(r, Leader, Follower, All), Amount: one(r, "0", "4096", "65536"), For: between(r, 2*time.Second, 15*time.Second)}
			},
			Begin: fullDisk,
		},
		{
			Name: "slow-sync", Family: Disk, About: "each sync of a disk or of all disks takes 20 ms to 3 s longer", Interposed: true,
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{On: one(r, Leader, Follower, All), Amount: one(r, "20ms", "200ms", "3s"), For: between(r, 3*time.Second, 15*time.Second)}
			},
			Begin: slowSync,
		},
		{
			Name: "failed-write", Family: Disk, About: "a write to a disk fails, and so do all later writes", Interposed: true,
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{On: one(r, Leader, Follower), Amount: strconv.Itoa(1 + r.IntN(20)), For: between(r, 2*time.Second, 10*time.Second)}
			},
			Begin: failedWrite,
		},
		{
			Name: "torn-write", Family: Disk, About: "only a part of a write reaches the disk, then the member is killed", Interposed: true, Alone: true,
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{On: one(r, Leader, Follower), Amount: strconv.Itoa(1 + r.IntN(20)), For: between(r, time.Second, 5*time.Second)}
			},
			Begin: tornWrite,
		},
		{
			Name: "lying-sync", Family: Disk, About: "one disk reports syncs that it did not make, then loses power", Interposed: true, Alone: true,
			Draw: func(r *rand.Rand) schedule.Event {
				return schedule.Event{On: one(r, Leader, Follower), For: between(r, 2*time.Second, 10*time.Second)}
			},
			Begin: lyingSync,
		},
	}
}

func powerLoss(_ context.Context, w *World, e schedule.Event) (Made, error) {
	hit, err := w.targets(e)
	if err != nil {
		return Made{}, err
	}
	if err := powerOff(hit); err != nil {
		return Made{}, err
	}
	for _, m := range hit {
		m.Kill()
	}
	return Made{Hosts: names(hit), Undo: then(powerOn(hit), starts(hit))}, nil
}

func powerOff(members []*lab.Member) error {
	for _, m := range members {
		if err := m.Disk.PowerOff(); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// powerOn returns a function that kills the members if they run, and mounts their disks again.
func powerOn(members []*lab.Member) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, m := range members {
			m.Kill() // another fault may have started it meanwhile
			if err := m.Disk.PowerOn(ctx); err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
		}
		return nil
	}
}

func deadDisk(_ context.Context, w *World, e schedule.Event) (Made, error) {
	hit, err := w.targets(e)
	if err != nil {
		return Made{}, err
	}
	return Made{Hosts: names(hit), Undo: then(powerOn(hit), starts(hit))}, powerOff(hit)
}

func fullDisk(_ context.Context, w *World, e schedule.Event) (Made, error) {
	hit, err := w.targets(e)
	if err != nil {
		return Made{}, err
	}
	leave, err := strconv.ParseInt(e.Amount, 10, 64)
	if err != nil {
		return Made{}, fmt.Errorf("amount %q: expected a number of bytes such as 4096", e.Amount)
	}
	var full []*lab.Member
	for _, m := range hit {
		switch err := m.Disk.Fill(leave); {
		case errors.Is(err, unix.EIO): // another fault has cut its power
		case err != nil:
			return Made{}, fmt.Errorf("%s: %w", m.Name, err)
		default:
			full = append(full, m)
		}
	}
	none := func() bool { return len(full) == 0 }
	return Made{Hosts: names(full), Detail: e.Amount + " bytes left", Idle: none, Undo: func(ctx context.Context) error {
		for _, m := range full {
			if err := m.Disk.Free(); err != nil {
				return err
			}
		}
		return starts(full)(ctx)
	}}, nil
}

// inject makes the disks of the members fail as faults says. Undo heals the disks and starts the members.
func (w *World) inject(e schedule.Event, faults func(m *lab.Member) (disk.Faults, error)) (Made, error) {
	hit, err := w.targets(e)
	if err != nil {
		return Made{}, err
	}
	for _, m := range hit {
		f, err := faults(m)
		if err != nil {
			return Made{}, err
		}
		m.Disk.Inject(f)
	}
	untouched := func() bool { return !slices.ContainsFunc(hit, func(m *lab.Member) bool { return m.Disk.Hit() }) }
	return Made{Hosts: names(hit), Detail: e.Amount, Idle: untouched, Undo: func(ctx context.Context) error {
		for _, m := range hit {
			m.Disk.Inject(disk.Faults{})
		}
		return starts(hit)(ctx)
	}}, nil
}

func slowSync(_ context.Context, w *World, e schedule.Event) (Made, error) {
	return w.inject(e, func(*lab.Member) (disk.Faults, error) {
		d, err := time.ParseDuration(e.Amount)
		return disk.Faults{SyncDelay: d}, err
	})
}

func failedWrite(_ context.Context, w *World, e schedule.Event) (Made, error) {
	return w.inject(e, func(*lab.Member) (disk.Faults, error) {
		n, err := strconv.Atoi(e.Amount)
		return disk.Faults{FailWrite: n}, err
	})
}

func tornWrite(_ context.Context, w *World, e schedule.Event) (Made, error) {
	var hit *lab.Member
	made, err := w.inject(e, func(m *lab.Member) (disk.Faults, error) {
		hit = m
		n, err := strconv.Atoi(e.Amount)
		// The torn write returns only after OnTorn has returned.
		return disk.Faults{TornWrite: n, OnTorn: m.Crash}, err
	})
	if err != nil {
		return Made{}, err
	}
	// The member must continue from whatever the torn write left, because it had promised nothing about that write.
	made.Undo = then(made.Undo, func(ctx context.Context) error { return w.UntilWell(ctx, hit) })
	return made, nil
}

// lyingSync lets a disk report false syncs for a while. Undo then cuts the disk's power. Data that the member had
// promised to keep is lost there; the other members have it.
func lyingSync(_ context.Context, w *World, e schedule.Event) (Made, error) {
	var hit *lab.Member
	made, err := w.inject(e, func(m *lab.Member) (disk.Faults, error) {
		hit = m
		return disk.Faults{SyncLies: true}, nil
	})
	if err != nil {
		return Made{}, err
	}
	hits := []*lab.Member{hit}
	made.Undo = func(ctx context.Context) error {
		if err := powerOff(hits); err != nil {
			return err
		}
		hit.Kill()
		hit.Disk.Inject(disk.Faults{})
		return then(powerOn(hits), starts(hits), func(ctx context.Context) error { return w.recovered(ctx, hit) })(ctx)
	}
	return made, nil
}
