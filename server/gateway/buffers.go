package gateway

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/snowflake"
)

// maxBuffered is the greatest number of IDs that one request gets from a buffer. A larger request goes to a member:
// that costs little beside writing so many down, and leaves the buffer to the others.
const maxBuffered = 64

// bufferAge is the greatest age of an ID that a gateway answers with. Members' clocks may differ by as
// much, so that IDs are in no other order than those that members are asked for.
const bufferAge = time.Second

// A buffer holds the IDs that the rate needs. An unused buffer costs the cluster minBuffer IDs each
// bufferAge, which is little also for a layout that has some thousand IDs per second.
const (
	minBuffer = maxBuffered
	maxBuffer = 1_000_000
)

// idSource issues IDs of one layout, one at a time. A client.Buffer is one.
type idSource interface {
	Next(ctx context.Context) (int64, error)
	Stats() client.BufferStats
	Close() error
}

// buffers are the sources of IDs by layout. There is one only for a layout of which a member has
// issued IDs, so that made-up names fill nothing.
type buffers struct {
	open func(layout string) (idSource, error)

	mu     sync.Mutex
	all    sync.Map // layout -> idSource
	closed bool
}

// of is the source of a layout, nil if there is none yet.
func (b *buffers) of(layout string) idSource {
	if found, ok := b.all.Load(cmp.Or(layout, snowflake.Default().Name())); ok {
		return found.(idSource)
	}
	return nil
}

// add makes a source of a layout that exists.
func (b *buffers) add(layout string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.of(layout) != nil {
		return nil
	}
	source, err := b.open(cmp.Or(layout, snowflake.Default().Name()))
	if err == nil {
		b.all.Store(cmp.Or(layout, snowflake.Default().Name()), source)
	}
	return err
}

func (b *buffers) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, source := range b.each() {
		_ = source.Close()
	}
}

// each is all layouts with their sources.
func (b *buffers) each() iter.Seq2[string, idSource] {
	return func(yield func(string, idSource) bool) {
		b.all.Range(func(layout, source any) bool { return yield(layout.(string), source.(idSource)) })
	}
}

// fromSource appends count IDs. If it fails, those that it has taken are lost.
func fromSource(ctx context.Context, source idSource, ids []allocator.Range, count uint32) ([]allocator.Range, error) {
	mine, cancel := frontend.Within(ctx, wait)
	defer cancel()
	for range count {
		id, err := source.Next(mine)
		if errors.Is(err, client.ErrClosed) {
			return ids, wire.ShuttingDown()
		}
		if err != nil {
			return ids, overdue(ctx, reasoned(err))
		}
		ids = join(ids, uint64(id)) //nolint:gosec // never negative
	}
	return ids, nil
}

// join appends an ID, to the last range if it follows there.
func join(ids []allocator.Range, id uint64) []allocator.Range {
	if n := len(ids); n > 0 {
		if last := &ids[n-1]; last.Step == 1 && id == last.First+uint64(last.Count) {
			last.Count++
			return ids
		}
	}
	return append(ids, allocator.Range{First: id, Count: 1, Step: 1})
}
