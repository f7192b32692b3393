package frontend

import (
	"context"
	"io"
	"strconv"

	"github.com/snowraft/snowraft/server/issue"
	"github.com/snowraft/snowraft/server/redis"
	"github.com/snowraft/snowraft/server/web"
	"github.com/snowraft/snowraft/server/wire"
)

// Backend is what a front needs apart from the issuer and the services of gRPC.
type Backend interface {
	// Exists and Create are as in redis.Backend.
	Exists(ctx context.Context, sequence string) (bool, error)
	Create(ctx context.Context, sequence string, strict bool) error
	Info() redis.Info
	// Failure is not nil when the process is of no use any more.
	Failure() error
}

// face is what Redis's protocol needs; see redis.Backend. Its errors are those that travel.
type face struct {
	issuer *issue.Issuer
	Backend
}

// Next issues count numbers of a sequence.
func (f face) Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error) {
	n, err := f.issuer.Next(ctx, sequence, count, "")
	return n.First, n.Increment, wire.Status(err)
}

// TryNext issues count numbers of a relaxed sequence if they are in memory.
func (f face) TryNext(ctx context.Context, sequence string, count uint64) (first, increment int64, ok bool) {
	n, ok := f.issuer.TryNext(ctx, sequence, count)
	return n.First, n.Increment, ok
}

// Last returns the last number that was issued.
func (f face) Last(ctx context.Context, sequence string) (int64, bool, error) {
	last, ok, err := f.issuer.Last(ctx, sequence)
	return last, ok, wire.Status(err)
}

// Ids appends count IDs of a layout.
func (f face) Ids(ctx context.Context, dst []uint64, layout string, count uint32) (_ []uint64, err error) {
	ids := issue.Borrow()
	defer issue.Return(ids)
	if *ids, err = f.issuer.Take(ctx, *ids, layout, count, 0); err != nil {
		return dst, wire.Status(err)
	}
	for _, r := range *ids {
		for id := range r.All() {
			dst = append(dst, id)
		}
	}
	return dst, nil
}

// Exists reports whether there is such a sequence.
func (f face) Exists(ctx context.Context, sequence string) (bool, error) {
	ok, err := f.Backend.Exists(ctx, sequence)
	return ok, wire.Status(err)
}

// Create creates a sequence, strict or relaxed.
func (f face) Create(ctx context.Context, sequence string, strict bool) error {
	return wire.Status(f.Backend.Create(ctx, sequence, strict))
}

// webFace is what the short paths of HTTP need; see web.Backend. It counts refusals, as these
// answer in the forms of other servers, which have no place for a reason.
type webFace struct {
	face
	refused func(error)
}

// Next issues count numbers of a sequence.
func (f webFace) Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	first, increment, err = f.face.Next(ctx, sequence, count)
	return first, increment, f.count(err)
}

// AppendNext appends count numbers as text, each with a newline, long text by pieces.
func (f webFace) AppendNext(ctx context.Context, dst []byte, w io.Writer, sequence string, count uint64) ([]byte, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	n, err := f.issuer.Next(ctx, sequence, count, "")
	if err != nil {
		return dst, f.count(wire.Status(err))
	}
	for i := range n.Count {
		if dst, err = web.Flush(w, append(n.Append(dst, i), '\n')); err != nil {
			break // the reader is gone, and the numbers are lost
		}
	}
	return dst, nil
}

// AppendIDs appends count IDs of a layout as text, each with a newline, long text by pieces.
func (f webFace) AppendIDs(ctx context.Context, dst []byte, w io.Writer, layout string, count uint32) (_ []byte, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	ids := issue.Borrow()
	defer issue.Return(ids)
	if *ids, err = f.issuer.Take(ctx, *ids, layout, count, 0); err != nil {
		return dst, f.count(wire.Status(err))
	}
	for _, r := range *ids {
		for id := range r.All() {
			if dst, err = web.Flush(w, append(strconv.AppendUint(dst, id, 10), '\n')); err != nil {
				return dst, nil // the reader is gone, and the IDs are lost
			}
		}
	}
	return dst, nil
}

func (f webFace) count(err error) error {
	if err != nil {
		f.refused(err)
	}
	return err
}

var (
	_ redis.Backend = face{}
	_ web.Backend   = webFace{}
)
