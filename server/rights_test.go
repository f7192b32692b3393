package server_test

import (
	"context"
	"strings"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// caller is a caller of every method.
type caller struct {
	name  string
	conn  *grpc.ClientConn
	text  string   // token
	scope []string // scopes of a valid token; nil otherwise
	// all reports whether the caller has every right, with or without the calls between members.
	all, members bool
	known        bool // the token or certificate is valid
}

// wants returns the expected reason of a refusal; empty if the call is allowed. It states the meaning of scopes a second time,
// in simple form.
func (c caller) wants(right, resource string) string {
	switch {
	case c.all && (right != "member" || c.members):
		return ""
	case !c.known:
		return rpc.Unauthenticated
	case right == "any":
		return ""
	}
	for _, scope := range c.scope {
		if resource == "" && scope == right || resource != "" && (scope == right+":*" || scope == right+":"+resource || scope == right+":"+resource[:1]+"*") {
			return ""
		}
	}
	return rpc.PermissionDenied
}

// requestOf returns a request of a method for a resource. The request changes nothing: the request of a method that changes the
// state has a field that no member knows.
func requestOf(t *testing.T, rule *rpc.Rule, resource string) proto.Message {
	t.Helper()
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(strings.ReplaceAll(rule.Method[1:], "/", ".")))
	if err != nil {
		t.Fatal(err)
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(found.(protoreflect.MethodDescriptor).Input().FullName())
	if err != nil {
		t.Fatal(err)
	}
	m := kind.New()
	if rule.GetResource() != "" {
		at, names := m, strings.Split(rule.GetResource(), ".")
		for _, name := range names[:len(names)-1] {
			at = at.Mutable(at.Descriptor().Fields().ByName(protoreflect.Name(name))).Message()
		}
		at.Set(at.Descriptor().Fields().ByName(protoreflect.Name(names[len(names)-1])), protoreflect.ValueOfString(resource))
	}
	if rule.GetChanges() {
		m.SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 9999, protowire.VarintType), 1))
	}
	if id := m.Descriptor().Fields().ByName("id"); id != nil && id.Kind() == protoreflect.Uint64Kind {
		m.Set(id, protoreflect.ValueOfUint64(1)) // a stream refuses 0
	}
	return m.Interface()
}

// invoke makes a call, or the first request of a stream.
func (c caller) invoke(ctx context.Context, rule *rpc.Rule, req proto.Message) error {
	ctx, cancel := context.WithTimeout(as(ctx, c.text), patience)
	defer cancel()
	switch rule.Method {
	case snowraftv1.IdService_StreamIds_FullMethodName, snowraftv1.SequenceService_StreamNumbers_FullMethodName,
		snowraftv1.OperationsService_Backup_FullMethodName, snowraftv1.OperationsService_Debug_FullMethodName,
		snowraftv1.ViewService_WatchOverview_FullMethodName:
	default:
		return c.conn.Invoke(ctx, rule.Method, req, rule.Reply())
	}
	stream, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, rule.Method)
	if err != nil {
		return err
	}
	_ = stream.SendMsg(req) // RecvMsg returns the error
	_ = stream.CloseSend()
	reply := rule.Reply()
	err = stream.RecvMsg(reply)
	if carried, ok := reply.(interface{ GetError() *spb.Status }); ok && err == nil { // error of the request, not of the stream
		err = status.ErrorProto(carried.GetError())
	}
	return err
}

// callers returns callers without a token, with invalid tokens, and with each scope alone. A scope with a resource has one
// caller per resource.
func (s *secured) callers(resources ...string) []caller {
	s.t.Helper()
	conn := s.nodes[0].conn
	revoked, id := s.token("revoked", "ids:issue:*", "tokens:admin")
	if _, err := s.nodes[0].server.Member().DeleteToken(s.t.Context(), id, nil); err != nil {
		s.t.Fatal(err)
	}
	expired := s.tokenUntil("expired", 1, "ids:issue:*", "tokens:admin")
	other, _ := s.token("other", "ids:issue:*", "tokens:admin")
	all := []caller{
		{name: "nobody", conn: conn},
		{name: "malformed", conn: conn, text: "hunter2"},
		{name: "wrong secret", conn: conn, text: trust.Token{ID: id + 1, Secret: trust.NewTokenSecret()}.Text()},
		{name: "wrong checksum", conn: conn, text: other[:len(other)-1] + "7"}, // no checksum ends so
		{name: "revoked", conn: conn, text: revoked},
		{name: "expired", conn: conn, text: expired},
	}
	scopes := []string{trust.RightReadMetrics, trust.RightReadCluster, trust.RightAdminCluster, trust.RightAdminTokens, trust.RightVerifyTokens}
	for _, right := range []string{trust.RightIssueIDs, trust.RightNextNumbers, trust.RightReadSequence, trust.RightAdminSequence, trust.RightLeaseWorker} {
		for _, name := range resources {
			scopes = append(scopes, right+":"+name)
		}
	}
	for _, scope := range scopes {
		text, _ := s.token(scope, scope)
		all = append(all, caller{name: scope, conn: conn, text: text, known: true, scope: []string{scope}})
	}
	return all
}

