//go:build linux

package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Check returns an error if this machine or this process lacks a requirement of a
// [Disk]. The error is one line that names every missing requirement.
func Check(ctx context.Context) error {
	var missing []string
	for _, device := range []string{loopControl, fuseDevice} {
		f, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			missing = append(missing, oneLine(err))
			continue
		}
		_ = f.Close()
	}
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		missing = append(missing, "mkfs.ext4 (Debian: e2fsprogs)")
	}
	if len(missing) > 0 {
		return fmt.Errorf("disks need missing requirements: %s", strings.Join(missing, ", "))
	}
	if err := try(ctx); err != nil {
		return fmt.Errorf("disks do not work on this machine: %s", oneLine(err))
	}
	return nil
}

// try makes a small disk, cuts and restores its power, interposes FUSE and closes the disk.
func try(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "disk")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d, err := New(ctx, dir, "try", minSize)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.PowerOff(); err != nil {
		return fmt.Errorf("EXT4_IOC_SHUTDOWN: %w", err)
	}
	if err := d.PowerOn(ctx); err != nil {
		return err
	}
	return d.Interpose(ctx)
}

// oneLine returns the error's text with "; " in place of line breaks.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// firstLine returns the first line of a program's output.
func firstLine(out []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	return string(line)
}
