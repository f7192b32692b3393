//go:build linux

package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	loopControl = "/dev/loop-control"
	loopTries   = 100 // bounds the attempts while other processes take the free devices
)

// attach attaches an image to a free loop device and returns the open device. The
// kernel frees the device once it is neither open nor mounted.
func attach(image string) (_ *os.File, err error) {
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // the device keeps its own reference to the image
	control, err := os.OpenFile(loopControl, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the control of loop devices: %w", err)
	}
	defer func() { _ = control.Close() }()
	for range loopTries {
		var loop *os.File
		if loop, err = attachTo(control, f); err == nil {
			return loop, nil
		}
		if !errors.Is(err, unix.EBUSY) {
			break
		}
	}
	return nil, err
}

// attachTo attaches a file to the first free device and returns the open device. It returns EBUSY if another process took the
// device first.
func attachTo(control, f *os.File) (_ *os.File, err error) {
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		return nil, fmt.Errorf("find a free loop device: %w", err)
	}
	loop, err := os.OpenFile(loopDevice(n), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	config := unix.LoopConfig{Fd: uint32(f.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}} //nolint:gosec // a descriptor is small
	copy(config.Info.File_name[:len(config.Info.File_name)-1], f.Name())
	if err := unix.IoctlLoopConfigure(int(loop.Fd()), &config); err != nil {
		_ = loop.Close()
		return nil, fmt.Errorf("%s: %w", loop.Name(), err)
	}
	return loop, nil
}
