//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// contained runs f with a name of the host that resolves to ip, as in a container: with namespaces of its own for that name
// and for mounts.
func contained(ip string, f func() error) (err error) {
	back := make([]*os.File, 0, 2)
	defer func() {
		for _, ns := range back {
			err = errors.Join(err, unix.Setns(int(ns.Fd()), 0), ns.Close())
		}
	}()
	for _, name := range []string{"mnt", "uts"} {
		ns, err := os.Open("/proc/thread-self/ns/" + name)
		if err != nil {
			return err
		}
		back = append(back, ns)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWUTS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	const name = "app"
	if err := unix.Sethostname([]byte(name)); err != nil {
		return err
	}
	hosts, err := os.CreateTemp("", "hosts")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hosts.Close(), os.Remove(hosts.Name())) }()
	if _, err := fmt.Fprintf(hosts, "127.0.0.1 localhost\n%s %s\n", ip, name); err != nil {
		return err
	}
	if err := errors.Join(hosts.Chmod(0o644), unix.Mount(hosts.Name(), "/etc/hosts", "", unix.MS_BIND, "")); err != nil {
		return err
	}
	return f()
}
