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
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/snowflake"
)

// maxBuffered is the greatest number of IDs that one request gets from a buffer. A larger request goes to a member: the call
// costs little compared with the encoding of so many IDs, and leaves the buffer to other requests.
const maxBuffered = 64

// bufferAge is the greatest age of an ID that a gateway issues. The clocks of members may differ by as much, so buffered IDs
// are ordered as well as IDs that members issue on request.
const bufferAge = time.Second

// The size of a buffer follows the rate of requests. An unused buffer costs the cluster minBuffer IDs per bufferAge, which is
// little even for a layout with some thousand IDs per second.
const (
	minBuffer = maxBuffered
	maxBuffer = 1_000_000
)

// idSource issues IDs of one layout, one at a time. client.Buffer implements it.
type idSource interface {
	Next(ctx context.Context) (int64, error)
	TryNext() (id int64, ok bool)
	Stats() client.BufferStats
	Close() error
}

// buffers holds the sources of IDs by layout. A layout gets a source only after a member has issued IDs of it, so that invalid
// names of layouts take no memory.
type buffers struct {
	open func(layout string) (idSource, error)

	mu     sync.Mutex
	all    sync.Map // idSource by layout
	closed bool
}

// of returns the source of a layout; nil if there is none yet.
func (b *buffers) of(layout string) idSource {
	if found, ok := b.all.Load(cmp.Or(layout, snowflake.Default().Name())); ok {
		return found.(idSource)
	}
	return nil
}

// add opens a source for an existing layout, unless there is one already.
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

// each returns an iterator over all layouts with their sources.
func (b *buffers) each() iter.Seq2[string, idSource] {
	return func(yield func(string, idSource) bool) {
		b.all.Range(func(layout, source any) bool { return yield(layout.(string), source.(idSource)) })
	}
}

// fromSource appends count IDs of a source. On an error, the IDs that it has taken are lost.
func fromSource(ctx context.Context, source idSource, ids []allocator.Range, count uint32) ([]allocator.Range, error) {
	mine, cancel := context.WithTimeout(ctx, wait)
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

// tryFromSource is fromSource without a wait. left is the number of missing IDs.
func tryFromSource(source idSource, ids []allocator.Range, count uint32) (_ []allocator.Range, left uint32) {
	for left = count; left > 0; left-- {
		id, ok := source.TryNext()
		if !ok {
			break
		}
		ids = join(ids, uint64(id)) //nolint:gosec // never negative
	}
	return ids, left
}

// join appends an ID. It extends the last range if the ID is the next ID of that range.
func join(ids []allocator.Range, id uint64) []allocator.Range {
	if n := len(ids); n > 0 {
		if last := &ids[n-1]; last.Step == 1 && id == last.First+uint64(last.Count) {
			last.Count++
			return ids
		}
	}
	return append(ids, allocator.Range{First: id, Count: 1, Step: 1})
}
