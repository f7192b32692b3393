package frontend

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/rpc"
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
	silent := silentOf(ss.Context())
	if silent == nil {
		s.silence.heard(ss.Context())
	}
	if isHealth(info.FullMethod) {
		end, err := s.watch(ss.Context())
		if err != nil {
			return wire.Status(err)
		}
		defer end()
	}
	rule := rpc.RuleOf(info.FullMethod)
	ctx, err := s.admit(ss.Context(), rule, info.FullMethod, nil)
	if err != nil {
		return wire.Status(err)
	}
	carries := carriages[info.FullMethod]
	if carries == nil { // a stream that carries requests is idle between them
		seat := connOf(ctx).sits()
		seat.enter()
		defer seat.leave()
	}
	if !isHealth(info.FullMethod) {
		token := streamsOf(trust.PrincipalOf(ctx))
		if err := s.streams.begin(token); err != nil {
			return wire.Status(err)
		}
		defer s.streams.end(token)
	}
	if c := connOf(ctx); c != nil && c.isKnown() { // streams limits calls of known callers
		silent.heard()
	}
	ss = &heardStream{ss, silent}
	if carries != nil {
		return wire.Status(s.carry(ctx, ss, srv, carries, rule))
	}
	if s.auth != nil {
		ss = &judgedStream{ServerStream: ss, ctx: ctx, server: s, rule: rule}
	}
	leased := &leasedStream{ServerStream: ss}
	defer leased.end()
	ss = leased
	if rule == nil { // health watch or reflection
		return wire.Status(handler(srv, ss))
	}
	if fromHTTP(ctx) { // counts as an HTTP request
		err = handler(srv, ss)
		s.auditStream(ctx, rule, err)
		return wire.Status(err)
	}
	counted := &countedStream{ServerStream: ss, method: s.metrics.requests.of(protocolGRPC, info.FullMethod[1:])}
	defer func() { counted.answered(err) }()
	err = handler(srv, counted)
	s.auditStream(ctx, rule, err)
	return wire.Status(err)
}

// judgedStream checks each message of a caller against the rule of the method.
type judgedStream struct {
	grpc.ServerStream
	ctx    context.Context
	server *Server
	rule   *rpc.Rule // nil: judged once, when the stream begins
}

// Context implements grpc.ServerStream.
func (s *judgedStream) Context() context.Context { return s.ctx }

func (s *judgedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil && s.rule != nil {
		_, err = s.server.authorize(s.ctx, s.rule, m)
	}
	return err
}

// heardStream is a watched stream until its first message comes.
type heardStream struct {
	grpc.ServerStream
	silent *silent // nil after the first message
}

func (s *heardStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	s.silent.heard()
	s.silent = nil
	return err
}

// leasedStream takes memory for its answers. Each answer is sent before the next request is received.
type leasedStream struct {
	grpc.ServerStream
	lease *lease // memory of the next answer; nil if the answer is small
}

// end returns the memory of an answer that was not sent.
func (s *leasedStream) end() {
	if s.lease != nil {
		s.lease.keep(0)
		s.lease = nil
	}
}

func (s *leasedStream) RecvMsg(m any) error {
	s.end()
	err := s.ServerStream.RecvMsg(m)
	if err == nil {
		s.lease, err = reserve(s.Context(), m)
	}
	return err
}

func (s *leasedStream) SendMsg(m any) error {
	l := s.lease
	s.lease = nil
	answer, err := charge(s.Context(), l, m)
	if err != nil {
		return err
	}
	return s.ServerStream.SendMsg(answer)
}

// countedStream counts each message of the client as a request. Its handler answers each request before it receives the next.
type countedStream struct {
	grpc.ServerStream
	method *method
	began  time.Time // zero if no request is unanswered
}

func (s *countedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if err == nil {
		s.began = time.Now()
	}
	return err
}

func (s *countedStream) SendMsg(m any) error {
	err := s.ServerStream.SendMsg(m)
	s.answered(err)
	return err
}

// answered counts the unanswered request, if there is one.
func (s *countedStream) answered(err error) {
	if !s.began.IsZero() {
		took := time.Since(s.began)
		s.method.served(err, took)
		s.method.trace(s.Context(), nil, err, took)
		s.began = time.Time{}
	}
}
