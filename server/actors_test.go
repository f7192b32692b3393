package server_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// party is a caller, and the actor that its commands must name.
type party struct {
	token string // empty without one
	kind  commandv1.ActorKind
	id    uint64
}

// visit is the sequence of calls of one caller at one place over one protocol. Its name is in all names that the calls use.
type visit struct {
	place
	by     party
	name   string
	worker *snowraftv1.Grant // after AcquireWorker
}

// proposing is a method that proposes a command, with a request of it. The state machine may refuse the command.
type proposing struct {
	method, command string
	request         func(v *visit) proto.Message
}

// proposings holds the methods in the order of their calls: later ones need what earlier ones created.
var proposings = []proposing{
	{snowraftv1.SequenceService_CreateSequence_FullMethodName, "create_sequence", func(v *visit) proto.Message {
		return &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: v.name}}
	}},
	{snowraftv1.SequenceService_UpdateSequence_FullMethodName, "update_sequence", func(v *visit) proto.Message {
		return &snowraftv1.UpdateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: v.name, Description: "new"}}
	}},
	{snowraftv1.SequenceService_SetNext_FullMethodName, "update_sequence", func(v *visit) proto.Message {
		return &snowraftv1.SetNextRequest{Sequence: v.name, Next: 500}
	}},
	{snowraftv1.SequenceService_ResumeSequence_FullMethodName, "resume_sequence", func(v *visit) proto.Message {
		return &snowraftv1.ResumeSequenceRequest{Sequence: v.name}
	}},
	{snowraftv1.SequenceService_NextNumbers_FullMethodName, "allocate_block", func(v *visit) proto.Message {
		return &snowraftv1.NextNumbersRequest{Sequence: v.name, Count: 1, RequestId: "next"}
	}},
	{snowraftv1.SequenceService_MoveSequence_FullMethodName, "move_sequence", func(v *visit) proto.Message {
		return &snowraftv1.MoveSequenceRequest{Sequence: v.name}
	}},
	{snowraftv1.SequenceService_ResumeSequence_FullMethodName, "resume_sequence", func(v *visit) proto.Message {
		return &snowraftv1.ResumeSequenceRequest{Sequence: v.name, After: new(int64(600))}
	}},
	{snowraftv1.SequenceService_DeleteSequence_FullMethodName, "delete_sequence", func(v *visit) proto.Message {
		return &snowraftv1.DeleteSequenceRequest{Name: v.name}
	}},
	{snowraftv1.SequenceService_AllocateBlock_FullMethodName, "allocate_block", func(*visit) proto.Message {
		return &snowraftv1.AllocateBlockRequest{Sequence: "relaxed", Count: 1, ReturnKey: make([]byte, 16)}
	}},
	{snowraftv1.SequenceService_ReturnBlock_FullMethodName, "return_block", func(*visit) proto.Message {
		return &snowraftv1.ReturnBlockRequest{Sequence: "relaxed", Token: 1 << 40, Unused: 1, ReturnKey: make([]byte, 16)}
	}},
	{snowraftv1.SequenceService_CreateSequence_FullMethodName, "create_sequence", func(v *visit) proto.Message {
		return &snowraftv1.CreateSequenceRequest{Sequence: gapless(v.name + "-gapless")}
	}},
	{snowraftv1.ReservationService_ReserveNumbers_FullMethodName, "reserve_numbers", func(v *visit) proto.Message {
		return &snowraftv1.ReserveNumbersRequest{Sequence: v.name + "-gapless", Keys: []string{"k"}}
	}},
	{snowraftv1.ReservationService_ConfirmNumbers_FullMethodName, "confirm_numbers", func(v *visit) proto.Message {
		return &snowraftv1.ConfirmNumbersRequest{Sequence: v.name + "-gapless", Claims: []*snowraftv1.Claim{{Key: "k", Reservation: 1, Attempt: 1}}}
	}},
	{snowraftv1.ReservationService_VoidNumbers_FullMethodName, "void_numbers", func(v *visit) proto.Message {
		return &snowraftv1.VoidNumbersRequest{Sequence: v.name + "-gapless", Claims: []*snowraftv1.Claim{{Key: "k", Reservation: 1, Attempt: 1}}, Reason: "test"}
	}},
	{snowraftv1.ReservationService_TakeNumbers_FullMethodName, "take_numbers", func(v *visit) proto.Message {
		return &snowraftv1.TakeNumbersRequest{Sequence: v.name + "-gapless", Number: 50, Reason: "paper"}
	}},
	{snowraftv1.ReservationService_ResolveNumbers_FullMethodName, "resolve_numbers", func(v *visit) proto.Message {
		return &snowraftv1.ResolveNumbersRequest{Sequence: v.name + "-gapless", Number: 60, Fate: snowraftv1.NumberFate_NUMBER_FATE_CONFIRMED}
	}},
	{snowraftv1.TemplateService_CreateTemplate_FullMethodName, "create_template", func(v *visit) proto.Message {
		return &snowraftv1.CreateTemplateRequest{Template: &snowraftv1.Template{Pattern: v.name + "/*"}}
	}},
	{snowraftv1.SequenceService_BeginSequence_FullMethodName, "begin_sequence", func(v *visit) proto.Message {
		return &snowraftv1.BeginSequenceRequest{Name: v.name + "/1"}
	}},
	{snowraftv1.TemplateService_UpdateTemplate_FullMethodName, "update_template", func(v *visit) proto.Message {
		return &snowraftv1.UpdateTemplateRequest{Template: &snowraftv1.Template{Pattern: v.name + "/*", Settings: &snowraftv1.Sequence{Description: "new"}}}
	}},
	{snowraftv1.TemplateService_ApplyTemplate_FullMethodName, "update_sequence", func(v *visit) proto.Message {
		return &snowraftv1.ApplyTemplateRequest{Pattern: v.name + "/*"}
	}},
	{snowraftv1.TemplateService_ResumeTemplate_FullMethodName, "resume_template", func(v *visit) proto.Message {
		return &snowraftv1.ResumeTemplateRequest{Pattern: v.name + "/*", Start: 5}
	}},
	{snowraftv1.TemplateService_DeleteTemplate_FullMethodName, "delete_template", func(v *visit) proto.Message {
		return &snowraftv1.DeleteTemplateRequest{Pattern: v.name + "/*"}
	}},
	{snowraftv1.LayoutService_CreateLayout_FullMethodName, "create_layout", func(*visit) proto.Message {
		return &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(snowflake.Default().Spec())}
	}},
	{snowraftv1.BackfillService_StartBackfill_FullMethodName, "start_backfill", func(*visit) proto.Message {
		return &snowraftv1.StartBackfillRequest{}
	}},
	{snowraftv1.BackfillService_BackfillIds_FullMethodName, "extend_backfill", func(*visit) proto.Message {
		return &snowraftv1.BackfillIdsRequest{TimesMs: []int64{1}, RequestId: "batch"}
	}},
	{snowraftv1.BackfillService_EndBackfill_FullMethodName, "end_backfill", func(*visit) proto.Message {
		return &snowraftv1.EndBackfillRequest{}
	}},
	{snowraftv1.BackfillService_ResumeBackfills_FullMethodName, "resume_backfill", func(*visit) proto.Message {
		return &snowraftv1.ResumeBackfillsRequest{}
	}},
	{snowraftv1.WorkerService_AcquireWorker_FullMethodName, "acquire_worker", func(v *visit) proto.Message {
		return &snowraftv1.AcquireWorkerRequest{Holder: v.name, Nonce: make([]byte, 16), WindowMs: 5000, ClockAtMs: time.Now().UnixMilli()}
	}},
	{snowraftv1.WorkerService_ExtendWindow_FullMethodName, "extend_window", func(v *visit) proto.Message {
		return &snowraftv1.ExtendWindowRequest{Worker: v.worker.GetWorker(), Token: v.worker.GetToken(), Nonce: make([]byte, 16),
			UntilTick: v.worker.GetUntilTick(), WindowMs: 5000, ClockAtMs: time.Now().UnixMilli(), ExtensionId: 1}
	}},
	{snowraftv1.WorkerService_ReleaseWorker_FullMethodName, "release_worker", func(v *visit) proto.Message {
		return &snowraftv1.ReleaseWorkerRequest{Worker: v.worker.GetWorker(), Token: v.worker.GetToken(), Nonce: make([]byte, 16),
			UntilTick: v.worker.GetUntilTick(), NextTick: v.worker.GetFromTick()}
	}},
	{snowraftv1.ClusterService_UpdateConfig_FullMethodName, "set_config", func(*visit) proto.Message {
		return &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{WaitThresholdMs: new(int64(900))}}
	}},
	{snowraftv1.ClusterService_ResetObservedClock_FullMethodName, "observe_clock", func(*visit) proto.Message {
		return &snowraftv1.ResetObservedClockRequest{}
	}},
	{snowraftv1.OperationsService_AcknowledgeRestore_FullMethodName, "acknowledge_restore", func(*visit) proto.Message {
		return &snowraftv1.AcknowledgeRestoreRequest{}
	}},
	{snowraftv1.TokenService_CreateToken_FullMethodName, "create_token", func(v *visit) proto.Message {
		return &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{Name: v.name, Scopes: []string{"ids:issue:*"}}}
	}},
	{snowraftv1.TokenService_UpdateToken_FullMethodName, "update_token", func(v *visit) proto.Message {
		return &snowraftv1.UpdateTokenRequest{Token: v.name, Changes: &snowraftv1.Token{Rate: 7}}
	}},
	{snowraftv1.TokenService_DeleteToken_FullMethodName, "delete_token", func(v *visit) proto.Message {
		return &snowraftv1.DeleteTokenRequest{Token: v.name}
	}},
}

