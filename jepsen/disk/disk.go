//go:build linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// minSize is the smallest disk, in bytes: below it ext4 has no room for its journal.
const minSize = 16 << 20

// Disk is an ext4 file system in an image file, mounted through a loop device of
// its own. Its methods may be called at the same time; those that mount and
// unmount wait for each other.
type Disk struct {
	image string // the file that holds the file system
	under string // where ext4 is mounted
	over  string // where FUSE is mounted, if it is

	faulty faulty      // outlives what is mounted
	toFree atomic.Bool // Free failed for want of power

	mu      sync.Mutex // held while something is mounted or unmounted
	mounted bool
	fuse    *passthrough // nil if there is none

	interposed atomic.Bool
	closing    chan struct{} // closed when Close begins
	close      func()
}

// New makes a disk of so many bytes, at least 16 MiB, and mounts it: the image is
// dir/name.img, which takes only the room that is written to, the file system is
// at dir/name. What was there under these names is overwritten. ctx bounds making
// the file system.
func New(ctx context.Context, dir, name string, size int64) (_ *Disk, err error) {
	if size < minSize {
		return nil, fmt.Errorf("disk %s: %d bytes are too few for ext4; give it at least %d", name, size, minSize)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("disk %s: %w", name, err)
	}
	d := &Disk{image: filepath.Join(dir, name+".img"), under: filepath.Join(dir, name), over: filepath.Join(dir, name+".fuse")}
	d.closing = make(chan struct{})
	d.close = sync.OnceFunc(func() { close(d.closing) })
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("disk %s: %w", name, err), d.Close())
		}
	}()
	if err := format(ctx, d.image, size); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(d.under, 0o700); err != nil {
		return nil, err
	}
	return d, d.mount()
}

// format makes an image with an ext4 file system.
func format(ctx context.Context, image string, size int64) error {
	f, err := os.OpenFile(image, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return err
	}
	// No threads that go on initializing in the background, which would write at
	// moments that nobody chose; no blocks that only root may use, since members
	// run as root and must find the disk full too; few inodes and a small journal,
	// since there are few files.
	out, err := exec.CommandContext(ctx, "mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-N", "4096", //nolint:gosec // our own image
		"-J", "size=4", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", image).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mkfs.ext4: %w: %s", err, firstLine(out))
	}
	return nil
}

// mount attaches the image and mounts it. mu is held, or nobody knows d yet.
func (d *Disk) mount() error {
	loop, err := attach(d.image)
	if err != nil {
		return err
	}
	// The kernel frees the device when it is neither open nor mounted anymore.
	defer func() { _ = loop.Close() }()
	// nobarrier: the platter is the machine's page cache and the machine does not
	// fail, so flushing it to the machine's own disk would only make members wait
	// for each other. noauto_da_alloc: a rename must not make a file durable that
	// nobody synced. commit: nor may five seconds.
	const options = "nobarrier,noauto_da_alloc,commit=3600,errors=remount-ro"
	if err := unix.Mount(loop.Name(), d.under, "ext4", unix.MS_NOATIME|unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount %s at %s: %w", loop.Name(), d.under, err)
	}
	d.mounted = true
	if d.toFree.Swap(false) {
		return d.free()
	}
	return nil
}

// Path is the directory in which a member keeps its data directory. It leads
// through FUSE once the disk is interposed. The process that made the disk serves
// it there, so it does not go there itself, not even for a look, but uses
// [Disk.Under]; nor does it start a process with that as its working directory.
func (d *Disk) Path() string {
	if d.interposed.Load() {
		return d.over
	}
	return d.under
}

// Under is the same directory as Path, but never through FUSE: for reading and
// damaging the files of a member that is down.
func (d *Disk) Under() string { return d.under }

// Close unmounts the disk, frees its loop device and removes the image. It does
// not wait for processes that still use it: for them it stays until they end. It
// may be called again, and ends a PowerOn that goes on.
func (d *Disk) Close() error {
	d.close()
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	if d.fuse != nil {
		errs = append(errs, d.fuse.abort())
		d.fuse = nil
	}
	if d.mounted {
		err := unix.Unmount(d.under, unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(d.under, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", d.under, err))
		}
		d.mounted = err != nil
	}
	for _, path := range []string{d.over, d.under, d.image} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// loopDevice is the path of a loop device.
func loopDevice(n int) string { return "/dev/loop" + strconv.Itoa(n) }
