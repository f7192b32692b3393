package kernel

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
)

// Taking is a request for IDs, with the IDs that it has taken so far.
type Taking struct {
	IDs    []allocator.Range
	layout string
	count  uint32
	left   uint32 // number of missing IDs
	after  uint64
	packed bool
}

var takings = sync.Pool{New: func() any { return new(Taking) }}

// Each yields the IDs.
func (t *Taking) Each(yield func(id uint64) bool) {
	for _, r := range t.IDs {
		for id := range r.All() {
			if !yield(id) {
				return
			}
		}
	}
}

// Free keeps the memory for another Taking. The IDs must not be used any longer.
func (t *Taking) Free() {
	t.Reset()
	takings.Put(t)
}

// Reset makes t empty, and keeps its memory.
func (t *Taking) Reset() { *t = Taking{IDs: t.IDs[:0]} }

// LayoutName returns the name of a layout, for which requests may leave the default out.
func LayoutName(layout string) string { return cmp.Or(layout, snowflake.Default().Name()) }

// TakeIDs issues count IDs of a layout to the caller of a context. Its errors are gRPC statuses. The caller frees the Taking.
func (k *Kernel) TakeIDs(ctx context.Context, layout string, count uint32) (*Taking, error) {
	a, err := trust.PrincipalOf(ctx).Admit(trust.RightIssueIDs, LayoutName(layout))
	if err != nil {
		return nil, wire.Status(err)
	}
	t := takings.Get().(*Taking)
	t.layout, t.count = layout, count
	done, err := k.try(&a, t)
	if !done {
		err = k.rest(ctx, &a, t)
	}
	if err != nil {
		t.Free()
		return nil, wire.Status(err)
	}
	return t, nil
}

// Generate serves a request for IDs.
func (k *Kernel) Generate(ctx context.Context, a trust.Admission, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	t := takings.Get().(*Taking)
	defer t.Free()
	if resp, err := k.TryGenerate(&a, t, req); resp != nil || err != nil {
		return resp, err
	}
	return k.GenerateRest(ctx, &a, t)
}

// TryGenerate is Generate without a wait. If the answer and the error are nil, call GenerateRest.
func (k *Kernel) TryGenerate(a *trust.Admission, t *Taking, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	t.layout, t.count, t.packed = req.GetLayout(), max(req.GetCount(), 1), req.GetPacked()
	if t.packed && t.count > limits.Packed && t.count <= limits.Count {
		return nil, wire.Invalid(fmt.Sprintf("count %d: expected at most %d packed IDs; set packed to false for ranges, or request fewer IDs", t.count, limits.Packed))
	}
	var err error
	if t.after, err = wire.Bits("after", req.GetAfter()); err != nil {
		return nil, err
	}
	if done, err := k.try(a, t); !done || err != nil {
		return nil, err
	}
	return wire.IDsResponse(t.IDs, t.count, t.packed), nil
}

// GenerateRest waits for the IDs that TryGenerate did not take.
func (k *Kernel) GenerateRest(ctx context.Context, a *trust.Admission, t *Taking) (*snowraftv1.GenerateIdsResponse, error) {
	if err := k.rest(ctx, a, t); err != nil {
		return nil, err
	}
	return wire.IDsResponse(t.IDs, t.count, t.packed), nil
}

// GenerateUUIDs serves a request for IDs as UUIDs.
func (k *Kernel) GenerateUUIDs(ctx context.Context, a trust.Admission, req *snowraftv1.GenerateUuidsRequest) (*snowraftv1.GenerateUuidsResponse, error) {
	layout, count := req.GetLayout(), max(req.GetCount(), 1)
	if limit := uint32(limits.Texts); count > limit {
		return nil, wire.Invalid(fmt.Sprintf("count %d: expected at most %d UUIDs per call", count, limit))
	}
	if err := spend(&a, trust.RightIssueIDs, LayoutName(layout), uint64(count)); err != nil {
		return nil, err
	}
	ctx, cancel := Bounded(ctx)
	defer cancel()
	uuids, err := k.Source.UUIDs(ctx, layout, count)
	if err = k.took(&a, layout, count, err); err != nil {
		return nil, err
	}
	return &snowraftv1.GenerateUuidsResponse{Uuids: uuids}, nil
}

// try takes the IDs that need no wait. If done is false, rest takes the others.
func (k *Kernel) try(a *trust.Admission, t *Taking) (done bool, err error) {
	if limit := uint32(limits.Count); t.count < 1 || t.count > limit {
		return true, wire.Invalid(fmt.Sprintf("count %d: expected at most %d IDs per call", t.count, limit))
	}
	if err := spend(a, trust.RightIssueIDs, LayoutName(t.layout), uint64(t.count)); err != nil {
		return true, err
	}
	if t.IDs, t.left = k.Source.TryTake(t.IDs, t.layout, t.count, t.after); t.left > 0 {
		return false, nil
	}
	return true, k.took(a, t.layout, t.count, nil)
}

func (k *Kernel) rest(ctx context.Context, a *trust.Admission, t *Taking) (err error) {
	ctx, cancel := Bounded(ctx)
	defer cancel()
	t.IDs, err = k.Source.Take(ctx, t.IDs, t.layout, t.left, t.after)
	return k.took(a, t.layout, t.count, err)
}

// NoteIDs counts IDs of a layout that were issued for a batch of a backfill.
func (k *Kernel) NoteIDs(layout string, count int) {
	k.byLayout.Get(layout, func(layout string) prometheus.Counter { return k.ids.WithLabelValues(LayoutName(layout)) }).Add(float64(count))
}

// took is finish for a request for IDs, which it counts if they are issued. A layout that does not exist gets no counter.
func (k *Kernel) took(a *trust.Admission, layout string, count uint32, err error) error {
	if err = k.finish(a, uint64(count), err); err == nil {
		k.NoteIDs(layout, int(count))
	}
	return err
}

// uuidTextBytes is the length of a UUID as text.
const uuidTextBytes = 36

// writeUUIDs returns count IDs as UUIDs, which are parts of one text. A newly issued ID fits a UUID until the year 10889.
func writeUUIDs(taken []allocator.Range, count uint32, layout *snowflake.Layout, tag snowflake.UUIDTag) ([]string, error) {
	buf := make([]byte, 0, uuidTextBytes*int(count))
	for _, r := range taken {
		for id := range r.All() {
			u, err := layout.UUID(id, tag)
			if err != nil {
				return nil, err
			}
			buf = u.Append(buf)
		}
	}
	text := string(buf)
	uuids := make([]string, 0, count)
	for ; text != ""; text = text[uuidTextBytes:] {
		uuids = append(uuids, text[:uuidTextBytes])
	}
	return uuids, nil
}
