//go:build linux && amd64

package skew

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxOffset is the greatest offset of a clock in either direction: 100 years.
const maxOffset = 100 * 8766 * time.Hour

// Clock is the wall clock of one process. Its methods may be called from any goroutine.
type Clock struct {
	mu     sync.Mutex
	memory *os.File // memory of the process while it runs its first program; never that of another process
	base   int64    // address of the vDSO
	cells  int64    // address of the cells
	turn   byte     // last written generation
	offset time.Duration
}

// checkOffset returns an error for an offset beyond maxOffset.
func checkOffset(offset time.Duration) error {
	if offset < -maxOffset || offset > maxOffset {
		return fmt.Errorf("clock offset %v: expected a duration from %v to %v", offset, -maxOffset, maxOffset)
	}
	return nil
}

// Set sets the offset of the clock from the machine's clock, at most 100 years. A
// positive offset is ahead. The next reading in any thread has the offset. If the
// process has exited or has executed another program, Set fails and changes nothing.
func (c *Clock) Set(offset time.Duration) error {
	if err := checkOffset(offset); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	turn := c.turn + 1
	// Two writes, so that no reading is torn: see the cells.
	if err := c.write(slot(offset), int64(turn&1)*slotSize); err != nil {
		return err
	}
	if err := c.write([]byte{turn}, generation); err != nil {
		return err
	}
	c.turn, c.offset = turn, offset
	return nil
}

// write writes bytes at an offset from the cells.
func (c *Clock) write(b []byte, at int64) error {
	_, err := c.memory.WriteAt(b, c.cells+at)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF): // no process has this memory
		return fmt.Errorf("set clock: process has exited or executed another program: %w", os.ErrProcessDone)
	case errors.Is(err, syscall.EIO):
		return fmt.Errorf("set clock: kernel rejects the write to the process's memory; "+
			"see the kernel parameter proc_mem.force_override: %w", err)
	default:
		return fmt.Errorf("set clock: %w", err)
	}
}

// Offset returns the offset of the clock; after the process has exited, the last one.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

// Close closes the process's memory. The clock keeps its offset.
func (c *Clock) Close() error { return c.memory.Close() }
