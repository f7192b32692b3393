// Package backups takes scheduled backups on the leader, and deletes old ones.
//
// A backup counts only after this process has read it back and verified every byte of it. Only the leader writes and deletes, after
// a quorum has confirmed that it leads. Members keep no state of the schedule: the names at the place show to each new leader when
// the next backup is due. Names contain the term and the index, so two leaders write different files. The main type is [Keeper].
package backups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/backup/archive"
	"github.com/snowraft/snowraft/internal/events"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Schedule describes scheduled backups.
type Schedule struct {
	Place archive.Place
	// Every is the interval between two backups.
	Every time.Duration
	// Keep is the number of backups of the cluster that remain at the place, at least 1. The last verified backup is one of them.
	Keep int
	// MaxAge is the age from which backups other than the last verified one are deleted; 0: no limit.
	MaxAge time.Duration
}

// Source is the member whose state is backed up.
type Source interface {
	// ClusterID returns the ID of the cluster; empty before the member has joined one.
	ClusterID() string
	// Leads reports whether the member leads the cluster, as far as it knows.
	Leads() bool
	// Capture returns a header and a state with every change that was acknowledged before the call. It fails if the member cannot
	// confirm with a quorum that it leads.
	Capture(ctx context.Context) (*commandv1.BackupHeader, io.WriterTo, error)
	// WallMillis returns the time of the member's clock, Unix ms.
	WallMillis() int64
}

// Events notes what happened. [events.Ring] implements it.
type Events interface {
	Note(kind events.Kind, level slog.Level, text string)
}

const (
	// pollInterval is the interval between checks whether the member leads and a backup is due.
	pollInterval = time.Second
	// firstRetry and maxRetry bound the pause after a failure, which doubles with each failure in succession.
	firstRetry, maxRetry = time.Minute, time.Hour
	// attemptLimit bounds one backup with its verification and the deletion of old ones.
	attemptLimit = time.Hour
)

// Keeper takes the backups of one member while it leads.
type Keeper struct {
	Schedule

	source Source
	events Events
	logger *slog.Logger

	// Only Run uses them.
	known   bool // the place was read since the member began to lead
	retryAt int64
	pause   time.Duration // before the next attempt; 0 after a success

	mu     sync.Mutex
	status Status
}

// Status is the state of the schedule at one member. Times are Unix ms.
type Status struct {
	// LastMillis is the time of the last backup that this member verified; 0 if there is none since its start.
	LastMillis int64
	// DueMillis is the time at which the next backup is due, which has passed while backups fail; 0 unless the member leads.
	DueMillis int64
	// Failures counts failed attempts since the start of the member.
	Failures uint64
}

// New returns a keeper, whose work Run does.
func New(schedule Schedule, source Source, noted Events, logger *slog.Logger) *Keeper {
	return &Keeper{Schedule: schedule, source: source, events: noted, logger: logger}
}

// Status returns the present status; that of a nil keeper is zero.
func (k *Keeper) Status() Status {
	if k == nil {
		return Status{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.status
}

// Run takes backups until ctx is canceled.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.step(ctx)
		}
	}
}

// step takes a backup if this member leads and a backup is due.
func (k *Keeper) step(ctx context.Context) {
	now := k.source.WallMillis()
	if !k.source.Leads() {
		k.known, k.retryAt, k.pause = false, 0, 0
		k.setDue(0)
		return
	}
	if k.pause > 0 && now < k.retryAt && k.retryAt <= now+k.pause.Milliseconds() { // a clock that moved backwards ends the pause
		return
	}
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	if !k.known {
		if err := k.resume(ctx, now); err != nil {
			k.failed(ctx, now, err)
			return
		}
		k.known, k.pause = true, 0
	}
	due := min(k.Status().DueMillis, now+k.Every.Milliseconds()) // the clock may have moved backwards
	k.setDue(due)
	if now < due {
		return
	}
	if err := k.backUp(ctx); err != nil {
		k.failed(ctx, now, err)
		return
	}
	k.pause = 0
}

