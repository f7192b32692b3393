//go:build linux

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// stopsWithin is the time that a process may take to stop after SIGSTOP.
const stopsWithin = 200 * time.Millisecond

// Harvest reads the member's Raft log into the archive. It stops a running process for the few milliseconds of a copy.
// The copy thus holds the files at one moment, a state that a crash could leave.
func (m *Member) Harvest(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.harvest(ctx)
}

// harvest does what Harvest does. Requires m.mu held.
func (m *Member) harvest(ctx context.Context) error {
	archive := m.lab.archive()
	if m.broken || archive == nil {
		return nil
	}
	copied, err := os.MkdirTemp(m.lab.cfg.Dir, "harvest-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied) //nolint:errcheck // the run's directory is removed last
	at := history.Now()
	if err := m.copyStopped(ctx, copied); err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	if _, err := os.Stat(filepath.Join(copied, "raft.db")); errors.Is(err, fs.ErrNotExist) {
		return archive.Absent(m.Name, at) // no log yet, or a log removed
	}
	summary, err := archive.Harvest(m.Name, at, copied)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Name, err)
	}
	if summary.Damaged > 0 {
		m.lab.Note(m.Name, "log-damaged", fmt.Sprintf("%d entries from %d on", summary.Damaged, summary.FirstDamaged))
	}
	return nil
}

// copyStopped copies the log and the snapshots while the process, if there is one, is stopped.
func (m *Member) copyStopped(ctx context.Context, to string) error {
	m.state.Lock()
	defer m.state.Unlock()
	if p := m.proc; p != nil && !p.paused {
		if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		defer p.cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // the process may have been killed
		if err := stopped(ctx, p.cmd.Process.Pid); err != nil {
			return err
		}
	}
	return copyLog(m.Files(), to)
}

// stopped waits until all threads of a process have stopped.
func stopped(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, stopsWithin)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil {
			return err
		}
		running := false
		for _, path := range stats {
			raw, err := os.ReadFile(path)
			if err != nil {
				continue // thread has ended
			}
			_, rest, _ := bytes.Cut(raw, []byte(") "))
			running = running || !bytes.HasPrefix(rest, []byte("T"))
		}
		if !running {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("process %d not stopped by SIGSTOP: %w", pid, ctx.Err())
		}
	}
}

// copyLog copies raft.db and the snapshots. Without raft.db it copies nothing.
func copyLog(from, to string) error {
	if err := copyFile(filepath.Join(from, "raft.db"), filepath.Join(to, "raft.db")); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	files, err := filepath.Glob(filepath.Join(from, "snapshots", "*", "*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		copied := filepath.Join(to, strings.TrimPrefix(file, from))
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			return err
		}
		if err := copyFile(file, copied); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // read only
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