// others are the methods that change the cluster and are not in proposings.
var others = map[string]string{
	snowraftv1.OperationsService_Supersede_FullMethodName:       "proposed like AcknowledgeRestore, by restored clusters only",
	snowraftv1.SequenceService_StreamNumbers_FullMethodName:     "carries NextNumbers, which TestActorsOfCommands calls so too",
	snowraftv1.ClusterService_RemoveMember_FullMethodName:       "called at the end",
	snowraftv1.ClusterService_Leave_FullMethodName:              "called at the end",
	snowraftv1.OperationsService_SealCluster_FullMethodName:     "called at the end",
	snowraftv1.ClusterService_AddMember_FullMethodName:          "proposes no command",
	snowraftv1.ClusterService_TransferLeadership_FullMethodName: "proposes no command",
	snowraftv1.OperationsService_FinalizeUpgrade_FullMethodName: "proposes a command only to a newer version",
}

// bySelf are the commands that members also propose for themselves.
var bySelf = map[string]bool{
	"acquire_worker": true, "extend_window": true, "release_worker": true, "allocate_block": true, "return_block": true, "observe_clock": true,
	"checkpoint": true, "lead": true, "raise_version": true, // a leader proposes the last two some time after its election
}

// call makes a call of a method over gRPC.
func (v *visit) call(method string, req proto.Message) (proto.Message, error) {
	reply := rpc.RuleOf(method).Reply()
	return reply, v.conn.Invoke(as(v.t.Context(), v.by.token), method, req, reply)
}

