package storage

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/test/depth"
)

// testCluster is the cluster ID of the tests' data directories.
const testCluster = "50d28448-6dfe-4a73-ab47-6105a27ac055"

// join makes the data directory that of a member of testCluster.
func join(t *testing.T, dir string) {
	t.Helper()
	id := mustOpen(t, dir)
	if ok, err := id.Adopt(testCluster); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := id.Close(); err != nil {
		t.Fatal(err)
	}
}

// replayed holds the results of a replay.
type replayed struct {
	state       string
	entries     []uint64
	index, term uint64
	servers     []raft.Server
}

func replay(dir string) (r replayed, err error) {
	s, err := OpenStopped(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r.index, r.term, r.servers, err = s.Replay(func(content io.ReadCloser) error {
		raw, err := io.ReadAll(content)
		r.state = string(raw)
		return errors.Join(err, content.Close())
	}, func(l *raft.Log) error {
		r.entries = append(r.entries, l.Index)
		return nil
	})
	return r, err
}

// files returns the content of the files below a directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestStoppedDirectoryIsReplayedUnchanged(t *testing.T) {
	t.Parallel()
	s := fill(t)
	addSnapshots(t, s)
	join(t, s.dir)
	before := files(t, s.dir)
	r, err := replay(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.state != "state 1" || len(r.entries) != 100 || r.entries[0] != 501 || r.index != 600 || r.term != 8 || len(r.servers) != 2 {
		t.Errorf("%d entries, state %q, index %d, term %d, servers %v", len(r.entries), r.state, r.index, r.term, r.servers)
	}
	after := files(t, s.dir)
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Error("the directory changed")
	}
}

func TestStoppedDirectoryFallsBackToOlderSnapshot(t *testing.T) {
	t.Parallel()
	s := fill(t)
	addSnapshots(t, s)
	join(t, s.dir)
	newest, err := filepath.Glob(filepath.Join(s.dir, snapshotDir, "6-500-*", "state.bin"))
	if err != nil || len(newest) != 1 {
		t.Fatal(newest, err)
	}
	if err := os.WriteFile(newest[0], []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := replay(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.state != "state 0" || len(r.entries) != 200 || r.index != 600 {
		t.Errorf("%d entries, state %q, index %d", len(r.entries), r.state, r.index)
	}
}

func TestStoppedDirectoryRefusals(t *testing.T) {
	t.Parallel()
	damage := func(pattern string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil || len(found) == 0 {
				t.Fatal(pattern, err)
			}
			for _, path := range found {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, tc := range map[string]struct {
		do      func(t *testing.T, dir string)
		corrupt bool
		says    string
	}{
		"no identity":          {do: damage(identityFile), says: "not the data directory of a member"},
		"no log":               {do: damage(logFile), corrupt: true, says: "missing"},
		"no snapshots":         {do: damage("snapshots/*"), corrupt: true, says: "no snapshot reaches that entry"},
		"unreadable snapshots": {do: damage("snapshots/*/meta.json"), corrupt: true, says: "no snapshot reaches that entry"},
		"a member runs": {do: func(t *testing.T, dir string) {
			lock, err := lockDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lock.Close() })
		}, says: "in use by another process"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fill(t)
			addSnapshots(t, s)
			join(t, s.dir)
			tc.do(t, s.dir)
			_, err := replay(s.dir)
			if _, corrupt := errors.AsType[*CorruptError](err); corrupt != tc.corrupt || err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("Replay() = %v", err)
			}
		})
	}
	never := t.TempDir()
	if err := mustOpen(t, never).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := replay(never); !errors.Is(err, ErrNeverJoined) {
		t.Errorf("directory of a member without a cluster: %v", err)
	}
}

type text string

func (s text) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, string(s))
	return int64(n), err
}

// failing is a state that writes some bytes and then fails.
type failing struct{ err error }

func (f failing) WriteTo(w io.Writer) (int64, error) {
	_, _ = io.WriteString(w, "begin")
	return 5, f.err
}

