package server_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// BenchmarkManySequences creates 100,000 sequences in a cluster of three members, lists them, takes a snapshot and restarts a
// member. It fails if a step takes longer than docs/performance.md promises.
func BenchmarkManySequences(b *testing.B) {
	const (
		sequences = 100_000
		creators  = 64

		createWithin   = 5 * time.Minute
		listWithin     = 10 * time.Second
		snapshotWithin = 5 * time.Second
		restartWithin  = 20 * time.Second
		bytesEach      = 3 * 1024 // sum of three members
	)
	for b.Loop() {
		nodes := startCluster(b, 3)
		client := follower(b, nodes)
		before := heap()
		within := func(limit time.Duration, unit string, do func()) {
			b.Helper()
			began := time.Now()
			do()
			took := time.Since(began)
			if took > limit {
				b.Errorf("%s: %v, want at most %v", unit, took, limit)
			}
			b.ReportMetric(took.Seconds(), unit)
		}
		within(createWithin, "s-create", func() {
			var wg sync.WaitGroup
			for c := range creators {
				wg.Go(func() {
					for i := c; i < sequences; i += creators {
						_, err := client.sequences.CreateSequence(b.Context(), &snowraftv1.CreateSequenceRequest{
							Sequence: &snowraftv1.Sequence{Name: fmt.Sprintf("tenant/%06d/orders", i)},
						})
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
		each := float64(heap()-before) / sequences
		b.ReportMetric(each, "bytes-each")
		if each > bytesEach {
			b.Errorf("a sequence takes %.0f bytes, want at most %d", each, bytesEach)
		}
		within(listWithin, "s-list", func() {
			listed, token := 0, ""
			for {
				resp, err := client.sequences.ListSequences(b.Context(), &snowraftv1.ListSequencesRequest{PageSize: 1000, PageToken: token})
				if err != nil {
					b.Fatal(err)
				}
				listed, token = listed+len(resp.GetSequences()), resp.GetNextPageToken()
				if token == "" {
					break
				}
			}
			if listed != sequences {
				b.Errorf("%d sequences are listed", listed)
			}
		})
		within(snapshotWithin, "s-snapshot", func() {
			if err := client.server.Member().Node().Snapshot(); err != nil {
				b.Error(err)
			}
		})
		within(restartWithin, "s-restart", func() {
			client.stop()
			client.start().untilReady()
			if got := client.next("tenant/099999/orders", 1); len(got) != 1 {
				b.Errorf("got %v", got)
			}
		})
	}
	b.ReportMetric(0, "ns/op")
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
