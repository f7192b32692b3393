package backups_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/backup/archive"
	"github.com/snowraft/snowraft/internal/events"
	"github.com/snowraft/snowraft/internal/test/testlog"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	"github.com/snowraft/snowraft/server/backups"
)

const (
	cluster = "50d28448-6dfe-4a73-ab47-6105a27ac055"
	another = "0c66af2f-ae7e-4522-b252-9891327eb656"
)

// source is a member whose index grows with each backup.
type source struct {
	mu      sync.Mutex
	leads   bool
	refused error // Capture fails with it
	index   uint64
	term    uint64
	skew    time.Duration
	state   io.WriterTo // nil: an empty state
}

func (s *source) ClusterID() string { return cluster }

func (s *source) Leads() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leads
}

func (s *source) WallMillis() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.skew).UnixMilli()
}

func (s *source) Capture(context.Context) (*commandv1.BackupHeader, io.WriterTo, error) {
	now := s.WallMillis()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused != nil {
		return nil, nil, s.refused
	}
	s.index++
	h := header(archive.Name{Cluster: cluster, Index: s.index, Term: s.term, TakenAtMillis: now})
	if s.state != nil {
		return h, s.state, nil
	}
	return h, fsm.NewState(), nil
}

// set changes the source.
func (s *source) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func header(n archive.Name) *commandv1.BackupHeader {
	return &commandv1.BackupHeader{
		ClusterId: n.Cluster, Index: n.Index, Term: n.Term, TakenAtMs: n.TakenAtMillis,
		MaxWindowMs: 600_000, MaxClockOffsetMs: 500, Source: commandv1.BackupSource_BACKUP_SOURCE_MEMBER,
	}
}

// place is a directory that can fail.
type place struct {
	archive.Place

	mu      sync.Mutex
	failure error // List fails with it
	bad     bool  // Put damages the backup
	opened  int
}

func (p *place) List(ctx context.Context, cluster string) ([]archive.Entry, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure != nil {
		return nil, p.failure
	}
	return p.Place.List(ctx, cluster)
}

func (p *place) Put(ctx context.Context, name archive.Name, write func(io.Writer) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Place.Put(ctx, name, write); err != nil || !p.bad {
		return err
	}
	path := filepath.Join(p.String(), name.String())
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()-1)
}

func (p *place) Open(ctx context.Context, name archive.Name) (io.ReadCloser, int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened++
	return p.Place.Open(ctx, name)
}

func (p *place) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// fixture is a keeper with its parts, in a bubble.
type fixture struct {
	*backups.Keeper

	t      *testing.T
	source *source
	place  *place
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p, err := archive.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &place{Place: p}
}

// start runs a keeper of a leader until the end of the test.
func start(t *testing.T, p *place, schedule backups.Schedule) *fixture {
	t.Helper()
	f := &fixture{t: t, source: &source{leads: true, term: 1}, place: p}
	schedule.Place = p
	f.Keeper = backups.New(schedule, f.source, events.Discard, slog.New(slog.NewTextHandler(testlog.Of(t), nil)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return f
}

// after lets time pass, and lists the backups of the cluster.
func (f *fixture) after(d time.Duration) []archive.Entry {
	f.t.Helper()
	<-time.After(d)
	synctest.Wait()
	all, err := f.place.Place.List(f.t.Context(), cluster)
	if err != nil {
		f.t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b archive.Entry) int { return a.Compare(b.Name) })
	return all
}

func TestLeaderBacksUpAtIntervals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, newPlace(t), backups.Schedule{Every: time.Hour, Keep: 100})
		if all := f.after(5 * time.Second); len(all) != 1 {
			t.Fatalf("%d backups after the start, want 1: a wrong setting shows at once", len(all))
		}
		all := f.after(24 * time.Hour)
		if len(all) != 25 {
			t.Errorf("%d backups after a day, want 25", len(all))
		}
		last := all[len(all)-1]
		if got := f.Status(); got.LastMillis != last.TakenAtMillis || got.DueMillis != last.TakenAtMillis+time.Hour.Milliseconds() || got.Failures != 0 {
			t.Errorf("status %+v, want the last backup at %d", got, last.TakenAtMillis)
		}
	})
}