// callJSON makes a call of a method as JSON over HTTP.
func (v *visit) callJSON(method string, req proto.Message) (proto.Message, error) {
	reply := rpc.RuleOf(method).Reply()
	verb, path, body := inJSON(v.t, method, req)
	raw, err := v.send(v.by.token, verb, path, body)
	if err != nil {
		return reply, err
	}
	return reply, apijson.Unmarshal(raw, reply)
}

// inJSON returns a call as an HTTP request.
func inJSON(t *testing.T, method string, req proto.Message) (verb, path, body string) {
	t.Helper()
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(method[1:], "/", ".")))
	if err != nil {
		t.Fatal(err)
	}
	rule, _ := proto.GetExtension(found.Options(), annotations.E_Http).(*annotations.HttpRule)
	switch pattern := rule.GetPattern().(type) {
	case *annotations.HttpRule_Post:
		verb, path = http.MethodPost, pattern.Post
	case *annotations.HttpRule_Patch:
		verb, path = http.MethodPatch, pattern.Patch
	case *annotations.HttpRule_Delete:
		verb, path = http.MethodDelete, pattern.Delete
	default:
		t.Fatalf("%s has the pattern %v", method, pattern)
	}
	m := req.ProtoReflect()
	field := func(in protoreflect.Message, name string) protoreflect.Value {
		return in.Get(in.Descriptor().Fields().ByName(protoreflect.Name(name)))
	}
	path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllStringFunc(path, func(variable string) string {
		in, name := m, strings.TrimSuffix(strings.Trim(variable, "{}"), "=**")
		if outer, inner, ok := strings.Cut(name, "."); ok {
			in, name = field(m, outer).Message(), inner
		}
		return url.PathEscape(field(in, name).String())
	})
	switch rule.GetBody() {
	case "":
		return verb, path, ""
	case "*":
	default:
		req = field(m, rule.GetBody()).Message().Interface()
	}
	raw, err := protojson.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return verb, path, string(raw)
}

