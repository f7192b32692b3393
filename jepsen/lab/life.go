//go:build linux

package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// archive returns the archive of the cluster's present life, nil from Bury until Begin.
func (l *Lab) archive() *raftlog.Archive {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.archives[int(l.life.Load())]
}

// Life returns the number of the cluster's present life. The first is 1, and each restore begins the next.
func (l *Lab) Life() int { return int(l.life.Load()) }

// Bury ends the cluster for good. All members must be down. Bury harvests their logs for the last time and removes their
// data directories, except those of kept members. Members that start later use new directories.
func (l *Lab) Bury(ctx context.Context, kept ...*Member) error {
	for _, m := range l.Members {
		m.mu.Lock()
		defer m.mu.Unlock()
	}
	keep := make(map[*Member]bool)
	for _, m := range kept {
		keep[m] = true
	}
	for _, m := range l.Members {
		if m.Running() {
			return fmt.Errorf("%s is still running", m.Name)
		}
		if err := m.harvest(ctx); err != nil {
			return err
		}
		if keep[m] {
			continue
		}
		if err := os.RemoveAll(m.DataDir()); err != nil {
			return err
		}
	}
	l.life.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.latest)
	clear(l.memberIDs)
	return nil
}

// Begin begins the next life with the restored directory of first, which must not have started yet.
func (l *Lab) Begin(first *Member) error {
	archive, err := raftlog.CreateRestored(l.cfg.Dir, l.Life(), first.Files())
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.archives[l.Life()] = archive
	return nil
}

// Backups returns a directory for backups on the disk of this machine, and makes it if necessary.
func (l *Lab) Backups() (string, error) {
	dir := filepath.Join(l.cfg.Dir, "backups")
	return dir, os.MkdirAll(dir, 0o755)
}

// Seen returns the numbers that clients saw of each sequence.
func (l *Lab) Seen() map[string]history.Seen { return l.cfg.Journal.Seen() }

// Jobs returns the backfill jobs that clients started, as [history.Journal.Jobs] does.
func (l *Lab) Jobs() map[string]int64 { return l.cfg.Journal.Jobs() }

// Record writes a line into the history.
func (l *Lab) Record(line history.Line) { l.cfg.Journal.Add(line) }

// MaxWindow returns the longest window that the members grant during the run.
func (l *Lab) MaxWindow() time.Duration { return l.cfg.MaxWindow }

// Program returns the path of the program under test.
func (l *Lab) Program() string { return l.cfg.Binary }

// Secured reports whether the members have a secret.
func (l *Lab) Secured() bool { return l.cfg.Secured }

// Command acts as an operator: it runs a command of the newer of the members' programs with the addresses of all founders.
// It returns the standard output. An error includes the standard error.
func (l *Lab) Command(ctx context.Context, args ...string) (string, error) {
	var addresses []string
	for _, m := range l.Founders() {
		addresses = append(addresses, m.Address(PortAPI))
	}
	cmd := exec.CommandContext(ctx, l.cfg.Upgrade, args...)
	cmd.Env = append(os.Environ(), "SNOWRAFT_ADDR="+strings.Join(addresses, ","))
	if a := l.tokens(); a.file != "" {
		cmd.Env = append(cmd.Env, "SNOWRAFT_SECRET_FILE="+a.file)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("snowraft %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}
