// Package mux carries many requests on one gRPC stream, with answers in any order. Clients send requests for IDs and numbers that way,
// and members those for the leader. The main types are the two ends of a stream: [Stream], which sends requests, and [Server], which
// answers them.
package mux

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"

	spb "google.golang.org/genproto/googleapis/rpc/status"
)

const (
	// MaxBytes is the greatest number of bytes of pending requests on a stream. gRPC's window and its buffer for a stream hold
	// more, so sending never blocks. It must not block, because the goroutine that receives answers also sends requests.
	MaxBytes = 32 << 10
	// MaxPending is the number of pending requests beyond which a member reads no further one.
	MaxPending = 64
	// Stalled is the time without an answer after which MaxPending requests count as stuck, so that no further ones wait for
	// them.
	Stalled = 50 * time.Millisecond

	// prefixBytes is the length of the prefix that gRPC sends before each message.
	prefixBytes = 5
)

// Request is a request in the message type of a stream.
type Request interface {
	proto.Message
	// Address sets the ID of the request and the time that the caller waits for the answer, in ms.
	Address(id uint64, timeoutMillis uint32)
}

// Answer is an answer in the message type of a stream. The ID 0 announces the end of the stream.
type Answer interface {
	proto.Message
	GetId() uint64
	GetError() *spb.Status
	GetReceipt() []byte
}

// IDRequest is a request of StreamIds. It implements [Request] and [Received].
type IDRequest struct{ *snowraftv1.StreamIdsRequest }

// NumberRequest is a request of StreamNumbers. It implements [Request] and [Received].
type NumberRequest struct {
	*snowraftv1.StreamNumbersRequest
}

// Address implements Request.
func (r IDRequest) Address(id uint64, timeoutMillis uint32) { r.Id, r.TimeoutMs = id, timeoutMillis }

// Address implements Request.
func (r NumberRequest) Address(id uint64, timeoutMillis uint32) {
	r.Id, r.TimeoutMs = id, timeoutMillis
}

// Clear implements Received.
func (r IDRequest) Clear() {
	inner := r.Request
	inner.Reset()
	r.Reset()
	r.Request = inner
}

// Clear implements Received.
func (r NumberRequest) Clear() {
	inner := r.Request
	inner.Reset()
	r.Reset()
	r.Request = inner
}

// Call is a request that is pending on a stream until Receiver has its result.
type Call struct {
	Request
	Receiver Receiver
	Began    time.Time
	Deadline time.Time

	id        uint64
	size      int  // bytes on the stream
	forgotten bool // guarded by the stream
}

// Receiver takes the result of a call.
type Receiver interface {
	// Receive is called once: with the answer, whose message is used again when Receive returns, but not the messages in it; with
	// the error in the answer, which is a gRPC status; or with an [*Ended]. It must not block.
	Receive(a Answer, err error)
}

// Ended is the error of a call that was sent but not answered because the stream ended. The outcome of the call is unknown.
type Ended struct {
	Cause error // error of the stream; io.EOF if the other side ended it
}

func (*Ended) Error() string { return "the stream ended" }

// GRPCStatus makes an Ended an error of gRPC.
func (e *Ended) GRPCStatus() *status.Status { return status.New(codes.Unavailable, e.Error()) }

func (e *Ended) Unwrap() error { return e.Cause }
