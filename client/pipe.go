package client

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/receipt"

	spb "google.golang.org/genproto/googleapis/rpc/status"
)

// maxUnanswered is the greatest number of bytes of unanswered requests in a pipe. gRPC's window and its buffer for a stream
// hold more, so sending never blocks. It must not block, because the goroutine that receives answers also sends requests.
const maxUnanswered = 32 << 10

// maxWaiting is the number of waiting requests with which a member reads no further one. stalled is the time without an answer
// after which the client counts on that and sends further requests as calls, so that they do not wait for those requests.
const (
	maxWaiting = 64
	stalled    = 50 * time.Millisecond
)

// prefixBytes is the length of the prefix that gRPC sends before each message.
const prefixBytes = 5

// letter is a request on a pipe, with the function that takes its result.
type letter struct {
	carriedRequest
	// The goroutine that receives calls arrived once: with the answer, which is valid until arrived returns, or with the
	// failed try.
	arrived  func(carriedAnswer, *former)
	began    time.Time
	deadline time.Time
	size     int
}

// carriedRequest is a request in the message type of a stream.
type carriedRequest interface {
	proto.Message
	address(id uint64, timeoutMillis uint32)
}

// carriedAnswer is an answer in the message type of a stream.
type carriedAnswer interface {
	proto.Message
	GetId() uint64
	GetError() *spb.Status
	GetReceipt() []byte
}

// pipe is a stream to one member. It is open until the stream ends or the member announces the end of the stream.
type pipe struct {
	member   string
	stream   grpc.ClientStream
	cancel   context.CancelFunc
	answer   carriedAnswer // the message into which each answer is read
	receipts *receipt.Latest
	// landed takes a request with its result: the answer, the error that the member returned, or errStreamEnded.
	landed func(l *letter, answer carriedAnswer, err error)

	sending sync.Mutex // serializes SendMsg and CloseSend

	mu         sync.Mutex
	last       uint64 // ID of the last request; 0 if none was sent
	letters    map[uint64]*letter
	unanswered int // bytes
	answers    int // number of answers
	closed     bool
	// At since, answers was seen, and maxWaiting requests were unanswered.
	seen  int
	since time.Time
}

// send sends a request. If it returns false, nothing was sent and arrived is not called.
func (p *pipe) send(l *letter) bool {
	wait := max(1, time.Until(l.deadline).Milliseconds())
	p.sending.Lock() // locked before mu, so that requests are sent in the order of their IDs
	defer p.sending.Unlock()
	p.mu.Lock()
	if p.closed || p.stalls(l.began) {
		p.mu.Unlock()
		return false
	}
	l.address(p.last+1, uint32(min(wait, 1<<31)))
	if l.size = proto.Size(l.carriedRequest) + prefixBytes; p.unanswered+l.size > maxUnanswered {
		p.mu.Unlock()
		return false
	}
	p.last++
	p.letters[p.last] = l
	p.unanswered += l.size
	p.mu.Unlock()
	_ = p.stream.SendMsg(l.carriedRequest) // receive gets the error
	return true
}

// stalls reports whether the member has answered nothing for a while and may have stopped reading. Requires p.mu.
func (p *pipe) stalls(now time.Time) bool {
	if len(p.letters) < maxWaiting {
		return false
	}
	if p.since.IsZero() || p.seen != p.answers {
		p.seen, p.since = p.answers, now
	}
	return now.Sub(p.since) > stalled
}

// receive passes answers to landed until the stream ends, and returns the error that ended the stream.
func (p *pipe) receive() error {
	defer p.cancel()
	for {
		a := p.answer
		err := p.stream.RecvMsg(a)
		if err != nil {
			for _, l := range p.end() {
				p.landed(l, nil, errStreamEnded)
			}
			return err
		}
		if len(a.GetReceipt()) > 0 {
			p.receipts.Keep(a)
		}
		if a.GetId() == 0 { // the member announces the end of the stream
			p.finish()
			continue
		}
		if l := p.take(a.GetId()); l != nil {
			if e := a.GetError(); e != nil {
				p.landed(l, nil, status.ErrorProto(e))
			} else {
				p.landed(l, a, nil)
			}
		}
	}
}

// take removes and returns the request with an ID; nil if there is none.
func (p *pipe) take(id uint64) *letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.letters[id]
	if l != nil {
		delete(p.letters, id)
		p.unanswered -= l.size
		p.answers++
	}
	return l
}

// end closes the pipe and returns the unanswered requests.
func (p *pipe) end() map[uint64]*letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.letters
	p.letters, p.closed = nil, true
	return left
}

// finish closes this side of the stream. The member still answers the requests that were sent.
func (p *pipe) finish() {
	p.mu.Lock()
	was := p.closed
	p.closed = true
	p.mu.Unlock()
	if !was {
		p.sending.Lock()
		defer p.sending.Unlock()
		_ = p.stream.CloseSend() // never fails
	}
}

// open reports whether requests can be sent.
func (p *pipe) open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.closed
}

// tend closes this side of the stream when no request was sent for the time idle and all requests are answered. The
// returned function stops the timer.
func (p *pipe) tend(idle time.Duration) (stop func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var sent uint64
	var timer *time.Timer
	timer = time.AfterFunc(idle, func() {
		p.mu.Lock()
		unused := p.last == sent && len(p.letters) == 0
		if sent = p.last; !unused && !p.closed {
			timer.Reset(idle)
		}
		p.mu.Unlock()
		if unused {
			p.finish()
		}
	})
	return timer.Stop
}

// errStreamEnded is the error of a request that was sent but not answered because the stream ended.
var errStreamEnded = status.Error(codes.Unavailable, "the stream ended")

// refused reports whether a stream ended because the member, or a proxy before it, does not implement the method.
func refused(err error) bool { return status.Code(err) == codes.Unimplemented }
