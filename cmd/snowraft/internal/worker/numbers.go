package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/snowflake"
)

// numbers hold the text of what a command is configured with.
type numbers struct{ worker, datacenter, layout string }

func numbersOf(h *client.HeldWorker) numbers {
	spec := h.Layout().Spec()
	return numbers{worker: cli.Decimal(h.Worker()), datacenter: cli.Decimal(spec.Datacenter), layout: spec.Name}
}

// places are the variables and arguments with the numbers of a command.
type places struct {
	envWorker, envDC string
	args             []string
}

// environment returns the variables for the command, after those of this process.
func (p places) environment(n numbers) []string {
	all := os.Environ()
	if p.envWorker != "" {
		all = append(all, p.envWorker+"="+n.worker)
	}
	if p.envDC != "" {
		all = append(all, p.envDC+"="+n.datacenter)
	}
	return all
}

// arguments returns the command with its arguments and those of --arg.
func (p places) arguments(command []string, n numbers) []string {
	replace := strings.NewReplacer("{worker}", n.worker, "{datacenter}", n.datacenter, "{layout}", n.layout)
	return append(slices.Clone(command), cli.Map(replace.Replace, p.args)...)
}

// none reports whether the command gets its numbers in none of these places.
func (p places) none() bool { return p.envWorker == "" && p.envDC == "" && len(p.args) == 0 }

// path returns the path of the file for the numbers of lease i; empty for none.
func (s settings) path(i int) string {
	if s.dir != "" {
		return filepath.Join(s.dir, strconv.Itoa(i))
	}
	return s.file
}

// write writes the files of --file and --dir. A reader sees a whole file or none.
func (s settings) write(l leases) error {
	for i, h := range l {
		path, n := s.path(i), numbersOf(h)
		if path == "" {
			continue
		}
		lines := fmt.Sprintf("WORKER=%s\nDATACENTER=%s\nLAYOUT=%s\n", n.worker, n.datacenter, n.layout)
		if s.dir != "" {
			lines += fmt.Sprintf("PAUSE_MS=%d\n", s.pause(tick(h.Layout())).Milliseconds()+1)
		}
		if err := replace(path, lines); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file whole.
func replace(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // after the renaming, there is none
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// clean removes the files, whose numbers no longer belong to a process.
func (s settings) clean() {
	for i := range s.count {
		if path := s.path(i); path != "" {
			_ = os.Remove(path)
		}
	}
}

// pause returns the time after which the clock has passed all IDs of a process that has ended: its library may have run
// ahead, and the clock may have moved back since.
func (s settings) pause(tick time.Duration) time.Duration { return s.back + s.lead + 2*tick }

// tick returns the length of a tick.
func tick(l *snowflake.Layout) time.Duration {
	return time.Duration(l.Spec().UnitMillis) * time.Millisecond
}
