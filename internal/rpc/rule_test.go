package rpc

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/grpc.md and docs/errors.md")

func TestEveryMethodHasRule(t *testing.T) {
	services := []struct {
		name    string
		methods int
	}{
		{"snowraft.v1.IdService", len(snowraftv1.IdService_ServiceDesc.Methods) + len(snowraftv1.IdService_ServiceDesc.Streams)},
		{"snowraft.v1.SequenceService", len(snowraftv1.SequenceService_ServiceDesc.Methods) + len(snowraftv1.SequenceService_ServiceDesc.Streams)},
		{"snowraft.v1.TemplateService", len(snowraftv1.TemplateService_ServiceDesc.Methods)},
		{"snowraft.v1.ReservationService", len(snowraftv1.ReservationService_ServiceDesc.Methods)},
		{"snowraft.v1.LayoutService", len(snowraftv1.LayoutService_ServiceDesc.Methods)},
		{"snowraft.v1.BackfillService", len(snowraftv1.BackfillService_ServiceDesc.Methods)},
		{"snowraft.v1.WorkerService", len(snowraftv1.WorkerService_ServiceDesc.Methods)},
		{"snowraft.v1.ClusterService", len(snowraftv1.ClusterService_ServiceDesc.Methods)},
		{"snowraft.v1.TokenService", len(snowraftv1.TokenService_ServiceDesc.Methods)},
		{"snowraft.v1.OperationsService", len(snowraftv1.OperationsService_ServiceDesc.Methods) + len(snowraftv1.OperationsService_ServiceDesc.Streams)},
		{"snowraft.v1.ViewService", len(snowraftv1.ViewService_ServiceDesc.Methods) + len(snowraftv1.ViewService_ServiceDesc.Streams)},
		{"snowraft.peer.v1.PeerService", len(peerv1.PeerService_ServiceDesc.Methods)},
	}
	found := make(map[string]int)
	for r := range Rules() {
		service, _, _ := strings.Cut(strings.TrimPrefix(r.Method, "/"), "/")
		found[service]++
		if err := r.check(); err != "" {
			t.Errorf("%s: %s", r.Method, err)
		}
	}
	for _, s := range services {
		if found[s.name] != s.methods {
			t.Errorf("%s: %d rules for %d methods", s.name, found[s.name], s.methods)
		}
		delete(found, s.name)
	}
	if len(found) > 0 {
		t.Errorf("services %v: missing in this test", found)
	}
}

var (
	rights = []string{"any", "member", "ids:issue", "ids:backfill", "seq:next", "seq:read", "seq:decode", "seq:admin", "worker:lease", "cluster:read", "cluster:admin", "tokens:admin", "tokens:verify"}
	// audited lists the rights of administrative calls, and of those that reveal which number a code has.
	audited = []string{"seq:admin", "seq:decode", "cluster:admin", "tokens:admin"}
)

// check returns the mistake in a rule; empty for a correct rule.
func (r *Rule) check() string {
	switch {
	case r.GetWhere() == snowraftv1.MethodRule_WHERE_UNSPECIFIED || r.GetRepeat() == snowraftv1.MethodRule_REPEAT_UNSPECIFIED:
		return "no (rule) with where and repeat in its .proto"
	case r.GetUnless() != "" && (r.unless == nil || r.unless.Kind() != protoreflect.BoolKind):
		return "unless names no boolean field"
	case r.GetUnless() != "" && r.GetRepeat() != snowraftv1.MethodRule_REPEAT_HARMLESS:
		return "unless has no effect"
	case r.GetClock() != "" && (r.clock == nil || r.clock.Kind() != protoreflect.Int64Kind):
		return "clock names no int64 field"
	case !slices.Contains(rights, r.GetRight()):
		return "no right that is known"
	case r.GetResource() != "" && len(r.resource) == 0:
		return "resource names no string"
	case r.GetAudited() != slices.Contains(audited, r.GetRight()):
		return "administrative and decoding calls are audited, and no others"
	case r.reply == nil:
		return "its reply has no Go type"
	}
	return ""
}

