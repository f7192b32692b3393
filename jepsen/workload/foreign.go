//go:build linux

package workload

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/jepsen/history"
)

// The environment variables of the foreign generator: its worker, and its calls per second.
const (
	ForeignWorker = "WORKER"
	foreignRate   = "RATE"
)

// The layout of the foreign generator, as in many libraries: milliseconds since the epoch, 10 bits for the worker, and 12
// bits for a count that begins at 0 in each millisecond.
const (
	foreignEpoch        = 1288834974657
	foreignWorkerBits   = 10
	foreignSequenceBits = 12
	foreignOnce         = 4 // IDs per call
	foreignBack         = 5 // milliseconds that the clock may be back
)

// PrintForeign prints IDs until it is killed, a line for each. It knows the clock of the machine and its worker, and
// nothing of leases. It waits for a clock that moved back a little, and follows one that moved back by more. With an even worker, it
// ignores SIGTERM, as programs do that stop too slowly. It writes the IDs of a call at once, so that the reader sees all or none.
func PrintForeign(out io.Writer) error {
	worker, err := strconv.ParseUint(os.Getenv(ForeignWorker), 10, foreignWorkerBits)
	if err != nil {
		return fmt.Errorf("read the worker: %w", err)
	}
	rate, err := strconv.ParseFloat(os.Getenv(foreignRate), 64)
	if err != nil || rate <= 0 {
		return fmt.Errorf("read the rate: %w", err)
	}
	if worker%2 == 0 {
		signal.Ignore(unix.SIGTERM)
	}
	last, lines := int64(0), make([]byte, 0, foreignOnce*21)
	for history.Sleep(context.Background(), time.Duration(float64(time.Second)/rate)) {
		at := time.Now().UnixMilli() - foreignEpoch
		if at <= last && at >= last-foreignBack {
			continue
		}
		last, lines = at, lines[:0]
		for n := range uint64(foreignOnce) {
			id := uint64(at)<<(foreignWorkerBits+foreignSequenceBits) | worker<<foreignSequenceBits | n
			lines = append(strconv.AppendUint(lines, id, 10), '\n')
		}
		if _, err := out.Write(lines); err != nil {
			return err
		}
	}
	return nil
}
