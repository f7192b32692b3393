package frontend

import (
	"context"

	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/mux"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/web"
)

// Upper bounds for the memory of one item of an answer in bytes: the message plus its encoding.
const (
	packedBytes = 16
	rangeBytes  = 128
	uuidBytes   = 112
	textBytes   = 128
)

const (
	// smallAnswer is the size of the largest answer whose memory is part of the price of its call.
	smallAnswer = 1 << 10
	// minReserved is the size of the smallest answer over HTTP that is reserved.
	minReserved = 8 << 10
)

// weight returns an upper bound for the size of a request's answer, in bytes, or 0 if the answer is small or the request does not
// determine its size.
func (s *Server) weight(req any) int64 {
	size := int64(0)
	switch req := req.(type) {
	case *snowraftv1.GenerateIdsRequest:
		if size = int64(req.GetCount()) * rangeBytes; req.GetPacked() {
			size = int64(req.GetCount()) * packedBytes
		}
	case *snowraftv1.GenerateUuidsRequest:
		size = int64(req.GetCount()) * uuidBytes
	case *snowraftv1.NextNumbersRequest:
		count := req.GetCount()
		if count <= limits.Formatted || count <= limits.Texts && s.kernel.Source.Coded(req.GetSequence()) {
			size = int64(count) * textBytes
		}
	}
	if size <= smallAnswer {
		return 0
	}
	return size
}

// connOf returns the connection of a gRPC call; nil for calls from inside the process.
func connOf(ctx context.Context) *conn.Conn {
	if p, ok := peer.FromContext(ctx); ok {
		if addr, ok := p.Addr.(*conn.Addr); ok {
			return addr.Conn
		}
	}
	return nil
}

// charged sees each gRPC call when its headers have come, before gRPC processes it. It refuses no call, because gRPC would keep a
// timer for a refused call until the caller's deadline.
func charged(ctx context.Context, info *tap.Info) (context.Context, error) {
	size := int64(0)
	for name, values := range info.Header {
		for _, v := range values {
			size += int64(len(name)+len(v)) + conn.HeaderPrice
		}
	}
	return connOf(ctx).BeginCall(ctx, size), nil
}

// during reserves memory for the answer to an HTTP request until the answer has been written.
func during(ctx context.Context, size int64) error {
	if size < minReserved {
		return nil
	}
	c := conn.From(ctx)
	size, err := c.Reserve(ctx, size)
	if err != nil {
		return err
	}
	answered := web.Answered(ctx) // outlives the deadline of the call
	if answered == nil {
		answered = ctx
	}
	context.AfterFunc(answered, func() { c.Charge(-size) })
	return nil
}

// counted is an answer of a gRPC call, with the bytes that its connection holds for it. It is also the pool that receives the bytes
// of the answer.
type counted struct {
	answer   any
	conn     *conn.Conn
	held     int64 // bytes
	reserved int64 // part of held that the encoded answer replaces
}

// hold counts n more bytes.
func (c *counted) hold(n int64) {
	c.held += n
	c.conn.Charge(n)
}

// drop returns all bytes.
func (c *counted) drop() {
	c.conn.Charge(-c.held)
	c.held = 0
}

// Get implements mem.BufferPool. gRPC never takes a buffer from this pool.
func (*counted) Get(length int) *[]byte { return mem.DefaultBufferPool().Get(length) }

// Put implements mem.BufferPool.
func (c *counted) Put(bytes *[]byte) {
	mem.DefaultBufferPool().Put(bytes)
	c.drop()
}

// codec wraps the codec of gRPC. It counts each answer until gRPC frees its bytes, which is when the system has taken them, and
// reuses the requests of streams.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(encodingproto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	a, ok := v.(*counted)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	answer, ok := a.answer.(proto.Message)
	size := proto.Size(answer)
	if !ok || size == 0 {
		a.drop()
		return c.CodecV2.Marshal(a.answer)
	}
	bytes := mem.DefaultBufferPool().Get(max(size, smallAnswer+1)) // gRPC does not free smaller ones
	a.hold(int64(cap(*bytes)) - a.reserved)
	a.answer = nil
	if _, err := (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend((*bytes)[:0], answer); err != nil {
		a.Put(bytes)
		return nil, err
	}
	*bytes = (*bytes)[:size]
	return mem.BufferSlice{mem.NewBuffer(bytes, a)}, nil
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
