//go:build linux

package disk

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Interpose puts FUSE before the disk: from now on [Disk.Path] leads through it,
// and what [Disk.Inject] says happens there. It is called before a member starts,
// and lasts until Close, over PowerOn too. Again, it does nothing.
func (d *Disk) Interpose(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interpose %s: %w", d.over, err)
	}
	if !d.mounted {
		return fmt.Errorf("interpose %s: the disk is not mounted; mount it with PowerOn", d.over)
	}
	if d.fuse != nil {
		return nil
	}
	if err := d.interpose(); err != nil {
		return err
	}
	d.interposed.Store(true)
	return nil
}

// interpose mounts FUSE over the file system that is mounted. mu is held.
func (d *Disk) interpose() error {
	if err := os.MkdirAll(d.over, 0o700); err != nil {
		return fmt.Errorf("interpose: %w", err)
	}
	p, err := pass(d.under, d.over, &d.faulty)
	if err != nil {
		return fmt.Errorf("interpose %s: %w", d.over, err)
	}
	d.fuse = p
	return nil
}

// Inject replaces the faults that an interposed disk has; the zero value heals it.
// Writes are counted from now on, and syncs that are being delayed go on at once.
func (d *Disk) Inject(f Faults) { d.faulty.inject(f) }

// Hit reports whether any of the faults that were injected last came about: a sync was delayed or
// answered with a lie, a write failed or was torn. Without writes and syncs there is none.
func (d *Disk) Hit() bool { return d.faulty.came() }

// Stats counts the writes and the syncs that reached FUSE since it was interposed,
// and how many of both failed, for whatever reason.
func (d *Disk) Stats() (writes, syncs, failed uint64) {
	return d.faulty.writes.Load(), d.faulty.syncs.Load(), d.faulty.failed.Load()
}

// forceDetach unmounts what may be in use or hang.
func forceDetach(path string) error {
	return unix.Unmount(path, unix.MNT_FORCE|unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
}
