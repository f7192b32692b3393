//go:build linux

package nemesis

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

// Where the backup of a restore comes from.
const (
	FromMember    = "member"    // with all that was acknowledged before
	FromStale     = "stale"     // the state of some member
	FromDirectory = "directory" // of a member, after the end of all of them
	FromLast      = "last"      // the backup that the cluster began with, if it did with one
)

// settlesWithin is what a restore takes in runs with the usual windows: until they have passed, and some seconds.
const settlesWithin = 35 * time.Second

func restoreKinds() []Kind {
	return []Kind{{
		Name: "restore", Family: Restore, About: "a backup; some time later all members end for good, and a new cluster begins with it",
		Alone: true, Settles: settlesWithin,
		Draw: func(r *rand.Rand) schedule.Event {
			return schedule.Event{
				On: All, How: one(r, FromMember, FromMember, FromStale, FromDirectory, FromDirectory, FromLast),
				For: between(r, 500*time.Millisecond, 12*time.Second),
			}
		},
		Begin: restore,
	}}
}

// restore backs up at once, and ends the cluster when it is undone.
func restore(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	r := chance(e)
	founders := w.Lab.Founders()
	source, first := one(r, founders...), one(r, founders...)
	var kept []*lab.Member // whose directories are left
	if r.IntN(2) == 0 {
		kept = append(kept, one(r, founders...))
	}
	how := e.How
	if how == FromLast && w.last.File == "" {
		how = FromMember
	}
	var backup Backup
	var err error
	switch how {
	case FromMember, FromStale:
		backup, err = w.Backup(ctx, how, source)
	case FromLast:
		backup = w.last
	case FromDirectory:
		kept = append(kept, source)
	default:
		err = fmt.Errorf("restore: %q is not a source of backups", e.How)
	}
	if err != nil {
		return Made{}, err
	}
	return Made{Hosts: names(founders), Detail: fmt.Sprintf("from %s %s onto %s", how, source.Name, first.Name), Undo: func(ctx context.Context) error {
		w.End()
		if how == FromDirectory {
			if backup, err = w.Backup(ctx, how, source); err != nil {
				return err
			}
		}
		if _, err := w.Restore(ctx, backup, first, kept...); err != nil {
			return err
		}
		if err := w.UntilWell(ctx, founders...); err != nil {
			return err
		}
		return w.Resume(ctx)
	}}, nil
}

// Backup is a backup of a cluster.
type Backup struct {
	File    string
	Source  string
	TakenAt int64
}

// Backup takes a backup: of a cluster through a member, of one member, or of its directory if it is down.
func (w *World) Backup(ctx context.Context, how string, m *lab.Member) (Backup, error) {
	dir, err := w.Lab.Backups()
	if err != nil {
		return Backup{}, err
	}
	b := Backup{File: filepath.Join(dir, fmt.Sprintf("%d-%s-%s", w.Lab.Life(), m.Name, how)), Source: how + " " + m.Name}
	args := []string{"backup", b.File, "--addr", m.Address(lab.PortAPI)}
	switch how {
	case FromStale:
		args = append(args, "--stale")
	case FromDirectory:
		args = []string{"backup", b.File, "--data-dir", m.DataDir()}
	}
	if _, err := w.Lab.Command(ctx, args...); err != nil {
		return Backup{}, err
	}
	b.TakenAt = history.Now()
	return b, nil
}

// End ends all members at one moment, those of workloads too.
func (w *World) End() {
	for _, m := range w.Lab.Members {
		m.Crash()
	}
	for _, m := range w.Lab.Members {
		m.Kill()
	}
}

// Restore begins a new cluster with a backup, after the members of the old one have ended: on the founders' hosts, with
// new directories except for those kept all of the old ones are removed. It returns when the members are started.
func (w *World) Restore(ctx context.Context, b Backup, first *lab.Member, kept ...*lab.Member) (history.Life, error) {
	life := history.Life{At: history.Now(), Backup: b.Source, TakenAt: b.TakenAt, First: first.Name}
	ended := time.Unix(0, history.Wall()).UTC()
	if err := w.Lab.Bury(ctx, kept...); err != nil {
		return life, err
	}
	args := []string{
		"restore", b.File, "--data-dir", first.DataDir(), "--old-ended", ended.Format(time.RFC3339Nano), "--old-cluster-is-gone",
		"--old-max-window", w.Lab.MaxWindow().String(), "-o", "json",
	}
	if w.Lab.Secured() {
		args = append(args, "--keep-tokens")
	}
	text, err := w.Lab.Command(ctx, args...)
	if err != nil {
		return life, err
	}
	var said struct {
		ClusterID       string `json:"clusterId"`
		Index           uint64 `json:"index,string"`
		FloorMillis     int64  `json:"floorAtMs,string"`
		IssuesMillis    int64  `json:"issuesAtMs,string"`
		FrozenSequences int    `json:"frozenSequences"`
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		return life, fmt.Errorf("restore -o json: %w", err)
	}
	life.Number, life.ClusterID, life.Index = w.Lab.Life(), said.ClusterID, said.Index
	life.FloorMillis, life.IssuesMillis, life.Frozen = said.FloorMillis, said.IssuesMillis, said.FrozenSequences
	if err := w.Lab.Begin(first); err != nil {
		return life, err
	}
	w.last = b
	w.Lab.Tell(history.Line{Life: &life}) // before the first of its processes starts
	if err := first.Start(ctx); err != nil {
		return life, err
	}
	return life, w.Lab.Boot(ctx)
}
