package rpc

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/internal/known"
	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
)

// Rule is the rule of a method, read from the option of its descriptor. It never changes. The rule of an unknown method is nil.
// A nil Rule has only the methods AtLeader, Audited, Harmless, Never, CheckKnown and CheckSecrets.
type Rule struct {
	*snowraftv1.MethodRule
	Method string // full name, as in "/snowraft.v1.IdService/GenerateIds"

	// HTTP is the path of the method over HTTP; nil without one.
	HTTP *annotations.HttpRule

	request, reply protoreflect.MessageType
	unless, clock  protoreflect.FieldDescriptor   // nil if the rule names none
	resource       []protoreflect.FieldDescriptor // path of the field; empty if the rule names none
}

var rules = readRules()

// RuleOf returns the rule of a method, given its full name; nil for an unknown method.
func RuleOf(method string) *Rule { return rules[method] }

// Rules returns the rules of all methods in unspecified order, including methods that only members call.
func Rules() iter.Seq[*Rule] { return maps.Values(rules) }

func readRules() map[string]*Rule {
	all := make(map[string]*Rule)
	read := func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				r := readRule(service.Methods().Get(j))
				all[r.Method] = r
			}
		}
		return true
	}
	protoregistry.GlobalFiles.RangeFilesByPackage("snowraft.v1", read)
	read(peerv1.File_peer_v1_peer_proto)
	return all
}

func readRule(m protoreflect.MethodDescriptor) *Rule {
	option, _ := proto.GetExtension(m.Options(), snowraftv1.E_Rule).(*snowraftv1.MethodRule)
	r := &Rule{MethodRule: option, Method: "/" + string(m.Parent().FullName()) + "/" + string(m.Name())}
	r.HTTP, _ = proto.GetExtension(m.Options(), annotations.E_Http).(*annotations.HttpRule)
	r.request, _ = protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	r.reply, _ = protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
	fields := m.Input().Fields()
	r.unless, r.clock = fields.ByName(protoreflect.Name(option.GetUnless())), fields.ByName(protoreflect.Name(option.GetClock()))
	r.resource = path(m.Input(), option.GetResource())
	return r
}

// path returns the fields that lead to a string, given their names separated by dots; nil if there is no such string.
func path(m protoreflect.MessageDescriptor, names string) (fields []protoreflect.FieldDescriptor) {
	for name := range strings.SplitSeq(names, ".") {
		if m == nil {
			return nil
		}
		field := m.Fields().ByName(protoreflect.Name(name))
		if field == nil || field.IsList() || field.IsMap() {
			return nil
		}
		fields, m = append(fields, field), field.Message()
	}
	if fields[len(fields)-1].Kind() != protoreflect.StringKind {
		return nil
	}
	return fields
}

// AtLeader reports whether only the leader serves the method.
func (r *Rule) AtLeader() bool {
	return r != nil && r.GetWhere() == snowraftv1.MethodRule_WHERE_LEADER
}

// Audited reports whether the audit log has a line for each call.
func (r *Rule) Audited() bool { return r != nil && r.GetAudited() }

// Harmless reports whether a request may be sent again after an unknown outcome.
func (r *Rule) Harmless(req any) bool {
	if r == nil || r.GetRepeat() != snowraftv1.MethodRule_REPEAT_HARMLESS {
		return false
	}
	if r.unless == nil {
		return true
	}
	m, ok := req.(proto.Message)
	return ok && !m.ProtoReflect().Get(r.unless).Bool()
}

// Never reports whether a client must not send a request again after any error.
func (r *Rule) Never() bool {
	return r != nil && r.GetRepeat() == snowraftv1.MethodRule_REPEAT_NEVER
}

// CheckKnown returns an [*Error] for a request that changes the cluster's state and has fields or values that this program does
// not know.
func (r *Rule) CheckKnown(req any) error {
	m, ok := req.(proto.Message)
	if r == nil || !r.GetChanges() || !ok {
		return nil
	}
	if err := known.Check(m.ProtoReflect()); err != nil {
		return NewError(InvalidArgument,
			fmt.Sprintf("%v: this program does not support it and must not ignore it; upgrade the member or gateway", err))
	}
	return nil
}

// CheckSecrets returns an [*Error] for a request of an audited call that contains the text of a token or a cluster secret. The
// members would otherwise write the text to their disks.
func (r *Rule) CheckSecrets(req any) error {
	m, ok := req.(proto.Message)
	if !r.Audited() || !ok {
		return nil
	}
	if field := withSecret(m.ProtoReflect()); field != "" {
		return NewError(InvalidArgument, string(field)+": contains the text of a token or secret; send a name or an ID")
	}
	return nil
}

// withSecret returns the name of a field that contains the text of a token or a cluster secret; empty without such a field.
func withSecret(m protoreflect.Message) (name protoreflect.Name) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		values := []protoreflect.Value{value}
		if field.IsList() {
			values = values[:0]
			for i := range value.List().Len() {
				values = append(values, value.List().Get(i))
			}
		}
		for _, v := range values {
			switch {
			case field.IsMap(): // no request has one
			case field.Message() != nil:
				name = cmp.Or(name, withSecret(v.Message()))
			case field.Kind() == protoreflect.StringKind && trust.Mask(v.String()) != v.String():
				name = field.Name()
			}
		}
		return name == ""
	})
	return name
}

// Resource returns the name of a request's resource, read from the field that the rule names; empty if the rule names none. If
// the request omits the layout, the resource is the default layout.
func (r *Rule) Resource(req any) string {
	m, ok := req.(proto.Message)
	if len(r.resource) == 0 || !ok {
		return ""
	}
	at, last := m.ProtoReflect(), len(r.resource)-1
	for _, field := range r.resource[:last] {
		at = at.Get(field).Message()
	}
	name := at.Get(r.resource[last]).String()
	if name == "" && r.resource[last].Name() == "layout" {
		return snowflake.Default().Name()
	}
	return name
}

// Request returns a new request of the method.
func (r *Rule) Request() proto.Message { return r.request.New().Interface() }

// Reply returns a new, empty reply of the method.
func (r *Rule) Reply() proto.Message { return r.reply.New().Interface() }

// Hold notes the requester's clock in req. The returned function sets that clock to the noted one plus the time since Hold,
// which the caller passes, so that a request that waited carries no outdated clock. The function does nothing if the rule names
// no clock.
func (r *Rule) Hold(req proto.Message) (aged func(time.Duration)) {
	if r.clock == nil {
		return func(time.Duration) {}
	}
	m := req.ProtoReflect()
	sent := m.Get(r.clock).Int()
	return func(held time.Duration) { m.Set(r.clock, protoreflect.ValueOfInt64(sent+held.Milliseconds())) }
}
