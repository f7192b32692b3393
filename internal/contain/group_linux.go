package contain

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// group is the directory of a control group; empty for none.
type group string

// ownGroups returns the control groups of this process: that of version 2 first, then those of version 1.
func ownGroups() (all []group) {
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		before, after, _ := strings.Cut(line, " - ")
		mount, kind := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(kind) < 3 || kind[0] != "cgroup" && kind[0] != "cgroup2" {
			continue
		}
		below, err := filepath.Rel(mount[3], ownPath(kind))
		if err != nil || strings.HasPrefix(below, "..") {
			continue
		}
		g := group(filepath.Join(mount[4], below))
		if kind[0] == "cgroup2" {
			all = slices.Insert(all, 0, g)
		} else {
			all = append(all, g)
		}
	}
	return all
}

// ownPath returns the path of this process's control group in the hierarchy of a file system, which is described by its
// type, source and options.
func ownPath(fileSystem []string) string {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		entry := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(entry) < 3 {
			continue
		}
		controllers := strings.Split(entry[1], ",")
		second := entry[1] == ""
		options := strings.Split(fileSystem[2], ",")
		if second == (fileSystem[0] == "cgroup2") && (second || !slices.ContainsFunc(controllers, func(c string) bool { return !slices.Contains(options, c) })) {
			return entry[2]
		}
	}
	return ".." // another namespace
}

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
