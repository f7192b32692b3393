//go:build linux

package disk

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	fuseDevice = "/dev/fuse"
	maxRequest = 1 << 20 // bytes per read or write request; the kernel's own maximum
	// endPatience bounds the wait until the FUSE server stops after the unmount.
	endPatience = 2 * time.Second
)

// passthrough is a FUSE file system that this process serves.
type passthrough struct {
	point  string // mount point
	faulty *faulty
	served chan struct{} // closed when the server has answered its last request
	gone   chan struct{} // closed after the unmount; stops all delays
	end    func()        // closes gone

	mu   sync.Mutex
	open map[io.Closer]struct{} // files and directories of the directory below that clients have open; guarded by mu
}

// pass mounts a FUSE file system at point that leads to directory.
func pass(directory, point string, faulty *faulty) (*passthrough, error) {
	p := &passthrough{
		point: point, faulty: faulty, open: map[io.Closer]struct{}{},
		served: make(chan struct{}), gone: make(chan struct{}),
	}
	p.end = sync.OnceFunc(func() { close(p.gone) })
	root, err := fs.NewLoopbackRoot(directory)
	if err != nil {
		return nil, err
	}
	loopback, ok := root.(*fs.LoopbackNode)
	if !ok {
		return nil, fmt.Errorf("loopback root %T of go-fuse: expected *fs.LoopbackNode", root)
	}
	// go-fuse could mount, but child processes would inherit its descriptor, and
	// FUSE would outlive this process.
	fd, err := unix.Open(fuseDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fuseDevice, err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,max_read=%d",
		fd, unix.S_IFDIR, os.Geteuid(), os.Getegid(), maxRequest)
	if err := unix.Mount("disk", point, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return nil, errors.Join(fmt.Errorf("mount: %w", err), unix.Close(fd))
	}
	// Files also change below FUSE, so the kernel requests names and attributes
	// each time and drops its cache of a file when the file is opened. It keeps
	// the cache while the file is open: after a failure, a database still reads
	// the pages that it has mapped. The kernel itself keeps the file locks, which
	// suffices on one machine.
	server, err := fuse.NewServer(fs.NewNodeFS(&node{LoopbackNode: loopback, p: p}, &fs.Options{}), "/dev/fd/"+strconv.Itoa(fd),
		&fuse.MountOptions{
			MaxWrite: maxRequest, DisableXAttrs: true, ExplicitDataCacheControl: true,
			Logger: log.New(io.Discard, "", 0), // discards the kernel's errors after an abort
		})
	if err != nil {
		return nil, errors.Join(err, forceDetach(point))
	}
	go func() {
		defer close(p.served)
		server.Serve()
	}()
	if err := refusePoll(point); err != nil {
		return nil, errors.Join(err, p.abort())
	}
	return p, nil
}

// refusePoll polls a file once, so that the kernel learns that the server does not
// support polling. Otherwise the kernel would send a poll request when this process
// opens a file: the Go runtime would wait for an answer and keep the server from
// sending it. go-fuse itself handles this file name.
func refusePoll(point string) error {
	fd, err := unix.Open(filepath.Join(point, ".go-fuse-epoll-hack"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a descriptor is small
	if errors.Is(err, unix.EINTR) {
		err = nil
	}
	return errors.Join(err, unix.Close(fd))
}

// unmount unmounts FUSE and stops the server. It returns EBUSY while a process uses the file system.
func (p *passthrough) unmount() error {
	if err := unix.Unmount(p.point, unix.UMOUNT_NOFOLLOW); err != nil {
		return err
	}
	return p.finish()
}

// abort unmounts FUSE even if a process uses it, and stops the server. Unanswered requests fail.
func (p *passthrough) abort() error {
	if err := forceDetach(p.point); err != nil {
		return fmt.Errorf("unmount %s: %w", p.point, err)
	}
	return p.finish()
}

// finish waits until the server has answered all requests. Then it closes the files
// that clients had open.
func (p *passthrough) finish() error {
	p.end()
	timer := time.NewTimer(endPatience)
	defer timer.Stop()
	select {
	case <-p.served:
	case <-timer.C:
		return fmt.Errorf("FUSE server of %s has not stopped within %s of the unmount", p.point, endPatience)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close() // no client is left to receive the error
	}
	clear(p.open)
	return nil
}

// opened records an open file or directory.
func (p *passthrough) opened(c io.Closer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = struct{}{}
}

// released closes a file or directory and removes its record.
func (p *passthrough) released(c io.Closer) error {
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	return c.Close()
}
