package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// haltFile is the file in the data directory that records why the member halted. Its process exits within a second, before Prometheus
	// reads the metrics, so the metrics of the next process show it.
	haltFile = "halt.json"
	// haltTimeout bounds the wait for the disk, which may be the reason for the halt.
	haltTimeout = time.Second
	// haltFileSize is longer than any note, in bytes. The file has this size from the start, so that a full disk, a reason to halt, has
	// room for the note.
	haltFileSize = 256
)

// halt is the reason and the time of a halt.
type halt struct {
	Reason   string `json:"reason"` // one of haltReasons
	AtMillis int64  `json:"at_ms"`  // Unix ms
}

// halts holds the last halt of a member.
type halts struct {
	path string // empty: in memory only
	last atomic.Pointer[halt]
}

// openHalts reads the note of an earlier process. It ignores a note that it cannot read.
func openHalts(dir string) *halts {
	h := &halts{}
	if dir == "" {
		return h
	}
	h.path = filepath.Join(dir, haltFile)
	var raw []byte
	if f, err := os.Open(h.path); err == nil {
		raw, _ = io.ReadAll(io.LimitReader(f, haltFileSize))
		_ = f.Close()
	}
	var last halt
	if json.Unmarshal(raw, &last) == nil && last.AtMillis > 0 && slices.Contains(haltReasons, last.Reason) {
		h.last.Store(&last)
	}
	if len(raw) < haltFileSize {
		_ = h.write(raw) // without room, a later note may be lost
	}
	return h
}

// write replaces the content of the file in place. A write that is cut short leaves no valid note.
func (h *halts) write(note []byte) error {
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	content := bytes.Repeat([]byte{' '}, haltFileSize)
	copy(content, note)
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// note remembers a halt, and for the next process too if the disk answers in time.
func (h *halts) note(failure error, atMillis int64) {
	last := &halt{haltReason(failure), atMillis}
	h.last.Store(last)
	if h.path == "" {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if raw, err := json.Marshal(last); err == nil {
			_ = h.write(raw) // the log has the reason as well
		}
	}()
	select {
	case <-done:
	case <-time.After(haltTimeout):
	}
}

// collect sends the metrics.
func (h *halts) collect(ch chan<- prometheus.Metric) {
	last := h.last.Load()
	for _, reason := range haltReasons {
		at := math.NaN()
		if last != nil && last.Reason == reason {
			at = unixOrNaN(last.AtMillis)
		}
		ch <- prometheus.MustNewConstMetric(descHalt, prometheus.GaugeValue, at, reason)
	}
}
