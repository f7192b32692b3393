package kernel

import (
	"context"
	"encoding/json"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// Audit serves an audited call and writes its audit line.
func (k *Kernel) Audit(ctx context.Context, rule *rpc.Rule, req any, serve func(context.Context) (any, error)) (any, error) {
	line := k.auditLine(ctx, rule, req)
	if k.Before != nil {
		line.Before = inJSON(k.Before(req))
	}
	var index trust.Index
	resp, err := serve(trust.WithIndex(ctx, &index))
	if line.Index = index.Load(); line.Index != 0 && trust.RelayOf(ctx) != "" {
		k.cfg.Index(ctx, line.Index)
	}
	if err == nil {
		if line.Outcome = trust.AuditDone; rule.GetChanges() { // a call that only reads changes no resource
			line.After = inJSON(resp)
		}
		k.record(ctx, line)
	} else {
		k.auditFailure(ctx, line, err)
	}
	return resp, err
}

// AuditStream writes the audit line of a stream that has ended.
func (k *Kernel) AuditStream(ctx context.Context, rule *rpc.Rule, err error) {
	if k.cfg.Audit == nil || !rule.Audited() {
		return
	}
	line := k.auditLine(ctx, rule, nil)
	if err != nil {
		k.auditFailure(ctx, line, err)
		return
	}
	line.Outcome = trust.AuditDone
	k.record(ctx, line)
}

// AuditRefusal writes the audit line of a call that its caller may not make.
func (k *Kernel) AuditRefusal(ctx context.Context, rule *rpc.Rule, req any, err error) {
	if rule.Audited() {
		k.auditFailure(ctx, k.auditLine(ctx, rule, req), err)
	}
}

// AuditCreation writes the audit line for a Redis client's attempt to create a sequence on demand. A nil err means that the
// attempt succeeded.
func (k *Kernel) AuditCreation(ctx context.Context, sequence string, index uint64, err error) {
	req := &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: sequence}}
	line := k.auditLine(ctx, rpc.RuleOf(snowraftv1.SequenceService_CreateSequence_FullMethodName), req)
	line.Index = index
	if err != nil {
		k.auditFailure(ctx, line, err)
		return
	}
	line.Outcome = trust.AuditDone
	if k.Before != nil { // the replica has the new sequence now
		if created, ok := k.Before(req).(*snowraftv1.Sequence); ok {
			line.After = inJSON(&snowraftv1.CreateSequenceResponse{Sequence: created})
		}
	}
	k.record(ctx, line)
}

func (k *Kernel) auditLine(ctx context.Context, rule *rpc.Rule, req any) trust.AuditLine {
	return trust.AuditLine{Actor: trust.PrincipalOf(ctx).Actor(), Address: k.cfg.Address(ctx), Method: rule.Method[1:], Resource: rule.Resource(req)}
}

func (k *Kernel) auditFailure(ctx context.Context, line trust.AuditLine, err error) {
	line.Outcome, line.Reason = trust.AuditFailed, rpc.FromError(wire.Status(err)).Reason
	if line.Reason == rpc.Unauthenticated || line.Reason == rpc.PermissionDenied {
		line.Outcome = trust.AuditRefused
	}
	k.record(ctx, line)
}

// record writes a line to the audit log, and to the events of the member that the caller called: operators look at that
// member first.
func (k *Kernel) record(ctx context.Context, line trust.AuditLine) {
	line = k.cfg.Audit.Write(line)
	if k.Events != nil && trust.RelayOf(ctx) == "" {
		k.Events.Add(eventOf(line))
	}
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
