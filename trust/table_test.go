package trust

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
)

// table is a Table in memory.
type table struct {
	revision  atomic.Uint64
	now       atomic.Int64
	mu        sync.Mutex
	records   map[uint64]*Record
	anonymous *Record
	applied   uint64
	never     atomic.Uint64 // least index that was never issued; 0 if unknown
	grew      chan struct{}
	behind    atomic.Bool
	read      func() // is called once, after the next record was read; nil: nothing
}

func newTable(records ...*Record) *table {
	t := &table{records: make(map[uint64]*Record), anonymous: &Record{Scopes: []Scope{RightReadMetrics}}, grew: make(chan struct{})}
	for _, r := range records {
		t.put(r)
	}
	return t
}

func (t *table) TokenRevision() uint64 { return t.revision.Load() }
func (t *table) NowMillis() int64      { return t.now.Load() }
func (t *table) CaughtUp() bool        { return !t.behind.Load() }

func (t *table) Token(id uint64) (*Record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.records[id]
	t.wasRead()
	return r, ok
}

// wasRead calls read once, without the lock. Requires the lock.
func (t *table) wasRead() {
	if read := t.read; read != nil {
		t.read = nil
		t.mu.Unlock()
		defer t.mu.Lock()
		read()
	}
}

func (t *table) Anonymous() *Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	anonymous := t.anonymous
	t.wasRead()
	return anonymous
}

func (t *table) NeverIssued(index uint64) bool {
	never := t.never.Load()
	return never != 0 && index >= never
}

func (t *table) AwaitApplied(ctx context.Context, index uint64) error {
	for {
		t.mu.Lock()
		done, grew := t.applied >= index, t.grew
		t.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-grew:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *table) change(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.records = maps.Clone(t.records)
	change()
	t.revision.Add(1)
	close(t.grew)
	t.grew = make(chan struct{})
}

func (t *table) put(r *Record) {
	t.change(func() {
		t.records[r.ID] = r
		t.applied = max(t.applied, r.ID)
	})
}

func (t *table) delete(id uint64) { t.change(func() { delete(t.records, id) }) }
