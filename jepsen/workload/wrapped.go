//go:build linux

package workload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// wrapped runs a foreign generator under "snowraft worker run" on each of its hosts (wrap-1, wrap-2, ...). There are fewer
// workers than hosts, so that a worker that becomes free has another holder at once.
func wrapped() Workload {
	return Workload{
		Name:  "wrapped",
		About: "foreign generators under worker run; wrapper, guard and command are killed, stopped, frozen and cut off, and their clock jumps",
		Prepare: func(ctx context.Context, w *World) error {
			return w.CreateLayout(ctx, &snowraftv1.Layout{
				Name: wrappedLayout, UnitMs: 1, EpochAtMs: foreignEpoch, LeaseOnly: true,
				Fields: []*snowraftv1.Field{
					{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 63 - foreignWorkerBits - foreignSequenceBits},
					{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: foreignWorkerBits},
					{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: foreignSequenceBits},
				},
			})
		},
		Run: runWrapped,
	}
}

const (
	wrappedLayout  = "wrapped"
	wrappers       = 4
	wrappedWorkers = 3
	// stopWithin is the time that the foreign generator needs to stop, and endWithin that of its wrapper.
	stopWithin = 2 * time.Second
	endWithin  = 10 * time.Second
)

func runWrapped(ctx context.Context, w *World) error {
	out, err := w.IDs(wrappedLayout)
	if err != nil {
		return err
	}
	errs := make([]error, wrappers)
	var wg sync.WaitGroup
	for i := range wrappers {
		const first = 10 // after those of embedded
		guest, err := w.Lab.AddGuest(ctx, wrappedLayout, fmt.Sprintf("wrap-%d", i+1), first+i+1)
		if err != nil {
			return err
		}
		guest.Family = true
		h := &wrapper{w: w, guest: guest, out: out, client: w.NextClient(), turn: i * len(blows) / wrappers}
		wg.Go(func() { errs[i] = h.live(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// wrapper runs one wrapped generator after another on its host.
type wrapper struct {
	w      *World
	guest  *lab.Guest
	out    *history.Writer
	client uint32
	turn   int // index of the next blow

	readers sync.WaitGroup
}

// live starts, hits and restarts wrapped generators until ctx is done.
func (h *wrapper) live(ctx context.Context) error {
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	defer h.readers.Wait()
	// Processes that outlive their wrapper lose the reader of their IDs, and end.
	defer time.AfterFunc(2*endWithin, end)
	defer h.guest.Stop(endWithin)
	troubled, cancel := h.w.troubled(ctx)
	defer cancel()
	for {
		if err := h.start(over); err != nil {
			return err
		}
		if !history.Sleep(ctx, within(time.Second, 4*time.Second)) {
			return nil
		}
		if troubled.Err() != nil {
			continue
		}
		if err := h.hit(troubled); err != nil {
			return err
		}
	}
}

// start starts a wrapper unless one runs, and records the IDs that its command prints.
func (h *wrapper) start(over context.Context) error {
	if h.guest.Running() {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer write.Close() //nolint:errcheck // the process has its own descriptor
	log, err := os.Create(filepath.Join(h.w.Dir, "logs", fmt.Sprintf("%s.%d.log", h.guest.Name, h.w.NextSession())))
	if err != nil {
		return errors.Join(err, read.Close())
	}
	defer log.Close() //nolint:errcheck // the process has its own descriptor
	var number uint32
	started, err := h.guest.Start(func(start uint32) *exec.Cmd {
		number = start
		cmd := exec.CommandContext(over, h.w.Lab.Program(), "worker", "run", "--layout", wrappedLayout,
			"--holder", h.guest.Name, "--below", strconv.Itoa(wrappedWorkers), "--stop-timeout", stopWithin.String(),
			"--env-worker", ForeignWorker, "--", h.w.Self, "foreign")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "SNOWRAFT_ADDR="+strings.Join(h.w.addresses(), ","),
			foreignRate+"="+strconv.FormatFloat(h.w.Rate/wrappers, 'f', -1, 64))
		if token := h.w.Lab.Token(); token != "" {
			cmd.Env = append(cmd.Env, "SNOWRAFT_TOKEN="+token)
		}
		cmd.Stdout, cmd.Stderr = write, log
		return cmd
	})
	if err != nil || !started {
		return errors.Join(err, read.Close())
	}
	h.readers.Go(func() {
		defer context.AfterFunc(over, func() { _ = read.Close() })()
		h.collect(read, number)
	})
	return nil
}

// collect records the IDs of a process until all of its descendants have closed the pipe. The IDs of a call are consecutive.
func (h *wrapper) collect(from *os.File, start uint32) {
	defer from.Close() //nolint:errcheck // read only
	lines := bufio.NewScanner(from)
	for {
		op := history.Op{
			ID: h.w.NextOp(), Workload: wrappedLayout, Client: h.client, Do: history.DoIDs, Key: wrappedLayout,
			Member: h.guest.Name, Start: start, Outcome: history.OK,
		}
		var first uint64
		for ; op.Count < foreignOnce && lines.Scan(); op.Count++ {
			id, err := strconv.ParseUint(lines.Text(), 10, 64)
			if err != nil || op.Count > 0 && id != first+uint64(op.Count) {
				h.w.Lab.Note(h.guest.Name, "not-collected", lines.Text())
				return
			}
			if op.Count == 0 {
				first = id
			}
		}
		if op.Count == 0 {
			return
		}
		op.Call = history.Now() // the time of the call is unknown
		op.Return = op.Call
		h.out.Add(history.Issued{
			First: first, Step: 1, Count: op.Count, Op: op.ID, Call: op.Call, Return: op.Return, Start: start, Client: h.client,
		})
		h.w.Journal.Add(history.Line{Op: &op})
	}
}

// while returns the time for which a fault lasts. In most cases, a window ends in this time.
func (h *wrapper) while() time.Duration {
	if rand.IntN(3) == 0 {
		return within(200*time.Millisecond, 3*time.Second)
	}
	return h.w.Lab.MaxWindow() + within(0, 4*time.Second)
}