// resume learns from the place when the next backup of a new leader is due. A backup there that cannot be verified does not count.
func (k *Keeper) resume(ctx context.Context, now int64) error {
	if k.Status().DueMillis == 0 {
		k.setDue(now)
	}
	all, err := k.list(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	latest := all[0]
	if _, err := archive.Read(ctx, k.Place, latest.Name); err != nil {
		k.logger.Warn("backup at the place cannot be verified; writing another", "backup", latest.Name, "place", k.Place, "error", err)
		return nil
	}
	k.verified(min(latest.TakenAtMillis, now))
	return nil
}

// list returns the backups of this cluster, the latest state first.
func (k *Keeper) list(ctx context.Context) ([]archive.Entry, error) {
	all, err := k.Place.List(ctx, k.source.ClusterID())
	if err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	slices.SortFunc(all, func(a, b archive.Entry) int { return b.Compare(a.Name) })
	return all, nil
}

// backUp writes a backup, verifies it, and deletes old ones.
func (k *Keeper) backUp(ctx context.Context) error {
	header, state, err := k.source.Capture(ctx)
	if err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	name := archive.NameOf(header)
	size, err := write(ctx, k.Place, name, header, state)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	read, err := archive.Read(ctx, k.Place, name)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if !proto.Equal(read.Header, header) || read.Bytes != size {
		return fmt.Errorf("read back %s: another backup than the one that was written", name)
	}
	k.verified(header.GetTakenAtMs())
	k.logger.Info("backup written and verified", "backup", name, "place", k.Place, "bytes", size)
	k.events.Note(events.Storage, slog.LevelInfo, fmt.Sprintf("backup written and verified: %s", name))
	k.prune(ctx, name)
	return nil
}

// prune deletes the backups of this cluster beyond Keep and MaxAge, but not verified, which is the last good one. It deletes a file
// only if its content says the same cluster, index, term and time as its name. A failure does not concern the new backup.
func (k *Keeper) prune(ctx context.Context, verified archive.Name) {
	all, err := k.list(ctx)
	if err != nil {
		k.logger.Warn("old backups not deleted", "place", k.Place, "error", err)
		return
	}
	kept := 1 // the verified one
	for _, e := range all {
		if e.Name == verified {
			continue
		}
		if old := k.MaxAge > 0 && verified.TakenAtMillis-e.TakenAtMillis > k.MaxAge.Milliseconds(); kept < k.Keep && !old {
			kept++
			continue
		}
		if !k.source.Leads() {
			return
		}
		if err := k.remove(ctx, e.Name); err != nil {
			k.logger.Warn("old backup not deleted", "backup", e.Name, "place", k.Place, "error", err)
		}
	}
}

// remove deletes a backup whose content has the given name.
func (k *Keeper) remove(ctx context.Context, name archive.Name) error {
	h, err := archive.Header(ctx, k.Place, name)
	if err != nil {
		return err
	}
	if !name.Of(h) {
		return errors.New("content of another backup; check the file, and delete it yourself")
	}
	return k.Place.Remove(ctx, name)
}

// verified records a verified backup.
func (k *Keeper) verified(takenAtMillis int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status.LastMillis = max(k.status.LastMillis, takenAtMillis)
	k.status.DueMillis = takenAtMillis + k.Every.Milliseconds()
}

func (k *Keeper) setDue(millis int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status.DueMillis = millis
}

// failed records a failed attempt and sets the time of the next one.
func (k *Keeper) failed(ctx context.Context, now int64, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return // the member stops
	}
	k.pause = min(max(firstRetry, 2*k.pause), maxRetry, max(firstRetry, k.Every))
	k.retryAt = now + k.pause.Milliseconds()
	k.mu.Lock()
	k.status.Failures++
	k.mu.Unlock()
	k.logger.Warn("scheduled backup failed; retrying", "place", k.Place, "error", err, "retry_after", k.pause)
	k.events.Note(events.Storage, slog.LevelWarn, fmt.Sprintf("scheduled backup failed: %v", err))
}
