//go:build linux

package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/snowflake"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// embedded runs processes that embed the product's generator, each on its own host (gen-1,
// gen-2, ...). They are killed, paused, closed and started again with the same holder name.
// IDs that a killed process has issued but not yet written are lost to the history.
func embedded() Workload {
	return Workload{
		Name:    "embedded",
		About:   "embedded generators in separate processes, which are killed, paused, closed and started again",
		Prepare: prepareEmbedded,
		Run:     runEmbedded,
	}
}

const (
	generators = 4
	// embeddedLayout is the layout of every second generator. The others share the default
	// layout with the members.
	embeddedLayout = "embedded"
)

func prepareEmbedded(ctx context.Context, w *World) error {
	return w.CreateLayout(ctx, &snowraftv1.Layout{
		Name: embeddedLayout, UnitMs: 10, EpochAtMs: 1577836800000, Spread: 7,
		Fields: []*snowraftv1.Field{
			{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 39},
			{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 8},
			{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 16},
		},
	})
}

func runEmbedded(ctx context.Context, w *World) error {
	errs := make([]error, generators)
	var wg sync.WaitGroup
	for i := range generators {
		guest, err := w.Lab.AddGuest(ctx, "embedded", fmt.Sprintf("gen-%d", i+1), i+1)
		if err != nil {
			return err
		}
		h := &host{w: w, guest: guest, client: w.NextClient(), layout: snowflake.Default().Name(), rate: w.Rate / generators}
		if i%2 == 1 {
			h.layout = embeddedLayout
		}
		wg.Go(func() { errs[i] = h.live(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// host runs one generator process after another.
type host struct {
	w      *World
	guest  *lab.Guest
	client uint32
	layout string
	rate   float64

	readers sync.WaitGroup
}

// live starts, disturbs and restarts generator processes until ctx is done.
func (h *host) live(ctx context.Context) error {
	defer h.readers.Wait()
	defer h.guest.Stop(2 * closeWithin)
	for {
		if err := h.start(ctx); err != nil {
			return err
		}
		if !history.Sleep(ctx, within(time.Second, 10*time.Second)) {
			return nil
		}
		release, ok := h.guest.Reserve()
		if !ok {
			continue // a fault has reserved the host
		}
		h.disturb(ctx)
		release()
	}
}

// disturb kills, stops or pauses the process.
func (h *host) disturb(ctx context.Context) {
	switch rand.IntN(6) {
	case 0, 1:
		h.guest.Kill()
		history.Sleep(ctx, rand.N(2*time.Second))
	case 2:
		h.guest.Kill() // live restarts the process at once
	case 3:
		h.guest.Stop(2 * closeWithin)
		history.Sleep(ctx, rand.N(2*time.Second))
	default:
		h.guest.Pause()
		history.Sleep(ctx, within(200*time.Millisecond, 12*time.Second))
		h.guest.Continue()
	}
}

// start starts a process unless one runs, and copies its output into the journal.
func (h *host) start(ctx context.Context) error {
	if h.guest.Running() {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer write.Close() //nolint:errcheck // the process has its own descriptor
	g := Generator{
		Dir: h.w.Dir, File: h.w.IDFile(h.layout), Members: h.w.addresses(), Layout: h.layout, Token: h.w.Lab.Token(), Holder: h.guest.Name, Rate: h.rate,
		Client: h.client, Session: h.w.NextSession(),
	}
	log, err := os.OpenFile(filepath.Join(h.w.Dir, "logs", fmt.Sprintf("%s.%d.log", h.guest.Name, g.Session)), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return errors.Join(err, read.Close())
	}
	defer log.Close() //nolint:errcheck // the process has its own descriptor
	started, err := h.guest.Start(func(start uint32) *exec.Cmd {
		g.Start, g.LastOp = start, lastOpBefore(start)
		raw, _ := json.Marshal(g) // never fails: only strings and numbers
		cmd := exec.CommandContext(context.WithoutCancel(ctx), h.w.Self, "generator", string(raw))
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		cmd.Stdout, cmd.Stderr = write, log
		return cmd
	})
	if err != nil || !started {
		return errors.Join(err, read.Close())
	}
	h.readers.Go(func() { h.merge(read) })
	return nil
}

// lastOpBefore returns the operation ID that precedes a process's first one, by its start
// number. World counts from 1 and never reaches these IDs.
func lastOpBefore(start uint32) uint64 { return uint64(start) << 32 }

// merge copies the lines of a process into the journal until the process exits. It omits an
// incomplete last line.
func (h *host) merge(from io.ReadCloser) {
	defer from.Close() //nolint:errcheck // read only
	r := bufio.NewReader(from)
	for {
		raw, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var line history.Line
		if err := json.Unmarshal(raw, &line); err != nil {
			h.w.Lab.Note(h.guest.Name, "not-merged", err.Error())
			continue
		}
		h.w.Journal.Add(line)
	}
}
