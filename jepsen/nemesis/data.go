//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/snowraft/snowraft/jepsen/disk"
	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// dataKinds returns the faults that change the stored data of a member while it is down. They hit one member of a
// healthy cluster at a time, because Raft tolerates the loss of data of at most a minority.
func dataKinds() []Kind {
	parts := func(r *rand.Rand) schedule.Event {
		return schedule.Event{
			On: one(r, Leader, Follower), How: string(one(r, disk.Log, disk.Log, disk.Snapshot, disk.SnapshotMeta, disk.Identity)),
			For: between(r, 2*time.Second, 5*time.Second),
		}
	}
	whole := func(r *rand.Rand) schedule.Event {
		return schedule.Event{On: one(r, Leader, Follower), For: between(r, 2*time.Second, 8*time.Second)}
	}
	return []Kind{
		{
			Name: "bit-flip", Family: Disk, About: "a bit of the log, a snapshot or the identity flips while the member is down",
			Alone: true, Draw: parts, Begin: damaged(disk.FlipBit),
		},
		{
			Name: "truncate", Family: Disk, About: "the log, a snapshot or the identity is cut off while the member is down",
			Alone: true, Draw: parts, Begin: damaged(disk.Truncate),
		},
		{
			Name: "wipe", Family: Disk, About: "a member loses all its data and rejoins as a new member",
			Alone: true, Draw: whole, Begin: wipe,
		},
		{
			Name: "old-copy", Family: Disk, About: "a member's data is replaced by an old copy",
			Alone: true, Draw: whole, Begin: oldCopy,
		},
		{
			Name: "twin", Family: Disk, About: "a second member starts from a copy of a member's data",
			Alone: true, Twins: 1, Draw: whole, Begin: twin,
		},
		{
			Name: "stranger", Family: Disk, About: "a member of a foreign cluster contacts the cluster",
			Alone: true, Strays: 1, Draw: whole, Begin: stranger,
		},
	}
}

// target returns the one member that an event hits.
func (w *World) target(e schedule.Event) (*lab.Member, error) {
	hit, err := w.targets(e)
	if err == nil && len(hit) != 1 {
		err = fmt.Errorf("%s on %q: expected a single member", e.Fault, e.On)
	}
	if err != nil {
		return nil, err
	}
	return hit[0], nil
}

// damaged returns a fault that kills a member, damages a part of its data with do, and starts the member again. If the
// member has no such part, do damages its log.
func damaged(do func(*rand.Rand, string, disk.Part) (disk.Damage, error)) func(context.Context, *World, schedule.Event) (Made, error) {
	return func(ctx context.Context, w *World, e schedule.Event) (Made, error) {
		m, err := w.target(e)
		if err != nil {
			return Made{}, err
		}
		m.Kill()
		if err := m.Harvest(ctx); err != nil {
			return Made{}, err
		}
		m.Damaged(true)
		done, err := do(chance(e), m.Files(), disk.Part(e.How))
		if errors.Is(err, fs.ErrNotExist) {
			done, err = do(chance(e), m.Files(), disk.Log)
		}
		made := Made{Hosts: []string{m.Name}, Detail: done.String(), Undo: func(ctx context.Context) error {
			if err := w.recovered(ctx, m); err != nil {
				return err
			}
			m.Damaged(false)
			return nil
		}}
		return made, errors.Join(err, m.Start(ctx))
	}
}

func wipe(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	m, err := w.target(e)
	if err != nil {
		return Made{}, err
	}
	m.Kill()
	if err := m.Harvest(ctx); err != nil {
		return Made{}, err
	}
	return Made{Hosts: []string{m.Name}, Undo: func(ctx context.Context) error { return w.replace(ctx, m) }}, disk.Wipe(m.Files())
}

// oldCopy copies a member's data and lets the member continue. Undo replaces the member's data by the copy.
func oldCopy(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	m, err := w.target(e)
	if err != nil {
		return Made{}, err
	}
	side := m.Side()
	m.Kill()
	if err := errors.Join(disk.CopyDir(m.Files(), side), m.Start(ctx)); err != nil {
		return Made{}, err
	}
	return Made{Hosts: []string{m.Name}, Undo: func(ctx context.Context) error {
		m.Kill()
		if err := m.Harvest(ctx); err != nil {
			return err
		}
		if err := errors.Join(disk.CopyDir(side, m.Files()), disk.Wipe(side), m.Start(ctx)); err != nil {
			return err
		}
		return w.recovered(ctx, m)
	}}, nil
}

// twin starts a second member on another host from a copy of a member's data, while the original member runs.
func twin(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	m, err := w.target(e)
	if err != nil {
		return Made{}, err
	}
	other := w.Lab.Twins()[0]
	m.Kill()
	if err := errors.Join(disk.CopyDir(m.Files(), other.Files()), m.Start(ctx), other.Start(ctx)); err != nil {
		return Made{}, err
	}
	return Made{Hosts: []string{m.Name, other.Name}, Undo: func(ctx context.Context) error {
		other.Kill()
		if err := disk.Wipe(other.Files()); err != nil {
			return err
		}
		// The cluster may have rejected the original member instead of its twin.
		m.Kill()
		if err := m.Start(ctx); err != nil {
			return err
		}
		return w.recovered(ctx, m)
	}}, nil
}

// stranger founds a separate cluster of one member. It then restarts that member so that it tries to join the cluster
// under test.
func stranger(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	other := w.Lab.Strays()[0]
	if err := other.StartAlone(ctx); err != nil {
		return Made{}, err
	}
	undo := func(context.Context) error {
		other.Kill()
		return disk.Wipe(other.Files())
	}
	if err := w.untilAnswers(ctx, other); err != nil {
		return Made{}, errors.Join(err, undo(ctx))
	}
	other.Kill()
	w.Lab.Note(other.Name, history.NoteStranger, other.Host.IP)
	return Made{Hosts: []string{other.Name}, Undo: undo}, other.Start(ctx)
}
