package frontend

import (
	"context"

	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The most that one item of an answer takes in memory, as a message and encoded.
const (
	packedBytes = 16
	rangeBytes  = 128
	uuidBytes   = 112
)

// weight returns how many bytes the answer to a request takes at most, if that depends on what the client wants.
// Pages of lists are weighed when they are made.
func weight(req any) int64 {
	switch req := req.(type) {
	case *snowraftv1.GenerateIdsRequest:
		if req.GetPacked() {
			return int64(req.GetCount()) * packedBytes
		}
		return int64(req.GetCount()) * rangeBytes
	case *snowraftv1.GenerateUuidsRequest:
		return int64(req.GetCount()) * uuidBytes
	case *snowraftv1.StreamIdsRequest:
		return weight(req.GetRequest())
	}
	return 0
}

// accountOf returns the account of the connection that a call came on; nil for calls from inside of the process.
func accountOf(ctx context.Context) *account {
	if p, ok := peer.FromContext(ctx); ok {
		if addr, ok := p.Addr.(*apiAddr); ok {
			return addr.account
		}
	}
	return nil
}

// connOf returns the connection that a call came on; nil for calls from inside of the process.
func connOf(ctx context.Context) *apiConn {
	if a := accountOf(ctx); a != nil {
		return a.conn
	}
	return nil
}

// reserve takes memory for the answer to a request; nil if the answer is small.
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

// charge returns an answer as it is to be sent: with the memory that was reserved for it, or that it turned out to need.
func charge(ctx context.Context, l *lease, answer any) (any, error) {
	if l != nil {
		return &leased{answer, l}, nil
	}
	switch answer := answer.(type) {
	case *snowraftv1.GenerateIdsResponse, *snowraftv1.GenerateUuidsResponse, *snowraftv1.NextNumbersResponse:
		return answer, nil // small, as its request said
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

// leased is an answer whose memory is counted.
type leased struct {
	answer any
	lease  *lease
}

// codec is gRPC's. It returns the leases of answers when gRPC lets go of their bytes, and reuses requests of streams.
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
	// The one part is freed when this one is.
	raw := parts[0].ReadOnlyData()
	l.lease.keep(int64(len(raw)))
	return mem.BufferSlice{mem.NewBuffer(&raw, &returning{l.lease, parts})}, nil
}

// Unmarshal implements encoding.CodecV2. It reads requests of streams into the parts that their message has; it was cleared.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	req, ok := v.(carried)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	return proto.UnmarshalOptions{Merge: true}.Unmarshal(whole.ReadOnlyData(), req)
}

// returning is the pool that the bytes of one answer go back to.
type returning struct {
	lease *lease
	parts mem.BufferSlice
}

// Get implements mem.BufferPool; gRPC never takes a buffer out of it.
func (*returning) Get(length int) *[]byte { return mem.DefaultBufferPool().Get(length) }

// Put implements mem.BufferPool.
func (r *returning) Put(*[]byte) {
	r.parts.Free()
	r.lease.keep(0)
}