func seed(state io.WriterTo) Seed {
	return Seed{Cluster: testCluster, Index: 1 << 40, Term: 9, Address: func(node string) string { return node + "@a:1" }, State: state}
}

func TestSeededDirectoryStartsAMember(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "dir")
	node, err := seed(text("state")).Create(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r, err := replay(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.state != "state" || len(r.entries) != 0 || r.index != 1<<40 || r.term != 9 || len(r.servers) != 1 || string(r.servers[0].ID) != node {
		t.Errorf("replay: %+v", r)
	}
	var reported []error
	s, id, err := openTestStore(t, dir, &reported)
	if err != nil {
		t.Fatal(err)
	}
	if id.Node() != node || id.Cluster() != testCluster || id.Starts() != 1 {
		t.Errorf("identity %s of %s, %d starts", id.Node(), id.Cluster(), id.Starts())
	}
	if err := s.Logs.StoreLog(entry(1<<40+1, 10, "x")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Close(), id.Close()); err != nil {
		t.Error(err)
	}
	if s, _, err := openTestStore(t, dir, &reported); err != nil {
		t.Error(err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
	if len(reported) > 0 {
		t.Error(reported)
	}
}

// Of several restores into one directory, one at most succeeds, and the others leave its files alone.
func TestSeedsOfOneDirectory(t *testing.T) {
	t.Parallel()
	for range depth.Of(15, 40) {
		dir := filepath.Join(t.TempDir(), "new")
		var wg sync.WaitGroup
		var created atomic.Int32
		for range 4 {
			wg.Go(func() {
				_, err := seed(text("state")).Create(dir, slog.New(slog.DiscardHandler))
				if err == nil {
					created.Add(1)
				}
			})
		}
		wg.Wait()
		switch n := created.Load(); n {
		case 0: // one was about to, when another one failed
		case 1:
			if r, err := replay(dir); err != nil || r.state != "state" {
				t.Fatalf("replay of the created directory: %+v, %v", r, err)
			}
		default:
			t.Fatalf("%d of 4 calls created the directory", n)
		}
	}
}

// copying is a state that copies the directory while Create writes it: a kill at that time leaves such a directory.
type copying struct{ from, to string }

func (c copying) WriteTo(io.Writer) (int64, error) { return 0, os.CopyFS(c.to, os.DirFS(c.from)) }

func TestInterruptedSeedIsNamed(t *testing.T) {
	t.Parallel()
	dir, left := filepath.Join(t.TempDir(), "new"), filepath.Join(t.TempDir(), "left")
	if _, err := seed(copying{dir, left}).Create(dir, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if id, err := OpenIdentity(dir); err != nil || id.Close() != nil {
		t.Errorf("the whole directory: %v", err)
	}
	for use, open := range map[string]func() error{
		"start":   func() error { _, err := OpenIdentity(left); return err },
		"backup":  func() error { _, err := OpenStopped(left, slog.New(slog.DiscardHandler)); return err },
		"restore": func() error { _, err := seed(text("state")).Create(left, slog.New(slog.DiscardHandler)); return err },
	} {
		if err := open(); !errors.Is(err, ErrInterrupted) {
			t.Errorf("%s: %v", use, err)
		}
	}
}

func TestFailedSeedRestoresDirectory(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "note"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := seed(text("state")).Create(full, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrNotEmpty) {
		t.Error(err)
	}
	failed := errors.New("no space")
	fileSystem := t.TempDir() // stands for a new file system
	if err := os.Mkdir(filepath.Join(fileSystem, lostAndFound), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "new"), fileSystem} {
		_, before := os.Stat(dir)
		entries, _ := os.ReadDir(dir)
		if _, err := seed(failing{failed}).Create(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, failed) {
			t.Error(err)
		}
		if _, after := os.Stat(dir); (before == nil) != (after == nil) {
			t.Errorf("%s: %v before, %v after", dir, before, after)
		}
		if left, _ := os.ReadDir(dir); len(left) != len(entries) {
			t.Errorf("left: %v, before: %v", left, entries)
		}
	}
	if _, err := seed(text("state")).Create(fileSystem, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}
