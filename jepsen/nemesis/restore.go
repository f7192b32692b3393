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

// The sources of a restore's backup.
const (
	FromMember    = "member"    // a member; the backup has every change acknowledged before it
	FromStale     = "stale"     // the state of one member, which may lag behind
	FromDirectory = "directory" // the directory of a member after all members were killed
	FromLast      = "last"      // the backup with which the cluster began; FromMember if there was none
)

// settlesWithin is the time that a restore takes in runs with windows of the usual length: until the windows of the old
// cluster have ended, plus some seconds.
const settlesWithin = 35 * time.Second

func restoreKinds() []Kind {
	return []Kind{{
		Name: "restore", Family: Restore, About: "a backup is taken; later all members stop permanently, and a new cluster begins with the backup",
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

// restore takes the backup at once, except FromDirectory. Undo kills all members and begins a new cluster with the backup.
func restore(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	r := chance(e)
	founders := w.Lab.Founders()
	source, first := one(r, founders...), one(r, founders...)
	var kept []*lab.Member // members whose old directories are kept
	if r.IntN(2) == 0 {
		kept = append(kept, one(r, founders...))
	}
	how := e.How
	if how == FromLast && len(w.last.Files) == 0 {
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
		err = fmt.Errorf("unknown backup source %q", e.How)
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

// Backup is a backup with its origin.
type Backup struct {
	Files   []string // one, or several of members with different histories
	Source  string   // source of the backup and name of the member, such as "stale n2"
	TakenAt int64    // time at which the backup was complete, on the clock of [history.Now]
}

// Backup takes a backup of the source how: through a running member, of the state of one member, or of the directory of
// a member that is down.
func (w *World) Backup(ctx context.Context, how string, m *lab.Member) (Backup, error) {
	dir, err := w.Lab.Backups()
	if err != nil {
		return Backup{}, err
	}
	file := filepath.Join(dir, fmt.Sprintf("%d-%s-%s", w.Lab.Life(), m.Name, how))
	b := Backup{Files: []string{file}, Source: how + " " + m.Name}
	args := []string{"backup", file, "--addr", m.Address(lab.PortAPI)}
	switch how {
	case FromStale:
		args = append(args, "--stale")
	case FromDirectory:
		args = []string{"backup", file, "--data-dir", m.DataDir()}
	}
	if err := w.command(ctx, "", args...); err != nil { // a leader may be missing for a moment
		return Backup{}, err
	}
	b.TakenAt = history.Now()
	return b, nil
}

// End kills all members at one moment, those of workloads too.
func (w *World) End() {
	for _, m := range w.Lab.Members {
		m.Crash()
	}
	for _, m := range w.Lab.Members {
		m.Kill()
	}
}

// Restore begins a new cluster with a backup on the founders' hosts. All members of the old cluster must be down. Their
// directories are removed, except those of kept members; the new cluster uses new ones. Restore returns when the new
// members are started.
func (w *World) Restore(ctx context.Context, b Backup, first *lab.Member, kept ...*lab.Member) (history.Life, error) {
	life := history.Life{At: history.Now(), Backup: b.Source, TakenAt: b.TakenAt, First: first.Name}
	ended := time.Unix(0, history.Wall()).UTC()
	if err := w.Lab.Bury(ctx, kept...); err != nil {
		return life, err
	}
	args := append([]string{"restore"}, b.Files...)
	args = append(args, "--data-dir", first.DataDir(), "--old-ended", ended.Format(time.RFC3339Nano), "--old-cluster-is-gone", "--clock-checked", "--zones-kept",
		"--old-max-window", w.Lab.MaxWindow().String(), "-o", "json")
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
	w.Lab.Record(history.Line{Life: &life}) // the line precedes all processes of the new life
	if err := first.Start(ctx); err != nil {
		return life, err
	}
	return life, w.Lab.Boot(ctx)
}
