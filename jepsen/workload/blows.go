//go:build linux

package workload

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/network"
)

// blow is a fault of the processes of one wrapped generator.
type blow struct {
	name string
	hit  func(ctx context.Context, h *wrapper, p processes, name string) error
}

// blows are the faults that each wrapped generator suffers in turn.
var blows = []blow{
	{"stop wrapper", stopPart(0)},
	{"kill guard", killPart(1)},
	{"freeze all", freeze},
	{"clock ahead", jump(ahead)},
	{"kill command", killPart(2)},
	{"stop guard", stopPart(1)},
	{"clock back", jump(back)},
	{"kill wrapper", killPart(0)},
	{"cut off", cutOff},
	{"clock back a little", creep},
	{"stop command", stopPart(2)},
}

// processes are the IDs of a wrapper, its guard and its command.
type processes []int

// hit makes the next blow if all processes run.
func (h *wrapper) hit(ctx context.Context) error {
	p := familyOf(h.guest.PID())
	if len(p) < 3 {
		return nil
	}
	b := blows[h.turn%len(blows)]
	h.turn++
	return b.hit(ctx, h, p, b.name)
}

// familyOf returns a process with its child, the child of that one, and so on; nil for no process.
func familyOf(pid int) processes {
	children := make(map[int]int)
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, file := range files {
		raw, _ := os.ReadFile(file) // empty if the process has just exited
		name, after, ok := strings.Cut(string(raw), ") ")
		fields := strings.Fields(after)
		if !ok || len(fields) < 2 || fields[0] == "Z" {
			continue
		}
		child, _, _ := strings.Cut(name, " ")
		of, _ := strconv.Atoi(fields[1])
		children[of], _ = strconv.Atoi(child)
	}
	var all processes
	for ; pid != 0; pid = children[pid] {
		all = append(all, pid)
	}
	return all
}

// send sends a signal, and reports whether the process got it.
func send(pid int, s unix.Signal) bool { return unix.Kill(pid, s) == nil }

func killPart(part int) func(context.Context, *wrapper, processes, string) error {
	return func(_ context.Context, h *wrapper, p processes, name string) error {
		if send(p[part], unix.SIGKILL) {
			h.w.Lab.Note(h.guest.Name, history.NoteWrapped, name)
		}
		return nil
	}
}

func stopPart(part int) func(context.Context, *wrapper, processes, string) error {
	return func(ctx context.Context, h *wrapper, p processes, name string) error {
		if send(p[part], unix.SIGSTOP) {
			h.w.Lab.Note(h.guest.Name, history.NoteWrapped, name)
			history.Sleep(ctx, h.while())
			send(p[part], unix.SIGCONT)
		}
		return nil
	}
}

// freeze stops all processes at once, and lets the command continue first.
func freeze(ctx context.Context, h *wrapper, p processes, name string) error {
	stopped := 0
	for _, pid := range p {
		if send(pid, unix.SIGSTOP) {
			stopped++
		}
	}
	if stopped == len(p) {
		h.w.Lab.Note(h.guest.Name, history.NoteWrapped, name)
		h.w.Lab.Note(h.guest.Name, history.NoteFrozen, "")
		history.Sleep(ctx, h.while())
		h.w.Lab.Note(h.guest.Name, history.NoteThawed, "")
	}
	for _, pid := range slices.Backward(p) {
		send(pid, unix.SIGCONT)
	}
	return nil
}

// cutOff cuts the host off from all members.
func cutOff(ctx context.Context, h *wrapper, _ processes, name string) error {
	var members []string
	for _, m := range h.w.Lab.Members {
		members = append(members, m.Name)
	}
	fault, err := h.w.Lab.Net.Cut(context.WithoutCancel(ctx), network.Between([]string{h.guest.Name}, members), network.All, network.Drop)
	if err != nil {
		return err
	}
	h.w.Lab.Note(h.guest.Name, history.NoteWrapped, name)
	history.Sleep(ctx, h.while())
	return fault.Heal(context.WithoutCancel(ctx))
}
