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

// maxOffset is how far a clock may be off, either way: 100 years.
const maxOffset = 100 * 8766 * time.Hour

// Clock is the wall clock of one process. Its methods may be called from any goroutine.
type Clock struct {
	mu     sync.Mutex
	memory *os.File // of the process, as it was when it started: no other process ever
	cells  int64    // their address
	turn   byte     // the generation
	offset time.Duration
}

// checkOffset refuses an offset that a clock cannot have.
func checkOffset(offset time.Duration) error {
	if offset < -maxOffset || offset > maxOffset {
		return fmt.Errorf("a clock cannot be off by %v: at most by %v, either way", offset, maxOffset)
	}
	return nil
}

// Set makes the clock be off by offset from the machine's: the next reading, in whatever
// thread, already is. Positive is ahead, 100 years are the most. It fails if the process has
// ended or has executed another program; then nothing has changed.
func (c *Clock) Set(offset time.Duration) error {
	if err := checkOffset(offset); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	turn := c.turn + 1
	// Two writes, for what the cells say of them.
	if err := c.write(slot(offset), int64(turn&1)*slotSize); err != nil {
		return err
	}
	if err := c.write([]byte{turn}, generation); err != nil {
		return err
	}
	c.turn, c.offset = turn, offset
	return nil
}

// write writes into the cells.
func (c *Clock) write(b []byte, at int64) error {
	_, err := c.memory.WriteAt(b, c.cells+at)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF): // nobody has this memory anymore
		return fmt.Errorf("the clock cannot be set, its process has ended: %w", os.ErrProcessDone)
	case errors.Is(err, syscall.EIO):
		return fmt.Errorf("the clock cannot be set, the kernel does not let its memory be written (see the kernel's parameter proc_mem.force_override): %w", err)
	default:
		return fmt.Errorf("the clock cannot be set: %w", err)
	}
}

// Offset is by how much the clock is off. After its process has ended, it is what it was last.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

// Close lets go of the process's memory. The clock stays as it is set.
func (c *Clock) Close() error { return c.memory.Close() }
