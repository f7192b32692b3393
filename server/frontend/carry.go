package frontend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

const (
	// maxCarried is the largest number of waiting requests of a stream. The stream is not read while that many wait.
	maxCarried = 64
	// maxCarriedBytes is the largest size of a request on a stream. A request holds at most two names.
	maxCarriedBytes = 4 << 10
)

// carrier serves the unary calls of one stream.
//
// One goroutine reads at a time. As long as its request does not wait, the goroutine serves the request, answers it, and then
// reads the next one, so that no other goroutine has to wake up. When the request begins to wait, another goroutine continues
// to read, so that a request never delays the requests behind it.
type carrier struct {
	*Server
	ss      grpc.ServerStream
	ctx     context.Context // the caller's
	carries *carriage
	rule    *rpc.Rule // rule of the streaming method
	inner   *rpc.Rule // rule of the unary method
	info    *grpc.UnaryServerInfo
	handler grpc.UnaryHandler
	method  *method
	token   uint64

	seat *seat

	admitted atomic.Bool // the caller had the right to an earlier request

	sending sync.Mutex // SendMsg
	reply   answering  // guarded by sending
	handed  time.Time  // time of the last receipt; guarded by sending
	readers sync.WaitGroup

	mu      sync.Mutex
	waiting int
	stuck   *turn   // a waiting turn, while no goroutine reads; the turn may be over
	hold    holding // guarded by mu
	ended   error   // reason why reading ended; written by the last reader
}

// carry serves a stream until the client ends the stream and all requests are answered.
func (s *Server) carry(ctx context.Context, ss grpc.ServerStream, service any, carries *carriage, rule *rpc.Rule) error {
	c := &carrier{
		Server: s, ss: ss, ctx: ctx, carries: carries, rule: rule, inner: rpc.RuleOf(carries.method),
		info:    &grpc.UnaryServerInfo{Server: service, FullMethod: carries.method},
		handler: carries.handler(service), reply: carries.answer(), method: s.metrics.requests.of(protocolGRPC, rule.Method[1:]),
		token: streamsOf(trust.PrincipalOf(ctx)), seat: connOf(ctx).sits(),
	}
	defer s.carriers.add(c)()
	s.hear(ctx)
	c.read()
	c.readers.Wait()
	c.release()
	if errors.Is(c.ended, io.EOF) {
		return nil
	}
	return c.ended
}

// read serves requests until the stream ends or another goroutine takes over reading.
func (c *carrier) read() {
	for req := c.carries.request(); ; req.clear() { // clears at once, so that an idle stream holds no request
		if err := c.ss.RecvMsg(req); err != nil {
			c.ended = err
			return
		}
		if req.GetId() == 0 {
			c.ended = wire.Invalid("id: expected a number other than 0; an answer with the ID 0 announces the end of the stream")
			return
		}
		c.seat.enter()
		t := c.begin(req)
		if c.carries.confirms {
			c.came(t)
		}
		err := c.answer(t, req)
		c.seat.leave()
		if !t.finish() {
			return
		}
		if t.strange {
			c.ended = err
			return
		}
	}
}

// begin returns the turn of a new request.
func (c *carrier) begin(req carried) *turn {
	began, timeout := time.Now(), limits.CallTimeout
	if ms := req.GetTimeoutMs(); ms > 0 {
		timeout = min(timeout, time.Duration(ms)*time.Millisecond)
	}
	return &turn{patience: patience{Context: c.ctx, until: began.Add(timeout)}, of: c, began: began}
}

// answer serves a request, sends its answer and returns the error in the answer. The next read returns an error of sending.
func (c *carrier) answer(t *turn, req carried) error {
	resp, err := c.call(t, req)
	err = wire.Status(err)
	took := time.Since(t.began)
	c.method.served(err, took)
	c.method.trace(c.ctx, nil, err, took)
	if c.carries.confirms {
		c.went(t, t.began.Add(took))
	}
	c.send(t.began.Add(took), req.GetId(), resp, err)
	return err
}

// send sends an answer, with a receipt if one is due, unless the stream is broken. gRPC does not use the message after SendMsg.
func (c *carrier) send(now time.Time, id uint64, resp any, err error) {
	c.sending.Lock()
	defer c.sending.Unlock()
	l, leases := resp.(*leased)
	if leases {
		resp = l.answer
	}
	c.reply.fill(id, resp, status.Convert(err).Proto())
	if c.receipts != nil && now.Sub(c.handed) >= receiptEvery {
		c.handed = now
		c.reply.hand(c.receipts.Hand())
	}
	if leases {
		l.answer = c.reply
		_ = c.ss.SendMsg(l)
	} else {
		_ = c.ss.SendMsg(c.reply)
	}
	c.reply.fill(0, nil, nil) // an idle stream holds no answer
}

