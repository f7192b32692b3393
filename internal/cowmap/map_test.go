package cowmap_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/snowraft/snowraft/internal/cowmap"
)

func TestMapCreatesEachValueOnce(t *testing.T) {
	t.Parallel()
	const keys = 100
	var m cowmap.Map[int, *int]
	var created atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for key := range keys {
				got := m.Get(key, func(key int) *int {
					created.Add(1)
					return &key
				})
				if *got != key || m.All()[key] != got {
					t.Errorf("Get(%d) = %d, kept %v", key, *got, m.All()[key])
				}
			}
		})
	}
	wg.Wait()
	if created.Load() != keys || len(m.All()) != keys {
		t.Errorf("created %d values and kept %d, want %d", created.Load(), len(m.All()), keys)
	}
}

func TestMapReadsWithoutAllocation(t *testing.T) {
	var m cowmap.Map[string, int]
	m.Get("a", func(string) int { return 1 })
	if n := testing.AllocsPerRun(100, func() { m.Get("a", nil) }); n != 0 {
		t.Errorf("Get allocates %v times, want 0", n)
	}
}