func TestRuleCheckFindsMistakes(t *testing.T) {
	good := *RuleOf(snowraftv1.SequenceService_CreateSequence_FullMethodName)
	if err := good.check(); err != "" {
		t.Fatal(err)
	}
	for name, option := range map[string]*snowraftv1.MethodRule{
		"no rule":                nil,
		"no where":               {Repeat: snowraftv1.MethodRule_REPEAT_HARMLESS},
		"no repeat":              {Where: snowraftv1.MethodRule_WHERE_LEADER},
		"unless without effect":  {Where: snowraftv1.MethodRule_WHERE_LEADER, Repeat: snowraftv1.MethodRule_REPEAT_UNDONE, Unless: "force", Right: "seq:admin", Audited: true},
		"clock of another kind":  {Where: snowraftv1.MethodRule_WHERE_LEADER, Repeat: snowraftv1.MethodRule_REPEAT_NEVER, Clock: "force"},
		"no right":               {Where: snowraftv1.MethodRule_WHERE_LEADER, Repeat: snowraftv1.MethodRule_REPEAT_UNDONE, Audited: true},
		"unknown right":          {Where: snowraftv1.MethodRule_WHERE_LEADER, Repeat: snowraftv1.MethodRule_REPEAT_UNDONE, Right: "seq:own", Audited: true},
		"not audited":            {Where: snowraftv1.MethodRule_WHERE_LEADER, Repeat: snowraftv1.MethodRule_REPEAT_UNDONE, Right: "seq:admin"},
		"resource of no string":  {Where: snowraftv1.MethodRule_WHERE_LEADER, Repeat: snowraftv1.MethodRule_REPEAT_UNDONE, Right: "seq:admin", Audited: true, Resource: "sequence.start"},
		"resource of no field":   {Where: snowraftv1.MethodRule_WHERE_LEADER, Repeat: snowraftv1.MethodRule_REPEAT_UNDONE, Right: "seq:admin", Audited: true, Resource: "sequence.names.x"},
		"unless of another kind": {Where: snowraftv1.MethodRule_WHERE_LEADER, Repeat: snowraftv1.MethodRule_REPEAT_HARMLESS, Unless: "sequence"},
	} {
		r := good
		r.MethodRule = option
		fields := (&snowraftv1.CreateSequenceRequest{}).ProtoReflect().Descriptor().Fields()
		r.unless, r.clock = fields.ByName(protoreflect.Name(option.GetUnless())), fields.ByName(protoreflect.Name(option.GetClock()))
		r.resource = path((&snowraftv1.CreateSequenceRequest{}).ProtoReflect().Descriptor(), option.GetResource())
		if r.check() == "" {
			t.Errorf("%s: no mistake found", name)
		}
	}
}

func TestResourceIsTheResolvedName(t *testing.T) {
	for _, c := range []struct {
		method, want string
		req          proto.Message
	}{
		{snowraftv1.IdService_GenerateIds_FullMethodName, "default", &snowraftv1.GenerateIdsRequest{}},
		{snowraftv1.IdService_GenerateIds_FullMethodName, "mine", &snowraftv1.GenerateIdsRequest{Layout: "mine"}},
		{snowraftv1.IdService_StreamIds_FullMethodName, "default", &snowraftv1.StreamIdsRequest{}},
		{snowraftv1.SequenceService_CreateSequence_FullMethodName, "", &snowraftv1.CreateSequenceRequest{}},
		{snowraftv1.SequenceService_CreateSequence_FullMethodName, "orders", &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "orders"}}},
		{snowraftv1.SequenceService_ListSequences_FullMethodName, "", &snowraftv1.ListSequencesRequest{Prefix: "orders/"}},
	} {
		if got := RuleOf(c.method).Resource(c.req); got != c.want {
			t.Errorf("%s: Resource(%v) = %q, want %q", c.method, c.req, got, c.want)
		}
	}
}

func TestForcedCreationIsNotHarmless(t *testing.T) {
	r := RuleOf(snowraftv1.SequenceService_CreateSequence_FullMethodName)
	for _, force := range []bool{false, true} {
		if got := r.Harmless(&snowraftv1.CreateSequenceRequest{Force: force}); got == force {
			t.Errorf("Harmless(force: %v) = %v", force, got)
		}
	}
}

