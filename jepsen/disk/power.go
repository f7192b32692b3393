//go:build linux

package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	extShutdown = 0x8004587d // EXT4_IOC_SHUTDOWN
	noLogFlush  = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH: ext4 does not write its journal
	// busyPause is the pause between attempts to unmount a disk that is in use.
	busyPause = 10 * time.Millisecond
)

// PowerOff cuts the disk's power: every later write and sync fails, and unsynced
// data is lost at the next [Disk.PowerOn]. Reads fail too. A read of a mapped file
// fails with SIGBUS only if the page is not in memory, which is more likely if the
// disk is interposed. Without a PowerOn, the disk acts like a dead one. A second
// PowerOff changes nothing.
func (d *Disk) PowerOff() error {
	root, err := os.Open(d.under)
	if err != nil {
		return fmt.Errorf("power off %s: %w", d.under, err)
	}
	defer func() { _ = root.Close() }()
	if err := unix.IoctlSetPointerInt(int(root.Fd()), extShutdown, noLogFlush); err != nil {
		return fmt.Errorf("power off %s: %w", d.under, err)
	}
	return nil
}

// PowerOn mounts the disk again; ext4 replays its journal. While a process uses
// the disk, PowerOn retries until ctx is done. If PowerOn fails, it can be called
// again.
func (d *Disk) PowerOn(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.closing:
		return fmt.Errorf("power on %s: the disk is closed", d.under)
	default:
	}
	if d.fuse != nil {
		// The kernel's caches of FUSE hold data that the disk has lost.
		if err := d.whileBusy(ctx, d.fuse.unmount); err != nil {
			return fmt.Errorf("power on %s: unmount %s: %w", d.under, d.over, err)
		}
		d.fuse = nil
	}
	if d.mounted {
		unmount := func() error { return unix.Unmount(d.under, unix.UMOUNT_NOFOLLOW) }
		if err := d.whileBusy(ctx, unmount); err != nil {
			return fmt.Errorf("power on: unmount %s: %w", d.under, err)
		}
		d.mounted = false
	}
	if err := d.mount(); err != nil {
		return fmt.Errorf("power on: %w", err)
	}
	if d.interposed.Load() {
		return d.interpose()
	}
	return nil
}

// whileBusy repeats try while it returns EBUSY, until ctx is done or the disk is closed.
func (d *Disk) whileBusy(ctx context.Context, try func() error) error {
	ticker := time.NewTicker(busyPause)
	defer ticker.Stop()
	for {
		err := try()
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("a process still uses the disk: %w", err), ctx.Err())
		case <-d.closing:
			return fmt.Errorf("disk closed during the wait: %w", err)
		}
	}
}
