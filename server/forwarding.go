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

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/mux"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// maxForwardings bounds the streams of a member to the leader. A request of a caller without a stream is a call of its own.
	maxForwardings = 64
	// maxForwarded bounds the pending requests of a stream, so that requests that wait at the leader delay no others.
	maxForwarded = mux.MaxPending / 2
	// idleForwarding is the time after which a stream without requests is closed, so that another caller can have one.
	idleForwarding = 10 * time.Second
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
	all map[string]*mux.Stream // keyed by caller; not all are open yet
}

// forwarded is the outcome of a forwarded request.
type forwarded struct {
	resp *snowraftv1.NextNumbersResponse
	err  error
}

// pendingForward is a request that was sent to the leader.
type pendingForward struct {
	mux.Call
	answer chan forwarded
}

// Receive implements mux.Receiver. The leader may have issued the numbers of a request that gets no answer.
func (p *pendingForward) Receive(a mux.Answer, err error) {
	switch ended, ok := errors.AsType[*mux.Ended](err); {
	case err == nil:
		p.answer <- forwarded{resp: a.(*snowraftv1.StreamNumbersResponse).GetResponse()}
	case !ok:
		p.answer <- forwarded{err: linkError(err, true)}
	case errors.Is(ended.Cause, io.EOF):
		p.answer <- forwarded{err: brokenLink(ended.Error())}
	default:
		p.answer <- forwarded{err: brokenLink(rpc.Network(rpc.FromError(ended.Cause).Message))}
	}
}

// of returns the stream of a caller, open or not; nil if there are too many streams. It begins to open a missing stream.
func (fs *forwardings) of(to link, as string, marks metadata.MD) *mux.Stream {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.to != to {
		for _, stream := range fs.all {
			go stream.Finish()
		}
		fs.to, fs.all = to, make(map[string]*mux.Stream)
	}
	if stream := fs.all[as]; stream != nil {
		return stream
	}
	if len(fs.all) >= maxForwardings {
		return nil
	}
	stream := mux.New(new(snowraftv1.StreamNumbersResponse), nil, maxForwarded)
	fs.all[as] = stream
	go fs.run(to, as, marks, stream)
	return stream
}

// run opens a stream and delivers its answers until it ends.
func (fs *forwardings) run(to link, as string, marks metadata.MD, stream *mux.Stream) {
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(context.Background(), marks))
	defer cancel()
	defer stream.FinishUnused(idleForwarding)()
	_ = stream.Run(func() (grpc.ClientStream, error) { // the receivers of the answers get the error
		return snowraftv1.NewSequenceServiceClient(to.ClientConn).StreamNumbers(ctx)
	})
	forget := func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		if fs.all[as] == stream {
			delete(fs.all, as)
		}
	}
	if stream.Answered() > 0 {
		forget()
	} else {
		time.AfterFunc(forwardingPause, forget)
	}
}

// askNext sends req on a stream and waits for the answer. If sent is false, nothing was sent.
func askNext(ctx context.Context, stream *mux.Stream, req *snowraftv1.NextNumbersRequest) (got forwarded, sent bool) {
	began := time.Now()
	until := began.Add(limits.CallTimeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	p := &pendingForward{answer: make(chan forwarded, 1)}
	p.Call = mux.Call{
		Request: mux.NumberRequest{StreamNumbersRequest: &snowraftv1.StreamNumbersRequest{Request: req}}, Receiver: p, Began: began, Deadline: until,
	}
	if !stream.Send(&p.Call) {
		return got, false
	}
	select {
	case got = <-p.answer:
	case <-ctx.Done():
		stream.Forget(&p.Call) // the numbers of a late answer are lost
		got.err = ctx.Err()
	}
	return got, true
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
	stream := p.forwardings.of(l, as, marks)
	if stream == nil {
		return got, false
	}
	_, span := p.forwarding(ctx, leader, snowraftv1.SequenceService_NextNumbers_FullMethodName)
	if got, sent = askNext(ctx, stream, req); sent {
		span.end(got.err)
	}
	return got, sent
}
