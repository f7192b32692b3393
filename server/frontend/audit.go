package frontend

import (
	"context"
	"encoding/json"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// audit serves an audited call and writes its audit line.
func (s *Server) audit(ctx context.Context, rule *rpc.Rule, req any, serve func(context.Context) (any, error)) (any, error) {
	line := s.auditLine(ctx, rule, req)
	if s.before != nil {
		line.Before = inJSON(s.before(req))
	}
	var index trust.Index
	resp, err := serve(trust.WithIndex(ctx, &index))
	if line.Index = index.Load(); line.Index != 0 && s.relayed(ctx) {
		_ = grpc.SetTrailer(ctx, metadata.Pairs(rpc.AuditIndex, strconv.FormatUint(line.Index, 10)))
	}
	if err == nil {
		if line.Outcome = trust.AuditDone; rule.GetChanges() { // a call that only reads changes no resource
			line.After = inJSON(resp)
		}
		s.record(ctx, line)
	} else {
		s.auditFailure(ctx, line, err)
	}
	return resp, err
}

// auditStream writes the audit line of a stream that has ended.
func (s *Server) auditStream(ctx context.Context, rule *rpc.Rule, err error) {
	if s.auditLog == nil || !rule.Audited() {
		return
	}
	line := s.auditLine(ctx, rule, nil)
	if err != nil {
		s.auditFailure(ctx, line, err)
		return
	}
	line.Outcome = trust.AuditDone
	s.record(ctx, line)
}

// auditRefusal writes the audit line of a call that its caller may not make.
func (s *Server) auditRefusal(ctx context.Context, rule *rpc.Rule, req any, err error) {
	if rule.Audited() {
		s.auditFailure(ctx, s.auditLine(ctx, rule, req), err)
	}
}

// auditCreation writes the audit line for a Redis client's attempt to create a sequence on demand. A nil err means that the
// attempt succeeded.
func (s *Server) auditCreation(ctx context.Context, sequence string, index uint64, err error) {
	req := &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: sequence}}
	line := s.auditLine(ctx, createRule, req)
	line.Index = index
	if err != nil {
		s.auditFailure(ctx, line, err)
		return
	}
	line.Outcome = trust.AuditDone
	if s.before != nil { // the replica has the new sequence now
		if created, ok := s.before(req).(*snowraftv1.Sequence); ok {
			line.After = inJSON(&snowraftv1.CreateSequenceResponse{Sequence: created})
		}
	}
	s.record(ctx, line)
}

func (s *Server) auditLine(ctx context.Context, rule *rpc.Rule, req any) trust.AuditLine {
	return trust.AuditLine{Actor: actor(ctx, s.auth), Address: Address(ctx), Method: rule.Method[1:], Resource: rule.Resource(req)}
}

// relayed reports whether another member forwarded the call. That member needs the audit index.
func (s *Server) relayed(ctx context.Context) bool {
	if s.auth == nil {
		return len(metadata.ValueFromIncomingContext(ctx, rpc.ForwardedBy)) > 0
	}
	return trust.RelayOf(ctx) != ""
}

func (s *Server) auditFailure(ctx context.Context, line trust.AuditLine, err error) {
	line.Outcome, line.Reason = trust.AuditFailed, rpc.FromError(wire.Status(err)).Reason
	if line.Reason == rpc.Unauthenticated || line.Reason == rpc.PermissionDenied {
		line.Outcome = trust.AuditRefused
	}
	s.record(ctx, line)
}

// record writes a line to the audit log, and to the events of the member that the caller called: operators look at that
// member first.
func (s *Server) record(ctx context.Context, line trust.AuditLine) {
	line = s.auditLog.Write(line)
	if s.events != nil && !s.relayed(ctx) {
		s.events.Add(eventOf(line))
	}
}

// actor returns the name of a call's caller.
func actor(ctx context.Context, auth *Auth) string {
	if auth == nil {
		return trust.Open().Actor()
	}
	return trust.PrincipalOf(ctx).Actor()
}

// Address returns the address of a call's caller, or of the member that forwards the call.
func Address(ctx context.Context) string {
	if a := trust.AddressOf(ctx); a != "" {
		return a
	}
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

// inJSON returns a message as the HTTP API shows it, without its secrets; nil without a message.
func inJSON(v any) json.RawMessage {
	m, ok := v.(proto.Message)
	if !ok || m == nil || !m.ProtoReflect().IsValid() {
		return nil
	}
	m = proto.Clone(m)
	redact(m.ProtoReflect())
	text, err := apijson.Marshal(m)
	if err != nil {
		return nil
	}
	return text
}

// redact clears the fields that hold secrets.
func redact(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if options, ok := field.Options().(*descriptorpb.FieldOptions); ok && options.GetDebugRedact() {
			m.Clear(field)
		}
		return true
	})
}
