package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// maxBuffered is how many IDs one request gets from a buffer at most. A larger one asks a member:
// that costs little beside writing so many down, and leaves the buffer to the others.
const maxBuffered = 64

// bufferAge is how old an ID that a gateway answers with may be. Members' clocks may differ by as
// much, so that IDs are in no other order than those that members are asked for.
const bufferAge = time.Second

// A buffer holds what the rate asks for. One that nobody uses costs the cluster minBuffer IDs each
// bufferAge, which is little also for a layout that has some thousand IDs a second.
const (
	minBuffer = maxBuffered
	maxBuffer = 1_000_000
)

// idSource issues IDs of one layout, one at a time. A client.Buffer is one.
type idSource interface {
	Next(ctx context.Context) (uint64, error)
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
	if found, ok := b.all.Load(layoutName(layout)); ok {
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
	source, err := b.open(layoutName(layout))
	if err == nil {
		b.all.Store(layoutName(layout), source)
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

// take implements issuing.
func (g *Gateway) take(ctx context.Context, ids []allocator.Range, layout string, count uint32) ([]allocator.Range, error) {
	if source := g.buffers.of(layout); source != nil && count <= maxBuffered {
		return fromSource(ctx, source, ids, count)
	}
	resp, err := g.askIDs(ctx, &snowraftv1.GenerateIdsRequest{Layout: layout, Count: count})
	if err != nil {
		return ids, err
	}
	return ranged(ids, resp, count)
}

// ranged appends what a member answered to a request for count IDs. More of them would be more than a
// program can take in that reads them as text.
func ranged(ids []allocator.Range, resp *snowraftv1.GenerateIdsResponse, count uint32) ([]allocator.Range, error) {
	var sum uint64
	for _, r := range resp.GetRanges() {
		ids = append(ids, allocator.Range{First: r.GetFirst(), Count: r.GetCount(), Step: r.GetStep()})
		sum += uint64(r.GetCount())
	}
	if sum != uint64(count) {
		return ids, fmt.Errorf("the member answered with %d IDs instead of %d", sum, count)
	}
	return ids, nil
}

// askIDs asks a member for IDs, and makes a buffer of their layout.
func (g *Gateway) askIDs(ctx context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	mine, cancel := within(ctx, gatewayWait)
	defer cancel()
	resp := new(snowraftv1.GenerateIdsResponse)
	if err := g.ask(mine, snowraftv1.IdService_GenerateIds_FullMethodName, req, resp); err != nil {
		return nil, overdue(ctx, err)
	}
	return resp, g.buffers.add(req.GetLayout())
}

// fromSource appends count IDs. If it fails, those that it has taken are lost.
func fromSource(ctx context.Context, source idSource, ids []allocator.Range, count uint32) ([]allocator.Range, error) {
	mine, cancel := within(ctx, gatewayWait)
	defer cancel()
	for range count {
		id, err := source.Next(mine)
		if errors.Is(err, client.ErrClosed) {
			return ids, shuttingDown()
		}
		if err != nil {
			return ids, overdue(ctx, err)
		}
		ids = join(ids, id)
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
