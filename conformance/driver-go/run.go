package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// runResult is the answer of a run.
type runResult struct {
	Issued    int            `json:"issued"`
	Errors    map[string]int `json:"errors"`
	LastError string         `json:"last_error,omitempty"`
}

// run issues with several goroutines until the count is reached, the time is over, or stop is called. It continues after errors that
// may be repeated.
func (d *driver) run(id int, a params) (any, error) {
	take, err := d.source(a)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if a.Ms > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(a.Ms)*time.Millisecond)
		defer cancel()
	}
	d.mu.Lock()
	d.stops[id] = cancel
	d.mu.Unlock()
	f, err := os.OpenFile(a.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	w := &work{ctx: ctx, take: take, file: bufio.NewWriterSize(f, 1<<20), result: runResult{Errors: map[string]int{}}}
	w.left.Store(int64(a.Count))
	if a.Count == 0 {
		w.left.Store(1 << 62)
	}
	var group sync.WaitGroup
	for range max(1, a.Threads) {
		group.Go(w.work)
	}
	group.Wait()
	return w.result, w.file.Flush()
}

// stop ends a run.
func (d *driver) stop(id int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if stop := d.stops[id]; stop != nil {
		stop()
	}
}

// source returns the function that issues one ID or number.
func (d *driver) source(a params) (func(ctx context.Context) (int64, error), error) {
	switch a.Kind {
	case "generator":
		g, err := find(d, d.generators, a.Name)
		if err != nil {
			return nil, err
		}
		return g.Next, nil
	case "buffer":
		b, err := find(d, d.buffers, a.Name)
		if err != nil {
			return nil, err
		}
		return b.Next, nil
	case "blocks":
		b, err := find(d, d.blocks, a.Name)
		if err != nil {
			return nil, err
		}
		return b.Next, nil
	case "ids", "numbers":
		c, err := find(d, d.clients, a.Name)
		if err != nil {
			return nil, err
		}
		if a.Kind == "numbers" {
			return c.Sequence(a.Sequence).Next, nil
		}
		return c.IDs(layoutOf(a)).Next, nil
	}
	return nil, fmt.Errorf("unknown kind %q of a run", a.Kind)
}

// work is the shared state of the goroutines of a run.
type work struct {
	ctx  context.Context
	take func(ctx context.Context) (int64, error)
	left atomic.Int64

	mu     sync.Mutex
	file   *bufio.Writer
	result runResult
}

func (w *work) work() {
	batch := make([]byte, 0, 1<<16)
	defer func() { w.flush(batch) }()
	for w.ctx.Err() == nil && w.left.Add(-1) >= 0 {
		id, err := w.take(w.ctx)
		if err != nil {
			if w.ctx.Err() != nil || !w.failed(err) {
				return
			}
			w.left.Add(1)
			continue
		}
		if batch = binary.BigEndian.AppendUint64(batch, uint64(id)); len(batch) == cap(batch) {
			w.flush(batch)
			batch = batch[:0]
		}
	}
}

// failed counts an error, and reports whether to continue.
func (w *work) failed(err error) bool {
	f := failureOf(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result.Errors[f.Reason]++
	w.result.LastError = f.Message
	return f.Retry
}

// flush writes IDs to the file.
func (w *work) flush(batch []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.file.Write(batch); err != nil {
		w.result.LastError = err.Error()
		return
	}
	w.result.Issued += len(batch) / 8
}