func TestUnknownMethodIsNotHarmless(t *testing.T) {
	r := RuleOf("/another.Service/Call")
	if r != nil || r.Harmless(nil) || r.AtLeader() {
		t.Errorf("rule %v, harmless %v, at the leader %v", r, r.Harmless(nil), r.AtLeader())
	}
}

func TestHeldRequestClockAdvances(t *testing.T) {
	acquire, extend := &snowraftv1.AcquireWorkerRequest{ClockAtMs: 1000}, &snowraftv1.ExtendWindowRequest{ClockAtMs: 2000}
	heldAcquire := RuleOf(snowraftv1.WorkerService_AcquireWorker_FullMethodName).Hold(acquire)
	heldExtend := RuleOf(snowraftv1.WorkerService_ExtendWindow_FullMethodName).Hold(extend)
	for _, held := range []time.Duration{0, 1500 * time.Millisecond, 2 * time.Second} {
		heldAcquire(held)
		heldExtend(held)
		if acquire.GetClockAtMs() != 1000+held.Milliseconds() || extend.GetClockAtMs() != 2000+held.Milliseconds() {
			t.Errorf("after %v the clocks are %d and %d", held, acquire.GetClockAtMs(), extend.GetClockAtMs())
		}
	}
	RuleOf(snowraftv1.WorkerService_ReleaseWorker_FullMethodName).Hold(&snowraftv1.ReleaseWorkerRequest{})(time.Second)
}

// Change requests with a field that this build does not know are refused. No message in such a request contains itself,
// otherwise the caller could choose the depth of the search for unknown fields.
func TestChangesRefuseUnknownFields(t *testing.T) {
	changes := 0
	for r := range Rules() {
		name := strings.ReplaceAll(strings.TrimPrefix(r.Method, "/"), "/", ".")
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Fatal(err)
		}
		input := d.(protoreflect.MethodDescriptor).Input()
		m, err := protoregistry.GlobalTypes.FindMessageByName(input.FullName())
		if err != nil {
			t.Fatal(err)
		}
		// Issuing IDs, decoding texts, verifying tokens, backups, debug archives and watches change nothing that the cluster keeps, and members only read from each other.
		binding, _ := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule)
		reads := binding.GetGet() != "" || strings.HasPrefix(r.Method, "/snowraft.v1.IdService/") || strings.HasPrefix(r.Method, "/snowraft.peer.v1.") ||
			r.Method == snowraftv1.SequenceService_DecodeText_FullMethodName ||
			r.Method == snowraftv1.TokenService_VerifyToken_FullMethodName || r.Method == snowraftv1.OperationsService_Backup_FullMethodName ||
			r.Method == snowraftv1.OperationsService_Debug_FullMethodName || r.Method == snowraftv1.ViewService_WatchOverview_FullMethodName
		if r.GetChanges() == reads {
			t.Errorf("%s: HTTP binding %v, changes: %v", r.Method, binding, r.GetChanges())
		}
		req := m.New()
		if err := r.CheckKnown(req.Interface()); err != nil {
			t.Errorf("%s: %v", r.Method, err)
		}
		req.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1))
		if err := r.CheckKnown(req.Interface()); (err != nil) != r.GetChanges() || err != nil && FromError(err).Reason != InvalidArgument {
			t.Errorf("%s: CheckKnown() = %v, changes: %v", r.Method, err, r.GetChanges())
		}
		if !r.GetChanges() {
			continue
		}
		changes++
		if !bounded(input, nil) {
			t.Errorf("%s: a message in its request contains itself", r.Method)
		}
	}
	if changes == 0 {
		t.Error("no method changes anything")
	}
}

// bounded reports whether a message, which is part of the messages of, contains none of them and no map.
func bounded(m protoreflect.MessageDescriptor, of []protoreflect.FullName) bool {
	if slices.Contains(of, m.FullName()) || m.IsMapEntry() {
		return false
	}
	of = append(of, m.FullName())
	for i := range m.Fields().Len() {
		if part := m.Fields().Get(i).Message(); part != nil && !bounded(part, of) {
			return false
		}
	}
	return true
}

