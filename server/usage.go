package server

import (
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/cluster/storage"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/server/kernel"
)

const (
	// usageInterval is the time between two reads of the data directory's usage.
	usageInterval = 10 * time.Second
	// usageAge is the age from which a result is no longer exported: the disk may no longer answer.
	usageAge = time.Minute
)

var (
	descLogBytes      = kernel.Desc("log_bytes", "Size of the files of the Raft log; NaN if the disk does not answer.")
	descSnapshotBytes = kernel.Desc("snapshot_bytes", "Size of the files of all snapshots; NaN if the disk does not answer.")
	descDiskFree      = kernel.Desc("disk_free_bytes", "Free space in the file system of the data directory; NaN if the disk does not answer.")
	descDiskSize      = kernel.Desc("disk_size_bytes", "Size of the file system of the data directory; NaN if the disk does not answer.")
)

// usage reads the usage of the data directory at intervals. A scrape must not read it, because a disk may never answer.
type usage struct {
	dir  string
	read clock.Source
	last atomic.Pointer[look]
}

// look is the result of one read of the data directory's usage.
type look struct {
	storage.Usage
	at int64 // clock.Reading.Mono in ms
}

// run reads the usage at intervals until done is closed. It returns later if the disk does not answer.
func (u *usage) run(done <-chan struct{}) {
	tick := time.NewTicker(usageInterval)
	defer tick.Stop()
	for {
		if now, err := storage.UsageOf(u.dir); err == nil {
			u.last.Store(&look{now, u.read().Mono})
		}
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}

// collect sends the metrics.
func (u *usage) collect(ch chan<- prometheus.Metric) {
	log, snapshots, free, size := math.NaN(), math.NaN(), math.NaN(), math.NaN()
	if l := u.last.Load(); l != nil && u.read().Mono-l.at < usageAge.Milliseconds() {
		log, snapshots, free, size = 0, 0, float64(l.FreeBytes), float64(l.TotalBytes)
		for _, f := range l.Files {
			switch {
			case strings.HasPrefix(f.Path, "raft.db"):
				log += float64(f.Bytes)
			case strings.HasPrefix(f.Path, "snapshots/"):
				snapshots += float64(f.Bytes)
			}
		}
	}
	for desc, v := range map[*prometheus.Desc]float64{descLogBytes: log, descSnapshotBytes: snapshots, descDiskFree: free, descDiskSize: size} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v)
	}
}
