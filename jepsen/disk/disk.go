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

// minSize is the smallest disk, in bytes: a smaller ext4 file system has no room for a journal.
const minSize = 16 << 20

// Disk is an ext4 file system in an image file, mounted through its own loop
// device. Its methods may be called concurrently; mounts and unmounts are
// serialized.
type Disk struct {
	image string // path of the file that holds the file system
	under string // mount point of ext4
	over  string // mount point of FUSE

	faulty faulty      // survives remounts
	toFree atomic.Bool // Free failed because the power was off

	mu      sync.Mutex // held during mounts and unmounts
	mounted bool
	fuse    *passthrough // nil if FUSE is not mounted

	interposed atomic.Bool
	closing    chan struct{} // closed when Close begins
	close      func()        // closes closing
}

// New creates a disk of size bytes, at least 16 MiB, and mounts it. The image is
// the sparse file dir/name.img, and the file system is mounted at dir/name. New
// overwrites an existing image. ctx bounds the creation of the file system.
func New(ctx context.Context, dir, name string, size int64) (_ *Disk, err error) {
	if size < minSize {
		return nil, fmt.Errorf("disk %s: %d bytes are too few for ext4; use at least %d", name, size, minSize)
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

// format creates an image with an ext4 file system.
func format(ctx context.Context, image string, size int64) error {
	f, err := os.OpenFile(image, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return err
	}
	// lazy_*=0: background initialization would write at moments that no test
	// chose. -m 0: no blocks are reserved for root, because members run as root
	// and a full disk must be full for them. There are few files, so few inodes
	// and a small journal are enough.
	out, err := exec.CommandContext(ctx, "mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-N", "4096", //nolint:gosec // our own image
		"-J", "size=4", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard", image).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mkfs.ext4: %w: %s", err, firstLine(out))
	}
	return nil
}

// mount attaches the image to a loop device and mounts it. Requires d.mu, unless d is not shared yet.
func (d *Disk) mount() error {
	loop, err := attach(d.image)
	if err != nil {
		return err
	}
	// The kernel frees the device once it is neither open nor mounted.
	defer func() { _ = loop.Close() }()
	// nobarrier: the platter is the machine's page cache and the machine does not
	// fail, so a flush to the machine's own disk would only make members wait for
	// each other. noauto_da_alloc: a rename must not make an unsynced file durable.
	// commit=3600: neither may the default commit every five seconds.
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

// Path returns the directory for a member's data directory. Once the disk is
// interposed, the path leads through FUSE, which the process that made the disk
// serves. That process must not access the path, not even by stat, and must not
// start a process whose working directory is the path; it uses [Disk.Under].
func (d *Disk) Path() string {
	if d.interposed.Load() {
		return d.over
	}
	return d.under
}

// Under returns the same directory as Path, but never through FUSE. It serves to
// read and damage the files of a member that is down.
func (d *Disk) Under() string { return d.under }

// Close unmounts the disk, frees its loop device and removes the image. It does
// not wait for processes that use the disk: for them the disk stays until they
// exit. Close may be called again. It makes a concurrent PowerOn return.
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

// loopDevice returns the path of a loop device.
func loopDevice(n int) string { return "/dev/loop" + strconv.Itoa(n) }
