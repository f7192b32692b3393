// Package cgroup finds the control groups of this process, and the memory that they allow. Both functions read the files of Linux
// below a root, and return nothing on other systems.
package cgroup

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// unlimited is less than the number in the file of a group of version 1 without a limit.
const unlimited = 1 << 62

// MemoryLimit returns the memory, in bytes, that the control groups of this process and the groups above them allow; 0 without a
// limit.
func MemoryLimit(root fs.FS) (least int64) {
	for _, dir := range Own(root) {
		for ; dir != "/"; dir = path.Dir(dir) {
			for _, file := range []string{"memory.max", "memory.limit_in_bytes"} { // versions 2 and 1
				limit, err := strconv.ParseInt(strings.TrimSpace(read(root, path.Join(dir, file))), 10, 64)
				if err == nil && limit > 0 && limit < unlimited && (least == 0 || limit < least) {
					least = limit
				}
			}
		}
	}
	return least
}

// Own returns the directories of the control groups of this process: that of version 2 first, then those of version 1.
func Own(root fs.FS) (dirs []string) {
	for line := range strings.Lines(read(root, "/proc/self/mountinfo")) {
		before, after, _ := strings.Cut(line, " - ")
		mount, kind := strings.Fields(before), strings.Fields(after)
		if len(mount) < 5 || len(kind) < 3 || kind[0] != "cgroup" && kind[0] != "cgroup2" {
			continue
		}
		below, err := filepath.Rel(mount[3], ownPath(root, kind))
		if err != nil || strings.HasPrefix(below, "..") {
			continue
		}
		dir := path.Join(mount[4], below)
		if kind[0] == "cgroup2" {
			dirs = slices.Insert(dirs, 0, dir)
		} else {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// ownPath returns the path of this process's control group in the hierarchy of a file system, which is described by its
// type, source and options.
func ownPath(root fs.FS, fileSystem []string) string {
	for line := range strings.Lines(read(root, "/proc/self/cgroup")) {
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

// read returns the text of a file; empty if it cannot be read.
func read(root fs.FS, name string) string {
	text, _ := fs.ReadFile(root, strings.TrimPrefix(name, "/"))
	return string(text)
}
