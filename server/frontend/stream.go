package frontend

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/conn"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// stream is the interceptor of all streams. It handles rights, limits, error mapping, and the metrics of the API's streams.
func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(info.FullMethod, r)
		}
	}()
	c := connOf(ss.Context())
	charged := &chargedStream{ServerStream: ss, conn: c}
	ss = charged
	defer charged.end()
	if isHealth(info.FullMethod) {
		s.greet(ss.Context())
	}
	rule := rpc.RuleOf(info.FullMethod)
	ctx, err := s.admit(ss.Context(), rule, info.FullMethod, nil)
	if err != nil {
		return wire.Status(err)
	}
	requests := newRequest(info.FullMethod)
	if requests == nil { // a stream that carries requests is idle between them
		c.Begin()
		defer c.End()
	}
	if _, full := c.Full(); full {
		return wire.Status(errMemory)
	}
	if requests != nil {
		const incomplete = limits.RequestBytes // bytes of a request that has not come completely
		if !charged.reserve(incomplete) {
			return wire.Status(errMemory)
		}
		return wire.Status(s.mux(ctx, ss, rule, requests))
	}
	stream := &servedStream{judgedStream: judgedStream{ss, ctx}, server: s}
	if rule == nil { // health watch or reflection
		return wire.Status(handler(srv, stream))
	}
	if stream.rule = rule; !fromHTTP(ctx) { // otherwise it counts as an HTTP request
		stream.method = s.kernel.Of(kernel.GRPC, info.FullMethod[1:])
		defer func() { stream.answered(err) }()
	}
	err = handler(srv, stream)
	s.kernel.AuditStream(ctx, rule, err)
	return wire.Status(err)
}

var errMemory = rpc.NewError(rpc.Overloaded, "the callers with this token, or all callers, hold all memory that they may; end some streams, or try another address")

// judgedStream is a stream whose context has the caller.
type judgedStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s judgedStream) Context() context.Context { return s.ctx }

// chargedStream holds the price of a stream, and counts its answers.
type chargedStream struct {
	grpc.ServerStream
	conn  *conn.Conn
	came  bool  // the first message has come
	price int64 // bytes held since then
	more  int64 // reserved bytes
}

func (s *chargedStream) arrived() {
	if !s.came {
		s.came, s.price = true, s.conn.Arrived(s.Context())
	}
}

// reserve adds to the price if the memory is free, and reports whether it was.
func (s *chargedStream) reserve(n int64) (ok bool) {
	if ok = s.conn.TryReserve(n); ok {
		s.more += n
	}
	return ok
}

// end returns the price.
func (s *chargedStream) end() {
	s.arrived()
	s.conn.Charge(-s.price - s.more)
}

func (s *chargedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	s.arrived()
	return err
}

func (s *chargedStream) SendMsg(m any) error {
	if _, ok := m.(*counted); !ok && s.conn != nil {
		m = &counted{answer: m, conn: s.conn}
	}
	return s.ServerStream.SendMsg(m)
}

// servedStream is a stream whose handler answers each message before it receives the next one. It checks each message of the
// caller against the rule of the method, and counts it as a request.
type servedStream struct {
	judgedStream
	server *Server
	rule   *rpc.Rule      // nil: judged once, when the stream begins
	method *kernel.Method // nil: not counted
	began  time.Time      // zero if no request is unanswered
}

func (s *servedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil && s.rule != nil {
		err = trust.PrincipalOf(s.ctx).Authorize(kernel.Needed(s.rule, m))
	}
	if err == nil {
		s.began = time.Now()
	}
	return err
}

func (s *servedStream) SendMsg(m any) error {
	err := s.ServerStream.SendMsg(m)
	s.answered(err)
	return err
}

// answered counts the unanswered request, if there is one.
func (s *servedStream) answered(err error) {
	if s.method != nil && !s.began.IsZero() {
		s.method.Served(s.ctx, nil, err, time.Since(s.began))
		s.began = time.Time{}
	}
}