// Only the leader writes. The next leader continues the schedule of the one before.
func TestScheduleContinuesAtTheNextLeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		a := start(t, p, backups.Schedule{Every: time.Hour, Keep: 100})
		b := start(t, p, backups.Schedule{Every: time.Hour, Keep: 100})
		b.source.set(func() { b.source.leads, b.source.term, b.source.index = false, 2, 50 })
		if all := a.after(90 * time.Minute); len(all) != 2 {
			t.Fatalf("%d backups of one leader, want 2", len(all))
		}
		if got := b.Status(); got != (backups.Status{}) {
			t.Errorf("status of a follower: %+v", got)
		}
		a.source.set(func() { a.source.leads = false })
		b.source.set(func() { b.source.leads = true })
		if all := a.after(25 * time.Minute); len(all) != 2 || b.Status().LastMillis != all[1].TakenAtMillis {
			t.Errorf("%d backups before the next is due, want 2; status %+v", len(all), b.Status())
		}
		if got := a.Status().DueMillis; got != 0 {
			t.Errorf("a follower has a due time, %d", got)
		}
		if all := a.after(10 * time.Minute); len(all) != 3 || all[2].Term != 2 {
			t.Errorf("%v, want a third by the next leader", all)
		}
	})
}

// A leader that no quorum confirms neither writes nor deletes, and another leader at the same time writes other files.
func TestUnconfirmedLeaderWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		old := start(t, p, backups.Schedule{Every: time.Hour, Keep: 1})
		if all := old.after(5 * time.Second); len(all) != 1 {
			t.Fatalf("%d backups", len(all))
		}
		old.source.set(func() { old.source.refused = errors.New("no quorum") })
		next := start(t, p, backups.Schedule{Every: time.Hour, Keep: 100})
		next.source.set(func() { next.source.term = 2 })
		all := next.after(12 * time.Hour)
		for i, e := range all {
			if i > 0 && e.Term != 2 {
				t.Errorf("%v: written by the old leader", e)
			}
		}
		if len(all) != 13 || old.Status().Failures == 0 {
			t.Errorf("%d backups, want 13; status of the old leader %+v", len(all), old.Status())
		}
	})
}

// A backup that cannot be read back does not count, and deletes nothing.
func TestUnreadableBackupDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, newPlace(t), backups.Schedule{Every: time.Hour, Keep: 2})
		good := f.after(5 * time.Second)[0]
		f.place.set(func() { f.place.bad = true })
		f.after(10 * time.Hour)
		got := f.Status()
		if got.LastMillis != good.TakenAtMillis || got.Failures < 10 || got.DueMillis != good.TakenAtMillis+time.Hour.Milliseconds() {
			t.Errorf("status %+v, want the last backup at %d, and a due time in the past", got, good.TakenAtMillis)
		}
		if _, err := archive.Read(t.Context(), f.place.Place, good.Name); err != nil {
			t.Errorf("the last good backup: %v", err)
		}
		f.place.set(func() { f.place.bad = false })
		f.after(2 * time.Hour)
		if now := time.Now().UnixMilli(); f.Status().LastMillis < now-time.Hour.Milliseconds()-1000 {
			t.Errorf("status %+v at %d after the place is repaired", f.Status(), now)
		}
	})
}

// A new leader relies on no backup that it cannot verify.
func TestDamagedBackupIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		f := start(t, p, backups.Schedule{Every: time.Hour, Keep: 10})
		found := f.after(5 * time.Second)
		f.source.set(func() { f.source.leads = false })
		if err := os.Truncate(filepath.Join(p.String(), found[0].String()), found[0].Bytes-1); err != nil {
			t.Fatal(err)
		}
		f.after(5 * time.Second)
		f.source.set(func() { f.source.leads = true })
		if all := f.after(5 * time.Second); len(all) != 2 {
			t.Errorf("%d backups, want another at once", len(all))
		}
	})
}

func TestFailuresAreRetriedAtGrowingPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		p.failure = errors.New("access denied")
		f := start(t, p, backups.Schedule{Every: 6 * time.Hour, Keep: 10})
		begin := time.Now().UnixMilli()
		f.after(24 * time.Hour)
		if got := f.Status(); got.Failures < 20 || got.Failures > 40 || got.LastMillis != 0 || got.DueMillis < begin || got.DueMillis > begin+5000 {
			t.Errorf("status %+v after a day, want a due time shortly after %d", got, begin)
		}
		p.set(func() { p.failure = nil })
		if all := f.after(time.Hour + time.Minute); len(all) != 1 {
			t.Errorf("%d backups within an hour after the repair, want 1", len(all))
		}
	})
}

