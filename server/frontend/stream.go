package frontend

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/rpc"
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
	job := newJob(info.FullMethod)
	if job == nil { // a stream that carries requests is idle between them
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
	if job != nil {
		return wire.Status(s.mux(ctx, ss, rule, job))
	}
	stream := &servedStream{judgedStream: judgedStream{ss, ctx}, server: s, silent: silent}
	defer stream.free()
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

// judgedStream is a stream whose context has the caller.
type judgedStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s judgedStream) Context() context.Context { return s.ctx }

// servedStream is a stream whose handler answers each message before it receives the next one. It checks each message of the
// caller against the rule of the method, counts it as a request, and takes memory for its answer.
type servedStream struct {
	judgedStream
	server *Server
	silent *silent        // nil after the first message
	rule   *rpc.Rule      // nil: judged once, when the stream begins
	lease  *lease         // memory of the next answer; nil if the answer is small
	method *kernel.Method // nil: not counted
	began  time.Time      // zero if no request is unanswered
}

// free returns the memory of an answer that was not sent.
func (s *servedStream) free() {
	if s.lease != nil {
		s.lease.keep(0)
		s.lease = nil
	}
}

func (s *servedStream) RecvMsg(m any) error {
	s.free()
	err := s.ServerStream.RecvMsg(m)
	s.silent.heard()
	s.silent = nil
	if err == nil && s.rule != nil {
		right, resource := kernel.Needed(s.rule, m)
		_, err = s.server.kernel.Admit(s.ctx, right, resource)
	}
	if err == nil {
		s.lease, err = reserve(s.ctx, m)
	}
	if err == nil {
		s.began = time.Now()
	}
	return err
}

func (s *servedStream) SendMsg(m any) error {
	l := s.lease
	s.lease = nil
	answer, err := charge(s.ctx, l, m)
	if err == nil {
		err = s.ServerStream.SendMsg(answer)
	}
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
