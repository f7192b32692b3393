package frontend

import (
	"context"

	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/mux"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Upper bounds for the memory of one item of an answer in bytes: the message plus its encoding.
const (
	packedBytes = 16
	rangeBytes  = 128
	uuidBytes   = 112
)

// weight returns an upper bound for the size of a request's answer, in bytes, or 0 if the request does not determine the
// size. Pages of lists are weighed when they are made.
func weight(req any) int64 {
	switch req := req.(type) {
	case *snowraftv1.GenerateIdsRequest:
		if req.GetPacked() {
			return int64(req.GetCount()) * packedBytes
		}
		return int64(req.GetCount()) * rangeBytes
	case *snowraftv1.GenerateUuidsRequest:
		return int64(req.GetCount()) * uuidBytes
	}
	return 0
}

// accountOf returns the account of a call's connection; nil for calls from inside the process.
func accountOf(ctx context.Context) *account {
	if p, ok := peer.FromContext(ctx); ok {
		if addr, ok := p.Addr.(*apiAddr); ok {
			return addr.account
		}
	}
	return nil
}

// connOf returns a call's connection; nil for calls from inside the process.
func connOf(ctx context.Context) *apiConn {
	if a := accountOf(ctx); a != nil {
		return a.conn
	}
	return nil
}

// reserve takes memory for a request's answer. The lease is nil if the answer is small.
func reserve(ctx context.Context, req any) (*lease, error) {
	size := weight(req)
	if size <= freeBytes {
		return nil, nil
	}
	if a := accountOf(ctx); a != nil {
		return a.take(ctx, size)
	}
	return nil, nil
}

// charge returns an answer together with its memory: the reserved lease, or a lease of the answer's actual size. A small
// answer is returned unchanged.
func charge(ctx context.Context, l *lease, answer any) (any, error) {
	if l != nil {
		return &leased{answer, l}, nil
	}
	switch answer := answer.(type) {
	case *snowraftv1.GenerateIdsResponse, *snowraftv1.GenerateUuidsResponse, *snowraftv1.NextNumbersResponse:
		return answer, nil // small according to its request
	case proto.Message:
		size := proto.Size(answer)
		if size <= freeBytes {
			return answer, nil
		}
		a := accountOf(ctx)
		if a == nil {
			return answer, nil
		}
		l, err := a.take(ctx, int64(size))
		if err != nil {
			return nil, err
		}
		return &leased{answer, l}, nil
	}
	return answer, nil
}

// leased is an answer with a lease for its memory.
type leased struct {
	answer any
	lease  *lease
}

// codec wraps the codec of gRPC. It returns the lease of an answer when gRPC frees the answer's bytes, and reuses the
// requests of streams.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(encodingproto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	l, ok := v.(*leased)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	parts, err := c.CodecV2.Marshal(l.answer)
	l.answer = nil
	if err != nil || len(parts) != 1 || mem.IsBelowBufferPoolingThreshold(parts.Len()) {
		l.lease.keep(0)
		return parts, err
	}
	// The buffer pool frees the original part together with this one.
	raw := parts[0].ReadOnlyData()
	l.lease.keep(int64(len(raw)))
	return mem.BufferSlice{mem.NewBuffer(&raw, &returning{l.lease, parts})}, nil
}

// Unmarshal implements encoding.CodecV2. It reads a request of a stream into the existing parts of its cleared message.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	req, ok := v.(mux.Received)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(whole.ReadOnlyData(), req)
}

// returning is the buffer pool that receives the bytes of one answer.
type returning struct {
	lease *lease
	parts mem.BufferSlice
}

// Get implements mem.BufferPool. gRPC never takes a buffer from this pool.
func (*returning) Get(length int) *[]byte { return mem.DefaultBufferPool().Get(length) }

// Put implements mem.BufferPool.
func (r *returning) Put(*[]byte) {
	r.parts.Free()
	r.lease.keep(0)
}
