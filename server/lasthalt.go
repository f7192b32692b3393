package server

import (
	"encoding/json"
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
	// haltFile is where a member notes in its data directory why it halted. Its process exits within a second, before Prometheus
	// reads the metrics, so the metrics of the next one tell.
	haltFile = "halt.json"
	// haltPatience bounds the wait for a disk that may be the reason.
	haltPatience = time.Second
	// maxHaltFile is longer than any note, in bytes.
	maxHaltFile = 1 << 10
)

// halt is why and when a member halted.
type halt struct {
	Reason   string `json:"reason"` // of haltReasons
	AtMillis int64  `json:"at_ms"`  // Unix ms
}

// halts knows the last halt of a member.
type halts struct {
	path string // empty: it is kept in memory only
	last atomic.Pointer[halt]
}

// openHalts reads the note of an earlier process. A note that cannot be read is as none.
func openHalts(dir string) *halts {
	h := &halts{}
	if dir == "" {
		return h
	}
	h.path = filepath.Join(dir, haltFile)
	f, err := os.Open(h.path)
	if err != nil {
		return h
	}
	defer func() { _ = f.Close() }()
	raw, err := io.ReadAll(io.LimitReader(f, maxHaltFile))
	var last halt
	if err == nil && json.Unmarshal(raw, &last) == nil && last.AtMillis > 0 && slices.Contains(haltReasons, last.Reason) {
		h.last.Store(&last)
	}
	return h
}

// note remembers a halt, also for the next process if the disk answers in time.
func (h *halts) note(failure error, atMillis int64) {
	last := &halt{haltReason(failure), atMillis}
	h.last.Store(last)
	if h.path == "" {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		raw, err := json.Marshal(last)
		if err == nil && os.WriteFile(h.path+".tmp", append(raw, '\n'), 0o600) == nil {
			_ = os.Rename(h.path+".tmp", h.path) // the log has the reason as well
		}
	}()
	select {
	case <-done:
	case <-time.After(haltPatience):
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