// incr makes the Redis command INCR of a new key.
func (v *visit) incr(key string) error {
	conn := reach(v.t, v.redis)
	if v.config != nil {
		conn = tls.Client(conn, v.config)
	}
	defer conn.Close()
	lines := []string{"INCR " + key}
	if v.by.token != "" {
		lines = append([]string{"AUTH " + v.by.token}, lines...)
	}
	if got := redisSays(v.t, conn, lines...); got[len(got)-1] != ":1" {
		return fmt.Errorf("answers of Redis: %q", got)
	}
	return nil
}

// deed is a call with the range of the log that its commands are in.
type deed struct {
	what, command string
	by            party
	after, last   uint64
	err           error
}

// clerk notes deeds.
type clerk struct {
	leads *node
	deeds []deed
}

func (c *clerk) note(what, command string, by party, call func() error) {
	d := deed{what: what, command: command, by: by, after: c.leads.server.Member().State().Applied()}
	d.err = call()
	d.last = c.leads.server.Member().State().Applied()
	c.deeds = append(c.deeds, d)
}

// judge reads the log of the leader, which it stops. Each deed must have its command, by its caller, and commands of no other
// caller.
func (c *clerk) judge(t *testing.T) {
	t.Helper()
	c.leads.stop()
	commands := commandsOf(t, c.leads)
	for _, d := range c.deeds {
		done := false
		for index := d.after + 1; index <= d.last; index++ {
			cmd, ok := commands[index]
			if !ok {
				continue // an entry of Raft
			}
			name, a := string(cmd.ProtoReflect().WhichOneof(cmd.ProtoReflect().Descriptor().Oneofs().ByName("body")).Name()), cmd.GetActor()
			switch {
			case a == nil && bySelf[name], a.GetKind() == commandv1.ActorKind_ACTOR_KIND_MEMBER: // a member's own, such as a layout for Thrift
			case a.GetKind() != d.by.kind || a.GetToken() != d.by.id:
				t.Errorf("%s: the actor of %s is %v, want %v of token %d", d.what, name, a, d.by.kind, d.by.id)
			case a.GetJudgedAt() >= index || d.by.id != 0 && a.GetJudgedAt() == 0:
				t.Errorf("%s: %s at %d was judged at %d", d.what, name, index, a.GetJudgedAt())
			default:
				done = done || name == d.command
			}
		}
		if !done {
			t.Errorf("%s: the log has no %s of the caller; the call returned %v", d.what, d.command, d.err)
		}
	}
}

