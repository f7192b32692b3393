//go:build linux

package workload

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

// ahead returns how far a clock jumps ahead: within the window in a third of all cases, otherwise out of it.
func ahead(h *wrapper) time.Duration {
	return [...]time.Duration{200 * time.Millisecond, h.w.Lab.MaxWindow() + within(0, 4*time.Second), time.Hour}[rand.IntN(3)]
}

// back returns how far a clock jumps back, always by more than the wrapper tolerates.
func back(*wrapper) time.Duration {
	return -[...]time.Duration{20 * time.Millisecond, 10 * time.Second, time.Hour}[rand.IntN(3)]
}

// jump sets the clock of wrapper, guard and command off, and later right.
func jump(by func(*wrapper) time.Duration) func(context.Context, *wrapper, processes, string) error {
	return func(ctx context.Context, h *wrapper, _ processes, name string) error {
		h.w.Lab.Note(h.guest.Name, history.NoteWrapped, name)
		if err := h.setClock(by(h)); err != nil {
			return err
		}
		history.Sleep(ctx, h.while())
		return h.setClock(0)
	}
}

// creep sets the clock back in steps that the wrapper tolerates one by one, and later right.
func creep(ctx context.Context, h *wrapper, _ processes, name string) error {
	h.w.Lab.Note(h.guest.Name, history.NoteWrapped, name)
	for i := range 1 + rand.IntN(4) {
		if err := h.setClock(time.Duration(i+1) * -3 * time.Millisecond); err != nil {
			return err
		}
		history.Sleep(ctx, 200*time.Millisecond)
	}
	history.Sleep(ctx, h.while())
	return h.setClock(0)
}

// setClock sets the clock of the host to an offset from that of the machine.
func (h *wrapper) setClock(offset time.Duration) error {
	h.w.Lab.Note(h.guest.Name, history.NoteStepping, offset.String())
	err := h.guest.Skew(offset)
	h.w.Lab.Note(h.guest.Name, history.NoteStepped, "")
	return err
}
