package frontend

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// audit serves a call and writes its line to the audit log if its rule says so.
func (s *Server) audit(ctx context.Context, rule *rpc.Rule, req any, serve func(context.Context) (any, error)) (any, error) {
	if s.auditLog == nil || !rule.GetAudited() {
		return serve(ctx)
	}
	line := trust.AuditLine{
		Actor: actor(ctx, s.auth), Address: address(ctx), Method: rule.Method[1:], Resource: rule.Resource(req),
	}
	if s.before != nil {
		line.Before = inJSON(s.before(req))
	}
	var index uint64
	resp, err := serve(trust.WithIndex(ctx, &index))
	line.Index, line.Outcome = index, trust.AuditDone
	if err == nil {
		line.After = inJSON(resp)
	} else {
		e := rpc.FromError(wire.Status(err))
		line.Outcome, line.Reason = trust.AuditFailed, e.Reason
		if e.Reason == rpc.Unauthenticated || e.Reason == rpc.PermissionDenied {
			line.Outcome, line.Before = trust.AuditRefused, nil // which would tell nothing
		}
	}
	s.auditLog.Write(line)
	return resp, err
}

// actor returns the name of a call's caller.
func actor(ctx context.Context, auth *Auth) string {
	if auth == nil {
		return trust.Open().Actor()
	}
	return trust.PrincipalOf(ctx).Actor()
}

// address returns the address of a call's caller, or of the member that forwards the call.
func address(ctx context.Context) string {
	if a := trust.AddressOf(ctx); a != "" {
		return a
	}
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

// inJSON returns a message as the HTTP API shows it, without its secrets; nil for none.
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
