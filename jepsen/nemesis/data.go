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

// dataKinds change what a member has stored while it is down. One member of a healthy
// cluster at a time: Raft allows for the loss of a minority's data, and no more.
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
			Name: "bit-flip", Family: Disk, About: "a bit of the log, a snapshot or the identity turns while the member is down",
			Alone: true, Draw: parts, Begin: damaged(disk.FlipBit),
		},
		{
			Name: "truncate", Family: Disk, About: "the log, a snapshot or the identity is cut off while the member is down",
			Alone: true, Draw: parts, Begin: damaged(disk.Truncate),
		},
		{
			Name: "wipe", Family: Disk, About: "a member loses all its data, and comes back as a new one",
			Alone: true, Draw: whole, Begin: wipe,
		},
		{
			Name: "old-copy", Family: Disk, About: "an old copy of a member's data is put back",
			Alone: true, Draw: whole, Begin: oldCopy,
		},
		{
			Name: "twin", Family: Disk, About: "a second member is started from a copy of a member's data",
			Alone: true, Twins: 1, Draw: whole, Begin: twin,
		},
		{
			Name: "stranger", Family: Disk, About: "a member of another cluster comes to ours",
			Alone: true, Strays: 1, Draw: whole, Begin: stranger,
		},
	}
}

// target is the one member that an event hits.
func (w *World) target(e schedule.Event) (*lab.Member, error) {
	hit, err := w.targets(e)
	if err == nil && len(hit) != 1 {
		err = fmt.Errorf("%s is for one member at a time, and not for %q", e.Fault, e.On)
	}
	if err != nil {
		return nil, err
	}
	return hit[0], nil
}

// damaged kills a member, does something to a part of its data, and starts it again. If
// it has no such part it is done to its log.
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

// oldCopy copies a member's data, lets the member go on, and puts the copy back at last.
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

// twin starts a member on another host from a copy of a member's data, while that one runs.
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
		// The member may be the one of the two that was refused.
		m.Kill()
		if err := m.Start(ctx); err != nil {
			return err
		}
		return w.recovered(ctx, m)
	}}, nil
}

// stranger founds a cluster of one, stops it, and starts its member again so that it
// seeks contact with ours.
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
