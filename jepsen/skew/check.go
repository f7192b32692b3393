//go:build linux && amd64

package skew

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Check returns nil if this machine can give a process its own clock, otherwise an
// error in one line. It makes a trial with the programs date and cat.
func Check() error {
	const ahead = 1000 * time.Hour
	if err := checkStart(ahead); err != nil {
		return fmt.Errorf("start a process with its own clock: %w", err)
	}
	if err := checkSet(ahead); err != nil {
		return fmt.Errorf("set the clock of a process: %w", err)
	}
	return nil
}

// checkStart starts a program that prints its clock, and compares the printed time.
func checkStart(ahead time.Duration) error {
	var printed strings.Builder
	cmd := exec.Command("date", "+%s")
	cmd.Stdout = &printed
	c, err := Start(cmd, ahead)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("date: %w", err)
	}
	sec, err := strconv.ParseInt(strings.TrimSpace(printed.String()), 10, 64)
	if err != nil {
		return fmt.Errorf("date: %w", err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return err
	}
	if off := time.Duration(sec-now.Sec) * time.Second; (off - ahead).Abs() > time.Hour {
		return fmt.Errorf("date with a clock %v ahead reads a clock %v ahead: the program date does not use the vDSO", ahead, off)
	}
	return nil
}

// checkSet sets the clock of cat, which runs until its input is closed.
func checkSet(ahead time.Duration) error {
	cmd := exec.Command("cat")
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	c, err := Start(cmd, 0)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	err = c.Set(ahead)
	_ = input.Close() // makes cat exit
	if waited := cmd.Wait(); err == nil && waited != nil {
		err = fmt.Errorf("cat: %w", waited)
	}
	return err
}