// An audited request with the text of a token or a secret in any field is refused. The error does not repeat the text.
func TestAuditedRequestsHaveNoSecrets(t *testing.T) {
	text := trust.Token{ID: 7, Secret: trust.NewTokenSecret()}.Text()
	for _, c := range []struct {
		method string
		req    proto.Message
		field  string
	}{
		{snowraftv1.TokenService_CreateToken_FullMethodName, &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{Name: text}}, "name"},
		{snowraftv1.TokenService_CreateToken_FullMethodName, &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{Name: "a", Scopes: []string{"ids:issue:*", "x " + text}}}, "scopes"},
		{snowraftv1.TokenService_DeleteToken_FullMethodName, &snowraftv1.DeleteTokenRequest{Token: text}, "token"},
		{snowraftv1.SequenceService_CreateSequence_FullMethodName, &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: trust.NewSecret().Line()}}, "name"},
		{snowraftv1.SequenceService_CreateSequence_FullMethodName, &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "snowraft_7_orders"}}, ""},
		{snowraftv1.TokenService_VerifyToken_FullMethodName, &snowraftv1.VerifyTokenRequest{Text: text}, ""},
	} {
		err := RuleOf(c.method).CheckSecrets(c.req)
		if (err != nil) != (c.field != "") || err != nil && (!strings.HasPrefix(err.Error(), c.field+": ") || strings.Contains(err.Error(), text)) {
			t.Errorf("%s: CheckSecrets() = %v, want an error about %q", c.method, err, c.field)
		}
	}
}

func TestReplyHasType(t *testing.T) {
	if _, ok := RuleOf(snowraftv1.IdService_WhoIs_FullMethodName).Reply().(*snowraftv1.WhoIsResponse); !ok {
		t.Error("the reply of WhoIs is of another type")
	}
}

// The table of rules in docs/grpc.md must equal the rules in the protos. "go test ./internal/rpc -update" rewrites it.
func TestDocsHaveRules(t *testing.T) { docsHave(t, "../../docs/grpc.md", "rules", ruleTable()) }

// docsHave compares the table between the marks of a page with want.
func docsHave(t *testing.T, path, mark, want string) {
	t.Helper()
	begin, end := "<!-- "+mark+" -->\n", "<!-- end of "+mark+" -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), begin)
	table, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatalf("%s has no table of %s", path, mark)
	}
	switch {
	case table == want:
	case *update:
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table of %s in %s is old: run \"go test ./internal/rpc -update\"; expected:\n%s", mark, path, want)
	}
}

func ruleTable() string {
	where := map[snowraftv1.MethodRule_Where]string{
		snowraftv1.MethodRule_WHERE_ANY:     "any member",
		snowraftv1.MethodRule_WHERE_LEADER:  "leader",
		snowraftv1.MethodRule_WHERE_BY_MODE: "relaxed: any member; strict: leader",
	}
	repeat := map[snowraftv1.MethodRule_Repeat]string{
		snowraftv1.MethodRule_REPEAT_HARMLESS: "yes",
		snowraftv1.MethodRule_REPEAT_UNDONE:   "no",
		snowraftv1.MethodRule_REPEAT_NEVER:    "never",
	}
	var rows []string
	for r := range Rules() {
		service, ok := strings.CutPrefix(r.Method, "/snowraft.v1.")
		if !ok { // the page omits methods that only members call
			continue
		}
		service, method, _ := strings.Cut(service, "/")
		again := repeat[r.GetRepeat()]
		if r.GetUnless() != "" {
			again += "; with `" + r.GetUnless() + "`: no"
		}
		unknown := "ignored"
		if r.GetChanges() {
			unknown = "refused"
		}
		right := "`" + r.GetRight() + "`"
		if r.GetResource() != "" {
			right += " of `" + r.GetResource() + "`"
		}
		if r.GetAudited() {
			right += ", audited"
		}
		rows = append(rows, "| `"+service+"` | `"+method+"` | "+where[r.GetWhere()]+" | "+again+" | "+unknown+" | "+right+" |\n")
	}
	slices.Sort(rows)
	return "\n| service | method | served by | repeatable | unknown fields | right |\n|---|---|---|---|---|---|\n" + strings.Join(rows, "") + "\n"
}
