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
	// maxRequest is the most that the kernel writes or reads at once, in bytes; it
	// allows no more.
	maxRequest = 1 << 20
	// endPatience is the wait for FUSE to end that was unmounted.
	endPatience = 2 * time.Second
)

// passthrough is a FUSE file system that this process serves.
type passthrough struct {
	point  string
	faulty *faulty
	served chan struct{} // closed when the kernel asks no more and all is answered
	gone   chan struct{} // closed when it is being unmounted: nothing is delayed anymore
	end    func()        // closes gone

	mu   sync.Mutex
	open map[io.Closer]struct{} // what clients hold open below
}

// pass mounts at a point what leads to a directory.
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
		return nil, fmt.Errorf("go-fuse gives a %T as a loopback's root", root)
	}
	// Mounted here and not by go-fuse, whose descriptor is inherited by the
	// processes that this one starts: FUSE would outlive it.
	fd, err := unix.Open(fuseDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fuseDevice, err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,max_read=%d",
		fd, unix.S_IFDIR, os.Geteuid(), os.Getegid(), maxRequest)
	if err := unix.Mount("disk", point, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return nil, errors.Join(fmt.Errorf("mount: %w", err), unix.Close(fd))
	}
	// The kernel requests names and attributes each time and forgets a file's
	// contents when it is opened, since files are changed from below as well, but not
	// while it is open: a database that has failed still reads what it has mapped.
	// Locks are the kernel's own business, which is enough for one machine.
	server, err := fuse.NewServer(fs.NewNodeFS(&node{LoopbackNode: loopback, p: p}, &fs.Options{}), "/dev/fd/"+strconv.Itoa(fd),
		&fuse.MountOptions{
			MaxWrite: maxRequest, DisableXAttrs: true, ExplicitDataCacheControl: true,
			Logger: log.New(io.Discard, "", 0), // it logs what the kernel said when it was aborted
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

// refusePoll makes the kernel learn that these files cannot be polled. Otherwise
// it would ask when this process opens one, at a moment when Go's runtime waits
// for the answer and lets nobody give it. go-fuse answers for this name itself.
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

// unmount ends what nobody uses anymore. It is EBUSY while somebody does.
func (p *passthrough) unmount() error {
	if err := unix.Unmount(p.point, unix.UMOUNT_NOFOLLOW); err != nil {
		return err
	}
	return p.finish()
}

// abort ends what may be in use: all that is waiting for an answer fails.
func (p *passthrough) abort() error {
	if err := forceDetach(p.point); err != nil {
		return fmt.Errorf("unmount %s: %w", p.point, err)
	}
	return p.finish()
}

// finish waits until everything has been answered, and closes what clients had no
// time to.
func (p *passthrough) finish() error {
	p.end()
	timer := time.NewTimer(endPatience)
	defer timer.Stop()
	select {
	case <-p.served:
	case <-timer.C:
		return fmt.Errorf("FUSE at %s has not ended after %s: something below hangs", p.point, endPatience)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close() // as at the end of a process, there is nobody to tell
	}
	clear(p.open)
	return nil
}

func (p *passthrough) opened(c io.Closer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[c] = struct{}{}
}

func (p *passthrough) released(c io.Closer) error {
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	return c.Close()
}
