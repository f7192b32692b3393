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

// Check says in one line what keeps processes from having clocks of their own here; nil if
// they can. It tries, with the programs date and cat.
func Check() error {
	const ahead = 1000 * time.Hour
	if err := checkStart(ahead); err != nil {
		return fmt.Errorf("a process cannot have a clock of its own here: %w", err)
	}
	if err := checkSet(ahead); err != nil {
		return fmt.Errorf("the clock of a process cannot be set here: %w", err)
	}
	return nil
}

// checkStart starts a program that prints its clock.
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
		return fmt.Errorf("date was started with a clock that is %v ahead, and found it %v ahead: it does not ask the vDSO", ahead, off)
	}
	return nil
}

// checkSet sets the clock of a program that runs until its input ends.
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
	_ = input.Close() // cat's end is waited for anyway
	if waited := cmd.Wait(); err == nil && waited != nil {
		err = fmt.Errorf("cat: %w", waited)
	}
	return err
}