// TestActorsOfCommands calls every method that proposes a command, over every protocol and at every process. The state machine
// must learn who called.
func TestActorsOfCommands(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("secured %v", secure), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) { actorsOfCommands(t, secure) })
		})
	}
}

func actorsOfCommands(t *testing.T, secure bool) {
	w := openTown(t, secure, "ids:backfill:*", "seq:next:*", "seq:read:*", "seq:admin:*", "worker:lease:*", "cluster:admin", "tokens:admin")
	var visits []*visit
	for _, p := range w.places {
		for _, by := range w.callers {
			visits = append(visits, &visit{place: p, by: by})
		}
	}
	for _, p := range w.admins {
		visits = append(visits, &visit{place: p, by: party{kind: commandv1.ActorKind_ACTOR_KIND_ADMIN}})
	}
	c := &clerk{leads: w.leads}
	create := snowraftv1.AutoCreate_AUTO_CREATE_STRICT
	config := &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{RedisCreate: &create}}
	if _, err := visits[0].call(snowraftv1.ClusterService_UpdateConfig_FullMethodName, config); err != nil {
		t.Fatal(err)
	}
	for i, v := range visits {
		for protocol, call := range map[string]func(string, proto.Message) (proto.Message, error){"gRPC": v.call, "JSON": v.callJSON} {
			v.name = fmt.Sprint(v.place.name, "-", protocol, "-", i)
			for _, m := range proposings {
				if !secure && strings.Contains(m.method, "TokenService") {
					continue // an open cluster changes no tokens
				}
				c.note(v.name+" "+m.method, m.command, v.by, func() error {
					reply, err := call(m.method, m.request(v))
					if granted, ok := reply.(interface{ GetGrant() *snowraftv1.Grant }); ok {
						v.worker = granted.GetGrant()
					}
					return err
				})
			}
		}
		for _, way := range []string{"a stream", "HTTP"} {
			c.note(fmt.Sprintf("%d at the %s by %s", i, v.place.name, way), "allocate_block", v.by, func() error {
				_, err := ways[way](v.place, v.by.token, "strict", fmt.Sprint(way, i))
				return err
			})
		}
		if v.by.kind == commandv1.ActorKind_ACTOR_KIND_ADMIN {
			continue // Redis has no certificates of administrators
		}
		c.note(fmt.Sprintf("%d at the %s by Redis", i, v.place.name), "create_sequence", v.by, func() error { return v.incr(fmt.Sprint("redis-", i)) })
	}
	last := visits[len(w.places)*len(w.callers)-1] // at the gateway
	c.note("RemoveMember", "remove_member", last.by, func() error {
		_, err := last.call(snowraftv1.ClusterService_RemoveMember_FullMethodName,
			&snowraftv1.RemoveMemberRequest{Member: except(w.nodes, w.leads, w.follows)[0].server.MemberID()})
		return err
	})
	leaver := visits[len(w.callers)] // at the follower
	c.note("Leave", "remove_member", leaver.by, func() error {
		_, err := leaver.callJSON(snowraftv1.ClusterService_Leave_FullMethodName, &snowraftv1.LeaveRequest{})
		return err
	})
	c.note("SealCluster", "seal", last.by, func() error {
		_, err := last.call(snowraftv1.OperationsService_SealCluster_FullMethodName, &snowraftv1.SealClusterRequest{})
		return err
	})
	c.judge(t)
}

// TestActorsOfAllMethods compares the methods of TestActorsOfCommands with the API.
func TestActorsOfAllMethods(t *testing.T) {
	t.Parallel()
	tested := make(map[string]bool)
	for _, m := range proposings {
		tested[m.method] = true
	}
	for rule := range rpc.Rules() {
		if _, other := others[rule.Method]; rule.GetChanges() != (other || tested[rule.Method]) {
			t.Errorf("%s changes the cluster: %v; add it to proposings or others", rule.Method, rule.GetChanges())
		}
	}
}