// end requests the client to end the stream. All requests that the client sends before that are answered.
func (c *carrier) end() {
	failed := rpc.NewError(rpc.ShuttingDown, fmt.Sprintf("this %s is shutting down; end the stream", c.what))
	c.send(time.Time{}, 0, nil, wire.Status(failed))
}

// carriers is the set of all carriers of a server.
type carriers struct {
	mu     sync.Mutex
	all    map[*carrier]struct{}
	ending bool
}

// add adds a carrier. The caller removes the carrier with the returned function.
func (cs *carriers) add(c *carrier) (remove func()) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.all == nil {
		cs.all = make(map[*carrier]struct{})
	}
	cs.all[c] = struct{}{}
	if cs.ending {
		go c.end()
	}
	return func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		delete(cs.all, c)
	}
}

// end ends all present carriers, and every carrier that is added later.
func (cs *carriers) end() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.ending = true
	for c := range cs.all {
		go c.end() // may wait for a client that does not read, until the connection is closed
	}
}

// call serves a request like a unary call.
func (c *carrier) call(t *turn, req carried) (resp any, err error) {
	defer func() {
		if r := recover(); r != nil {
			resp, err = nil, c.panicked(c.info.FullMethod, r)
		}
	}()
	if err := c.admit(t, req); err != nil { // before other errors, so that no stream of a stranger stays
		return nil, err
	}
	if size := proto.Size(req); size > maxCarriedBytes {
		return nil, wire.Invalid(fmt.Sprintf("a request of %d bytes: expected at most %d bytes on a stream", size, maxCarriedBytes))
	}
	if err := c.rule.CheckKnown(req); err != nil {
		return nil, err
	}
	return c.Server.answer(t, c.inner, req.inner(), c.info, c.handler)
}

// admit returns an error unless the caller has the right to req. If the caller has no valid token, req ends its stream, so that
// strangers do not take the places of all streams. There are two exceptions: the stream of a member, which carries the requests
// of others, and of an anonymous caller that had the right to an earlier request.
func (c *carrier) admit(t *turn, req carried) error {
	a, err := c.judge(t, c.rule, req)
	if err == nil {
		t.admission = a
		if !c.admitted.Load() { // a store for each request would cost more
			c.admitted.Store(true)
		}
		return nil
	}
	shared := connectionOf(c.ctx).principal.IsMember() || c.admitted.Load() && trust.PrincipalOf(c.ctx).IsAnonymous()
	t.strange = !shared && status.Code(wire.Status(err)) == codes.Unauthenticated
	return err
}

// pass starts another goroutine that reads the stream while the request of a turn waits, and reports whether it did. If too
// many requests wait, the goroutine starts when one of them is answered.
func (c *carrier) pass(t *turn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == maxCarried || c.streams.begin(c.token) != nil {
		c.stuck = t
		return false
	}
	c.stuck = nil // t may have been stuck before
	c.waiting++
	c.readers.Go(c.read)
	return true
}

// passed is called after a request that waited. It lets a stuck turn try again.
func (c *carrier) passed() {
	c.streams.end(c.token)
	c.mu.Lock()
	c.waiting--
	stuck := c.stuck
	c.stuck = nil
	c.mu.Unlock()
	if stuck != nil {
		stuck.waits()
	}
}

// turn is the context of a request on a stream. A caller of Done is about to wait, so Done lets another goroutine read.
type turn struct {
	patience
	of    *carrier
	began time.Time

	mu     sync.Mutex
	over   bool // the request has been served
	passed bool // another goroutine reads the stream

	strange   bool            // the request ends its stream; owned by the goroutine that serves it
	admission trust.Admission // set before the request is served
}

// Value implements context.Context.
func (t *turn) Value(key any) any {
	if v := t.admission.Value(key); v != nil {
		return v
	}
	return t.patience.Value(key)
}

// Done implements context.Context.
func (t *turn) Done() <-chan struct{} {
	t.waits()
	return t.patience.Done()
}

// AfterFunc spares derived contexts a goroutine.
func (t *turn) AfterFunc(f func()) (stop func() bool) {
	t.waits()
	return t.patience.AfterFunc(f)
}

func (t *turn) waits() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over && !t.passed && !t.of.holds(t) {
		t.passed = t.of.pass(t)
	}
}

// finish ends a turn. It reports whether the goroutine of the turn continues to read.
func (t *turn) finish() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.patience.end()
	if t.passed {
		t.of.passed()
	}
	return !t.passed
}
