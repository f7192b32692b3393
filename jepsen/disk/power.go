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
	noLogFlush  = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH: not even the journal is written
	// busyPause is the wait before another attempt to unmount a disk in use.
	busyPause = 10 * time.Millisecond
)

// PowerOff cuts the disk's power: from now on every write and every sync fails,
// and what was not synced is gone at the next [Disk.PowerOn]. Reads fail too, but
// of mapped files only where nothing is in memory: a SIGBUS, likelier if the disk is
// interposed. Without PowerOn this is a disk that has died. Doing it again changes
// nothing.
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

// PowerOn mounts the disk again, for which ext4 replays its journal. The processes
// that used it must have ended; while one has not, PowerOn tries again until ctx
// ends. If it fails, it can be called again.
func (d *Disk) PowerOn(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.closing:
		return fmt.Errorf("power on %s: the disk is closed", d.under)
	default:
	}
	if d.fuse != nil {
		// Its caches hold what the disk has lost.
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

// whileBusy repeats what fails with EBUSY until ctx ends or the disk is closed.
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
			return errors.Join(fmt.Errorf("a process still uses it: %w", err), ctx.Err())
		case <-d.closing:
			return fmt.Errorf("the disk was closed meanwhile: %w", err)
		}
	}
}
