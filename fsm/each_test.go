package fsm

import (
	"fmt"
	"slices"
	"testing"
)

func TestEachWorkerAndGrantVisitInOrder(t *testing.T) {
	l := newLog(t, wide)
	for i := range 5 {
		l.must(at(epoch, acquireWide(fmt.Sprintf("h%d/0", i), 1000)))
	}
	var workers, granted []uint64
	l.EachWorker("default", 1, 3, func(r *WorkerRecord) { workers = append(workers, r.Worker) })
	l.EachGrant("default", func(r *GrantRecord) { granted = append(granted, r.Worker) })
	l.EachWorker("default", 5, 3, func(r *WorkerRecord) { t.Errorf("EachWorker visited %+v, which is not used", r) })
	l.EachWorker("x", 0, 3, func(r *WorkerRecord) { t.Errorf("EachWorker of an unknown layout visited %+v", r) })
	l.EachGrant("x", func(r *GrantRecord) { t.Errorf("EachGrant of an unknown layout visited %+v", r) })
	if !slices.Equal(workers, []uint64{1, 2, 3}) || !slices.Equal(granted, []uint64{4, 3, 2, 1, 0}) {
		t.Errorf("EachWorker visited %v, want 1 to 3; EachGrant visited %v, want 4 to 0", workers, granted)
	}
}
