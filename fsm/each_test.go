package fsm

import (
	"fmt"
	"slices"
	"testing"
)

func TestEachWorkerVisitsInOrder(t *testing.T) {
	l := newLog(t, wide)
	for i := range 5 {
		l.must(at(epoch, acquireWide(fmt.Sprintf("h%d/0", i), 1000)))
	}
	var workers []uint64
	l.EachWorker("default", 1, 3, func(r *WorkerRecord) { workers = append(workers, r.Worker) })
	l.EachWorker("default", 5, 3, func(r *WorkerRecord) { t.Errorf("EachWorker visited %+v, which is not used", r) })
	l.EachWorker("x", 0, 3, func(r *WorkerRecord) { t.Errorf("EachWorker of an unknown layout visited %+v", r) })
	if !slices.Equal(workers, []uint64{1, 2, 3}) {
		t.Errorf("EachWorker visited %v, want 1 to 3", workers)
	}
}