// The schedule survives clocks that move.
func TestClockJumpsDelayNoBackup(t *testing.T) {
	t.Parallel()
	for _, jump := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, newPlace(t), backups.Schedule{Every: time.Hour, Keep: 100})
			f.after(10 * time.Minute)
			f.source.set(func() { f.source.skew = jump })
			if all := f.after(12*time.Hour + time.Minute); len(all) < 12 || len(all) > 14 {
				t.Errorf("%d backups in 12 hours after a jump by %v", len(all), jump)
			}
		})
	}
}

// Retention deletes backups of this cluster only, and never the last verified one, whatever is at the place.
func TestRetention(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { retain(t, rand.New(rand.NewPCG(seed, 0))) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// retain takes one backup at a place with random others, some of which have the content of another name.
func retain(t *testing.T, random *rand.Rand) {
	keep, age := 1+random.IntN(4), []time.Duration{0, time.Hour, 50 * time.Hour}[random.IntN(3)]
	p, now := newPlace(t), time.Now().UnixMilli()
	var ours, foreign []archive.Name
	for i := range random.IntN(9) {
		n := archive.Name{
			Cluster: cluster, Term: 1 + random.Uint64N(3), Index: uint64(1 + i),
			TakenAtMillis: now - (2+random.Int64N(100))*time.Hour.Milliseconds(),
		}
		content := n
		switch random.IntN(4) {
		case 0:
			n.Cluster, content.Cluster = another, another
		case 1:
			content.Cluster = another
		}
		if err := p.Put(t.Context(), n, func(w io.Writer) error { return backup.Write(w, header(content), fsm.NewState()) }); err != nil {
			t.Fatal(err)
		}
		if n.Cluster == cluster && content == n {
			ours = append(ours, n)
		} else {
			foreign = append(foreign, n)
		}
	}
	f := start(t, p, backups.Schedule{Every: time.Hour, Keep: keep, MaxAge: age})
	f.source.set(func() { f.source.term, f.source.index = 1+random.Uint64N(3), 4 })
	all := f.after(10 * time.Second)
	last, verified := f.Status().LastMillis, 0
	for _, e := range all {
		if e.TakenAtMillis == last {
			verified++
		} else if slices.Contains(ours, e.Name) && age > 0 && last-e.TakenAtMillis > age.Milliseconds() {
			t.Errorf("%v is older than %v", e, age)
		}
	}
	if last < now || verified != 1 {
		t.Errorf("the last backup, %d, is %d times among %v", last, verified, all)
	}
	if len(all) > keep+len(foreign) {
		t.Errorf("%d backups, want at most %d and %d with other content", len(all), keep, len(foreign))
	}
	for _, n := range foreign {
		r, _, err := p.Place.Open(t.Context(), n)
		if err != nil {
			t.Errorf("%v: %v", n, err)
			continue
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// endless is a state without an end. It closes began after some bytes.
type endless struct{ began chan struct{} }

func (e endless) WriteTo(w io.Writer) (n int64, err error) {
	piece := make([]byte, 64<<10)
	for err == nil {
		var wrote int
		wrote, err = w.Write(piece)
		if n += int64(wrote); n == 1<<20 {
			close(e.began)
		}
	}
	return n, err
}

// A keeper that is stopped ends the backup in progress and leaves no part of it.
func TestStopEndsTheBackup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, state := newPlace(t), endless{make(chan struct{})}
		k := backups.New(backups.Schedule{Place: p, Every: time.Hour, Keep: 1}, &source{leads: true, term: 1, state: state}, events.Discard, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			k.Run(ctx)
		}()
		<-state.began
		cancel()
		<-done
		if left, err := filepath.Glob(filepath.Join(p.String(), cluster, "*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		if left, err := filepath.Glob(filepath.Join(p.String(), cluster, ".*")); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		if got := k.Status().Failures; got != 0 {
			t.Errorf("%d failures, want none: the member stops", got)
		}
	})
}
