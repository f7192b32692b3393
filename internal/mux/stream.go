package mux

import (
	"cmp"
	"math"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Stream is a stream to one process. It is open from the begin of the stream in Run until the stream ends or the other side announces
// its end. Its methods may be called from any goroutine.
//
// Each call that Send accepted gets exactly one result, unless Forget drops it.
type Stream struct {
	answer  Answer       // the message into which each answer is read
	receipt func(Answer) // takes answers with a receipt; nil: nothing does
	most    int          // number of pending calls

	sending sync.Mutex // serializes SendMsg and CloseSend

	mu       sync.Mutex
	stream   grpc.ClientStream // nil until it begins
	last     uint64            // ID of the last request; 0 if none was sent
	calls    map[uint64]*Call
	bytes    int // size of the pending requests
	answered int // number of answered calls
	closed   bool
	// At since, answered was seen, and MaxPending calls were pending.
	seen  int
	since time.Time
}

// New returns a Stream that is not open yet. answer is the message for its answers. receipt, if not nil, takes the answers that have a
// receipt. most bounds the pending calls; 0 means no bound. The caller calls Run.
func New(answer Answer, receipt func(Answer), most int) *Stream {
	return &Stream{answer: answer, receipt: receipt, most: cmp.Or(most, math.MaxInt), calls: make(map[uint64]*Call)}
}

// Run begins the stream with a function and passes results to their receivers until the stream ends. It returns the error that ended
// the stream, or that of the function.
func (s *Stream) Run(begin func() (grpc.ClientStream, error)) error {
	stream, err := begin()
	if err != nil {
		s.end()
		return err
	}
	s.mu.Lock()
	s.stream = stream
	closed := s.closed
	s.mu.Unlock()
	if closed {
		_ = stream.CloseSend() // never fails
	}
	return s.receive(stream)
}

// Send sends a request. If it returns false, nothing was sent, and the receiver gets nothing: the stream is closed, its pending
// requests are too many or have too many bytes, or they are stuck.
func (s *Stream) Send(c *Call) bool {
	wait := max(1, time.Until(c.Deadline).Milliseconds())
	s.sending.Lock() // locked before mu, so that requests are sent in the order of their IDs
	defer s.sending.Unlock()
	s.mu.Lock()
	stream := s.stream
	if stream == nil || s.closed || len(s.calls) >= s.most || s.stuck(c.Began) {
		s.mu.Unlock()
		return false
	}
	c.Address(s.last+1, uint32(min(wait, 1<<31)))
	if c.size = proto.Size(c.Request) + prefixBytes; s.bytes+c.size > MaxBytes {
		s.mu.Unlock()
		return false
	}
	s.last++
	c.id = s.last
	s.calls[c.id] = c
	s.bytes += c.size
	s.mu.Unlock()
	_ = stream.SendMsg(c.Request) // Run gets the error
	return true
}

// stuck reports whether the other side has answered nothing for a while and may have stopped reading. Requires s.mu.
func (s *Stream) stuck(now time.Time) bool {
	if len(s.calls) < MaxPending {
		return false
	}
	if s.since.IsZero() || s.seen != s.answered {
		s.seen, s.since = s.answered, now
	}
	return now.Sub(s.since) > Stalled
}

func (s *Stream) receive(stream grpc.ClientStream) error {
	for {
		a := s.answer
		if err := stream.RecvMsg(a); err != nil {
			for _, c := range s.end() {
				s.deliver(c, nil, &Ended{err})
			}
			return err
		}
		if s.receipt != nil && len(a.GetReceipt()) > 0 {
			s.receipt(a)
		}
		if a.GetId() == 0 {
			s.Finish()
			continue
		}
		if c := s.take(a.GetId()); c != nil {
			switch e := a.GetError(); {
			case e == nil:
				s.deliver(c, a, nil)
			case codes.Code(e.GetCode()) == codes.OK: //nolint:gosec // an unknown code stays one
				s.deliver(c, nil, status.Error(codes.Unavailable, "the answer has an error without a code"))
			default:
				s.deliver(c, nil, status.ErrorProto(e))
			}
		}
	}
}

// take removes and returns the call with an ID; nil if there is none.
func (s *Stream) take(id uint64) *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[id]
	if c != nil {
		delete(s.calls, id)
		s.bytes -= c.size
		s.answered++
	}
	return c
}

// Forget drops the result of a call that Send accepted, unless its receiver has it or is about to get it. The call stays pending,
// because its request is still on the stream.
func (s *Stream) Forget(c *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.forgotten = true
}

// deliver passes a result to the receiver of a call, unless the call is forgotten.
func (s *Stream) deliver(c *Call, a Answer, err error) {
	s.mu.Lock()
	forgotten := c.forgotten
	s.mu.Unlock()
	if !forgotten {
		c.Receiver.Receive(a, err)
	}
}

// end closes the stream and returns the pending calls.
func (s *Stream) end() map[uint64]*Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.calls
	s.calls, s.closed = nil, true
	return left
}

// Finish closes this side of the stream. The other side still answers the requests that were sent.
func (s *Stream) Finish() {
	s.mu.Lock()
	was, stream := s.closed, s.stream
	s.closed = true
	s.mu.Unlock()
	if !was && stream != nil {
		s.sending.Lock()
		defer s.sending.Unlock()
		_ = stream.CloseSend() // never fails
	}
}

// Open reports whether requests can be sent.
func (s *Stream) Open() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stream != nil && !s.closed
}

// Idle reports whether no call is pending.
func (s *Stream) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) == 0
}

// Answered returns the number of calls that were answered.
func (s *Stream) Answered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered
}

// FinishUnused calls Finish once no request was sent for the time idle and none is pending. The returned function stops the
// timer.
func (s *Stream) FinishUnused(idle time.Duration) (stop func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sent uint64
	var timer *time.Timer
	timer = time.AfterFunc(idle, func() {
		s.mu.Lock()
		unused := s.last == sent && len(s.calls) == 0
		if sent = s.last; !unused && !s.closed {
			timer.Reset(idle)
		}
		s.mu.Unlock()
		if unused {
			s.Finish()
		}
	})
	return timer.Stop
}
