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

// Check tries whether this machine and this process can do what a [Disk] needs. Its
// error is one line that names what is missing.
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
		return fmt.Errorf("disks need what is missing here: %s", strings.Join(missing, ", "))
	}
	if err := try(ctx); err != nil {
		return fmt.Errorf("disks do not work here: %s", oneLine(err))
	}
	return nil
}

// try does once what tests do with disks.
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

// oneLine is an error's text without line ends.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// firstLine is the first line of what a program printed.
func firstLine(out []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	return string(line)
}