// The test calls every method with every kind of caller. The rules of the methods are the table.
func TestEveryMethodJudgesEveryCaller(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		peer := s.keys.MemberClient("11111111-1111-1111-1111-111111111111")
		peer.NextProtos = []string{"h2"}
		memberConn := connect(t, n.server.APIAddr(), grpc.WithTransportCredentials(credentials.NewTLS(peer)))
		defer func() { _ = memberConn.Close() }()
		callers := append(s.callers("default", "d*", "*", "other"),
			caller{name: "admin", conn: s.admin(n), all: true, known: true},
			caller{name: "member", conn: memberConn, all: true, members: true, known: true})
		calls := 0
		for rule := range rpc.Rules() {
			resource := ""
			if trust.TakesResource(rule.GetRight()) {
				if resource = "*"; rule.GetResource() != "" {
					resource = "default"
				}
			}
			req := requestOf(t, rule, "default")
			for _, c := range callers {
				calls++
				got := rpc.FromError(c.invoke(t.Context(), rule, req))
				want := c.wants(rule.GetRight(), resource)
				refused := got.Reason == rpc.Unauthenticated || got.Reason == rpc.PermissionDenied
				if want == "" && (refused || got.Code == codes.Unimplemented || got.Code == codes.Unavailable) || want != "" && got.Reason != want {
					t.Errorf("%s by %s: %s %s, want reason %q", rule.Method, c.name, got.Code, got.Message, want)
				}
				if want == rpc.PermissionDenied && rule.GetRight() != trust.RightMember && !strings.Contains(got.Message, rule.GetRight()) {
					t.Errorf("%s by %s: %q does not name the scope %s", rule.Method, c.name, got.Message, rule.GetRight())
				}
			}
		}
		if calls < 30*len(callers) {
			t.Errorf("%d calls", calls)
		}
	})
}

// tokenUntil is token with an expiry, in Unix ms.
func (s *secured) tokenUntil(name string, expires int64, scopes ...string) (text string) {
	s.t.Helper()
	text, _ = s.create(member.TokenSpec{Name: name, Scopes: scopes, ExpiresAtMillis: expires})
	return text
}

// Callers without a token have the scopes of the record "anonymous".
func TestAnonymousCallersHaveScopes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		_, err := n.ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{})
		wantReason(t, "at first", err, rpc.Unauthenticated)
		_, err = snowraftv1.NewTokenServiceClient(s.admin(n)).UpdateToken(t.Context(), &snowraftv1.UpdateTokenRequest{
			Token: "anonymous", Changes: &snowraftv1.Token{Scopes: []string{"ids:issue:default", "worker:lease:default"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{})
		wantReason(t, "with the scope", err, "")
		_, err = n.ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{Layout: "other"})
		wantReason(t, "of another layout", err, rpc.Unauthenticated)
		_, err = n.ids.GenerateIds(as(t.Context(), "hunter2"), &snowraftv1.GenerateIdsRequest{})
		wantReason(t, "with a token that is not valid", err, rpc.Unauthenticated)
	})
}

// Thrift carries no token, so its callers have the scopes of the record "anonymous" too.
func TestThriftCallersAreAnonymous(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startPorts(t, 1, false)
		n := s.nodes[0]
		until(t, "the refusal names the scope", func() bool {
			return strings.Contains(thriftFailure(t, n.server.ThriftAddr()), trust.RightIssueIDs+":twitter")
		})
		_, err := snowraftv1.NewTokenServiceClient(s.admin(n)).UpdateToken(t.Context(), &snowraftv1.UpdateTokenRequest{
			Token: fsm.AnonymousToken, Changes: &snowraftv1.Token{Scopes: []string{trust.RightIssueIDs + ":twitter"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		thriftID(t, n.server.ThriftAddr())
	})
}

func TestHealthIsOpenAndReflectionIsNot(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		for _, text := range []string{"", "hunter2"} {
			if health, err := grpc_health_v1.NewHealthClient(n.conn).Check(as(t.Context(), text), nil); err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
				t.Errorf("Check() = %v, %v", health, err)
			}
		}
		text, _ := s.token("read", "metrics:read")
		for token, want := range map[string]codes.Code{"": codes.Unauthenticated, text: codes.OK} {
			stream, err := n.conn.NewStream(as(t.Context(), token), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
			if err != nil {
				t.Fatal(err)
			}
			_ = stream.SendMsg(&snowraftv1.GetStatusRequest{})
			if err := stream.RecvMsg(&snowraftv1.GetStatusResponse{}); status.Code(err) != want && (want != codes.OK || status.Code(err) == codes.Unauthenticated) {
				t.Errorf("reflection with token %v: %v", token != "", err)
			}
		}
	})
}

// Every token may list the facts that clients need to find members. The addresses within the cluster and the fingerprints of its
// secrets require the right to the status.
func TestListMembersShowsByRight(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		issues, _ := s.token("issues", "ids:issue:*")
		reads, _ := s.token("reads", "cluster:read")
		admin := snowraftv1.NewClusterServiceClient(s.admin(n))
		for name, tc := range map[string]struct {
			from  snowraftv1.ClusterServiceClient
			text  string
			shown bool
		}{"issues": {n.cluster, issues, false}, "reads": {n.cluster, reads, true}, "admin": {admin, "", true}} {
			resp, err := tc.from.ListMembers(as(t.Context(), tc.text), &snowraftv1.ListMembersRequest{})
			if err != nil || len(resp.GetMembers()) != 1 {
				t.Fatalf("%s: %v, %v", name, resp, err)
			}
			m := resp.GetMembers()[0]
			if m.GetId() == "" || m.GetName() != n.cfg.Name || m.GetApiAddress() != n.server.APIAddr() || !m.GetLeader() || !m.GetAlive() {
				t.Errorf("%s: clients need more than %v", name, m)
			}
			for field, shown := range map[string]bool{
				"raft_address": m.GetRaftAddress() != "", "gossip_address": m.GetGossipAddress() != "", "secret_fingerprints": len(m.GetSecretFingerprints()) > 0,
			} {
				if shown != tc.shown {
					t.Errorf("%s: %s is shown: %v", name, field, shown)
				}
			}
		}
	})
}
