package mux

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
)

// keptJobs is the number of unused jobs that a stream keeps for its next requests.
const keptJobs = 2

// Received is a message of a stream into which one request after another is read.
type Received interface {
	proto.Message
	GetId() uint64
	GetTimeoutMs() uint32
	// Clear empties the message and keeps its parts.
	Clear()
}

// Job is a request that a stream received, with room for its answer. The stream uses the job for a later request again, once the
// answer is sent.
type Job interface {
	// Request returns the message into which the request is read. It is empty before that.
	Request() Received
	// Try serves the request if that needs no wait. It must not wait. A last error also ends the stream, after all answers.
	Try(began, until time.Time) (outcome Outcome, last error)
	// Wait serves a request that Try did not serve, until ctx ends. It makes the answer.
	Wait(ctx context.Context)
	// Answer returns the message of the answer. It runs just before the message is sent. The stream runs it for one job at a time.
	Answer() any
	// Clear drops the request and the answer.
	Clear()
}

// Outcome is the outcome of [Job.Try].
type Outcome int

// Outcomes.
const (
	Waits Outcome = iota // Wait serves the request
	Done                 // the answer is made
	Begun                // the request waits without a goroutine; the job calls [Server.End] once, perhaps before Try returns
)

// ServerStream is the part of a stream of gRPC that a [Server] uses.
type ServerStream interface {
	Context() context.Context
	RecvMsg(m any) error
	SendMsg(m any) error
}

// Method makes the jobs of the streams of a method.
type Method struct {
	Job func() Job
	// Begin takes memory for a request that waits, and End returns it. While Begin returns false, a request that waits stops the
	// reading of its stream.
	Begin func() (ok bool)
	End   func()
	// Announce makes the answer that announces the end of the stream.
	Announce func(Job)
	// Invalid returns the error of a stream whose client breaks the protocol.
	Invalid func(message string) error
}

// Server is the receiving end of a stream: it answers each request, in any order.
//
// One goroutine reads. It tries each request without waiting, and sends its answer itself if no other goroutine is sending. A
// request that must wait has a goroutine of its own or is [Begun], so it delays no request behind it.
//
// Invariants:
//   - One goroutine sends at a time: a goroutine that made an answer while no other one sent. It also sends the answers that are made
//     meanwhile. So a client that reads no answers stops one goroutine of the stream, besides the one that reads.
//   - Requests that were read and whose answers are not sent are pending. While more than [MaxPending] are, no request is read.
type Server struct {
	stream ServerStream
	method Method

	mu      sync.Mutex
	changed sync.Cond // pending is less
	pending int
	unused  []Job
	answers []Job // made and not sent
	spare   []Job // memory for answers
	sending bool  // a goroutine sends answers
	ended   bool  // Serve returns
}

// NewServer returns the receiving end of a stream. The caller calls Serve.
func NewServer(stream ServerStream, method Method) *Server {
	s := &Server{stream: stream, method: method}
	s.changed.L = &s.mu
	return s
}

// Serve serves requests until the client ends the stream and all requests are answered. It returns nil then, and otherwise the error
// that ended the stream. When ending is done, Serve announces the end of the stream. It still answers the requests that the client
// sends before the client ends the stream.
func (s *Server) Serve(ending context.Context) error {
	defer context.AfterFunc(ending, s.announce)()
	err := s.read()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.pending > 0 {
		s.changed.Wait()
	}
	s.ended = true
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// read serves requests until the stream ends.
func (s *Server) read() error {
	for {
		j := s.next()
		req := j.Request()
		err := s.stream.RecvMsg(req)
		if err == nil && req.GetId() == 0 {
			err = s.method.Invalid("id: expected a number other than 0; an answer with the ID 0 announces the end of the stream")
		}
		if err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.free(j)
			return err
		}
		began := time.Now()
		until := deadline(req, began)
		switch outcome, last := j.Try(began, until); {
		case outcome == Begun:
		case outcome == Done:
			s.send(j)
			if last != nil {
				return last
			}
		case s.method.Begin():
			go func() {
				s.wait(j, until)
				s.method.End()
				s.send(j)
			}()
		default:
			s.wait(j, until)
			s.send(j)
		}
	}
}

// deadline returns the time until which a request may wait.
func deadline(req Received, began time.Time) time.Time {
	timeout := limits.CallTimeout
	if ms := req.GetTimeoutMs(); ms > 0 {
		timeout = min(timeout, time.Duration(ms)*time.Millisecond)
	}
	return began.Add(timeout)
}

// wait serves a request until its deadline.
func (s *Server) wait(j Job, until time.Time) {
	ctx, cancel := context.WithDeadline(s.stream.Context(), until)
	defer cancel()
	j.Wait(ctx)
}

// announce sends an unrequested answer, unless the stream has ended.
func (s *Server) announce() {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	j := s.job()
	s.mu.Unlock()
	s.method.Announce(j)
	s.send(j)
}

// next returns a job for the next request, once few enough requests are pending.
func (s *Server) next() Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.pending > MaxPending {
		s.changed.Wait()
	}
	return s.job()
}

// job returns an unused job, and counts it as pending. Requires s.mu.
func (s *Server) job() Job {
	s.pending++
	last := len(s.unused) - 1
	if last < 0 {
		return s.method.Job()
	}
	j := s.unused[last]
	s.unused = s.unused[:last]
	return j
}

// free ends a job that is clear, and keeps a few jobs for later requests. Requires s.mu.
func (s *Server) free(j Job) {
	if s.pending--; len(s.unused) < keptJobs {
		s.unused = append(s.unused, j)
	}
	s.changed.Broadcast()
}

// send sends the answer of a job, unless another goroutine is sending, which then sends it too. The next read returns an error of
// sending.
func (s *Server) send(j Job) {
	if s.made(j) {
		s.sendAll()
	}
}

// End takes the answer of a job that was [Begun]. It does not wait.
func (s *Server) End(j Job) {
	if s.made(j) {
		go s.sendAll()
	}
}

// made notes that the answer of a job is made. It reports whether no goroutine is sending, so that the caller calls sendAll.
func (s *Server) made(j Job) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, j)
	first, s.sending = !s.sending, true
	return first
}

// sendAll sends the answers that are made, and those that are made meanwhile.
func (s *Server) sendAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.answers) > 0 {
		batch := s.answers
		s.answers = s.spare[:0]
		s.mu.Unlock()
		for _, j := range batch {
			_ = s.stream.SendMsg(j.Answer())
			j.Clear()
		}
		s.mu.Lock()
		for i, j := range batch {
			s.free(j)
			batch[i] = nil
		}
		s.spare = batch
	}
	s.sending = false
}
