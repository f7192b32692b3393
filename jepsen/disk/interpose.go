//go:build linux

package disk

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Interpose mounts FUSE in front of the disk: [Disk.Path] then leads through FUSE,
// which applies the faults of [Disk.Inject]. It must be called before a member
// starts. Its effect lasts until Close, even across PowerOn. A second call does
// nothing.
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

// interpose mounts FUSE in front of the mounted file system. Requires d.mu.
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

// Inject replaces the faults of an interposed disk; the zero value heals the disk.
// The count of writes starts again, and delayed syncs continue at once.
func (d *Disk) Inject(f Faults) { d.faulty.inject(f) }

// Hit reports whether any of the last injected faults took effect: a sync was delayed or answered without syncing, or a write
// failed or was torn. Without writes and syncs, no fault takes effect.
func (d *Disk) Hit() bool { return d.faulty.came() }

// Stats returns the numbers of writes and syncs that reached FUSE since Interpose,
// and of those that failed for any reason.
func (d *Disk) Stats() (writes, syncs, failed uint64) {
	return d.faulty.writes.Load(), d.faulty.syncs.Load(), d.faulty.failed.Load()
}

// forceDetach unmounts a file system that may be in use or hang.
func forceDetach(path string) error {
	return unix.Unmount(path, unix.MNT_FORCE|unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
}
