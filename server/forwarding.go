package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// maxForwardings bounds the streams of a member to the leader. A request of a caller without a stream is a call of its own.
	maxForwardings = 64
	// maxForwarded bounds the unanswered requests of a stream. Requests that wait at the leader therefore delay no others, and
	// sending never blocks: gRPC's window and buffer hold more than maxForwarded requests.
	maxForwarded = 32
	// forwardingPause is the time before a member opens another stream for a caller after a stream without any answer: the
	// leader may be too old for streams.
	forwardingPause = time.Second
)

// forwardings holds the streams over which a member forwards requests for strict numbers. Each caller has its own stream,
// because the leader checks the rights of a stream's caller. A call per request would take most of the time of a small request.
// All streams use the same link, and end when requests take another link.
type forwardings struct {
	mu  sync.Mutex
	to  link
	all map[string]*forwarding // keyed by caller
}

// forwarding is a stream to the leader, or a placeholder while the stream is not open.
type forwarding struct {
	sending sync.Mutex // held for Send and CloseSend

	mu      sync.Mutex
	stream  grpc.BidiStreamingClient[snowraftv1.StreamNumbersRequest, snowraftv1.StreamNumbersResponse] // nil until it is open
	last    uint64                                                                                      // highest request ID so far
	waiting map[uint64]chan<- forwarded
	closed  bool
}

// forwarded is the outcome of a forwarded request.
type forwarded struct {
	resp *snowraftv1.NextNumbersResponse
	err  error
}

// of returns the stream of a caller, open or not; nil if there are too many streams. It begins to open a missing stream.
func (fs *forwardings) of(to link, as string, marks metadata.MD) *forwarding {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.to != to {
		for _, f := range fs.all {
			go f.finish()
		}
		fs.to, fs.all = to, make(map[string]*forwarding)
	}
	if f := fs.all[as]; f != nil {
		return f
	}
	if len(fs.all) >= maxForwardings && !fs.evict() {
		return nil
	}
	f := &forwarding{waiting: make(map[uint64]chan<- forwarded)}
	fs.all[as] = f
	go func() {
		if f.serve(to, marks) {
			fs.forget(as, f)
		} else {
			time.AfterFunc(forwardingPause, func() { fs.forget(as, f) })
		}
	}()
	return f
}

func (fs *forwardings) forget(as string, f *forwarding) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.all[as] == f {
		delete(fs.all, as)
	}
}

// evict ends one stream on which no request waits, and reports whether it found such a stream. Requires fs.mu held.
func (fs *forwardings) evict() bool {
	for as, f := range fs.all {
		f.mu.Lock()
		idle := f.stream != nil && len(f.waiting) == 0
		f.mu.Unlock()
		if idle {
			delete(fs.all, as)
			go f.finish()
			return true
		}
	}
	return false
}

// serve opens the stream and delivers its answers until the stream ends. It reports whether the leader sent any answer.
func (f *forwarding) serve(l link, marks metadata.MD) (answered bool) {
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(context.Background(), marks))
	defer cancel()
	stream, err := snowraftv1.NewSequenceServiceClient(l.ClientConn).StreamNumbers(ctx)
	if err != nil {
		return false
	}
	f.mu.Lock()
	f.stream = stream
	closed := f.closed
	f.mu.Unlock()
	if closed {
		f.finish()
	}
	for {
		a, err := stream.Recv()
		if err != nil {
			f.end(err)
			return answered
		}
		answered = true
		if a.GetId() == 0 { // the leader will end the stream
			go f.finish()
			continue
		}
		got := forwarded{resp: a.GetResponse()}
		if e := a.GetError(); e != nil {
			got.err = linkError(status.ErrorProto(e), true)
		}
		f.answer(a.GetId(), got)
	}
}

// answer delivers an answer, unless its caller stopped waiting.
func (f *forwarding) answer(id uint64, got forwarded) {
	f.mu.Lock()
	to := f.waiting[id]
	delete(f.waiting, id)
	f.mu.Unlock()
	if to != nil {
		to <- got
	}
}

// end fails the requests that get no answer. The leader may have issued their numbers.
func (f *forwarding) end(err error) {
	f.mu.Lock()
	left := f.waiting
	f.waiting, f.closed = nil, true
	f.mu.Unlock()
	why := rpc.Network(rpc.FromError(err).Message)
	if errors.Is(err, io.EOF) {
		why = "the stream ended"
	}
	for _, to := range left {
		to <- forwarded{err: brokenLink(why)}
	}
}

// finish closes this side of the stream. The leader still answers the requests that were sent.
func (f *forwarding) finish() {
	f.mu.Lock()
	stream := f.stream
	f.closed = true
	f.mu.Unlock()
	if stream != nil {
		f.sending.Lock()
		defer f.sending.Unlock()
		_ = stream.CloseSend() // never fails
	}
}

// next sends req and waits for the answer. If sent is false, nothing was sent.
func (f *forwarding) next(ctx context.Context, req *snowraftv1.NextNumbersRequest) (got forwarded, sent bool) {
	timeout := limits.CallTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	answer := make(chan forwarded, 1)
	id, sent := f.send(req, timeout, answer)
	if !sent {
		return got, false
	}
	select {
	case got = <-answer:
	case <-ctx.Done():
		f.mu.Lock()
		delete(f.waiting, id) // a late answer is dropped, its numbers are lost
		f.mu.Unlock()
		got.err = ctx.Err()
	}
	return got, true
}

func (f *forwarding) send(req *snowraftv1.NextNumbersRequest, timeout time.Duration, answer chan<- forwarded) (id uint64, sent bool) {
	f.sending.Lock()
	defer f.sending.Unlock()
	f.mu.Lock()
	if f.stream == nil || f.closed || len(f.waiting) >= maxForwarded {
		f.mu.Unlock()
		return 0, false
	}
	f.last++
	id = f.last
	f.waiting[id] = answer
	f.mu.Unlock()
	_ = f.stream.Send(&snowraftv1.StreamNumbersRequest{ // on a failure, Recv in serve returns the error
		Request: req, Id: id, TimeoutMs: uint32(max(1, timeout.Milliseconds())), //nolint:gosec // at most limits.CallTimeout
	})
	return id, true
}

// forward sends a request for numbers over the stream of its caller. If sent is false, no stream was usable and nothing was
// sent. It sends no traced request, because a stream carries no trace context per request.
func (p *peers) forward(ctx context.Context, leader cluster.Member, req *snowraftv1.NextNumbersRequest) (got forwarded, sent bool) {
	if traceHeaders(ctx) != nil {
		return got, false
	}
	conn, err := p.conn(leader)
	if err != nil {
		return got, false
	}
	l, ok := conn.(link)
	if !ok || l.GetState() != connectivity.Ready {
		return got, false
	}
	marks, as := p.marks(ctx, snowraftv1.SequenceService_StreamNumbers_FullMethodName)
	f := p.forwardings.of(l, as, marks)
	if f == nil {
		return got, false
	}
	_, span := p.forwarding(ctx, leader, snowraftv1.SequenceService_NextNumbers_FullMethodName)
	if got, sent = f.next(ctx, req); sent {
		span.end(got.err)
	}
	return got, sent
}
