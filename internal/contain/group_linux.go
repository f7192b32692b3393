package contain

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// group is the directory of a control group; empty for none.
type group string

// make makes a group below. This process may be able to do so as root, or in a unit of systemd with Delegate=yes.
func (g group) make() (group, error) {
	below, err := os.MkdirTemp(string(g), "snowraft-worker-*")
	return group(below), err
}

// join moves this process into the group.
func (g group) join() error {
	return os.WriteFile(filepath.Join(string(g), "cgroup.procs"), []byte("0"), 0o600)
}

// around runs start in the group, if there is one, so that a process that it starts is in the group.
func (g group) around(start func() error) error {
	if g == "" {
		return start()
	}
	if err := g.join(); err != nil {
		return err
	}
	return errors.Join(start(), group(filepath.Dir(string(g))).join())
}

// kill kills the processes of the group.
func (g group) kill() {
	if os.WriteFile(filepath.Join(string(g), "cgroup.kill"), []byte("1"), 0o600) == nil {
		return
	}
	processes, _ := os.ReadFile(filepath.Join(string(g), "cgroup.procs"))
	kill(processes)
}

// remove removes the group, if there is one.
func (g group) remove() {
	if g != "" {
		_ = os.Remove(string(g))
	}
}

// children returns the children of this process.
func children() []byte {
	var all []byte
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, file := range files {
		some, _ := os.ReadFile(file)
		all = append(all, some...)
	}
	return all
}

// kill kills processes.
func kill(processes []byte) {
	for word := range bytes.FieldsSeq(processes) {
		if pid, err := strconv.Atoi(string(word)); err == nil && pid > 1 {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
