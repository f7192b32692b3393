package server_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// secured is a cluster with a secret. Its clients use no TLS, unless a test dials with TLS.
type secured struct {
	t     *testing.T
	keys  *trust.Keys
	nodes []*node
	log   *lockedBuilder // the audit log of all members
}

// lockedBuilder is a strings.Builder that several goroutines write to.
type lockedBuilder struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuilder) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func startSecured(t *testing.T, size int) *secured {
	t.Helper()
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	s := &secured{t: t, keys: keys, log: &lockedBuilder{}}
	s.nodes = startCluster(t, size, func(cfg *server.Config) {
		cfg.Keys = keys
		cfg.AuditLog = trust.NewAuditLog(s.log, cfg.Logger)
	})
	return s
}

// atLeader calls a function with the leader, and with the next leader if the first no longer leads.
func (s *secured) atLeader(do func(*member.Member) error) {
	s.t.Helper()
	until(s.t, "the leader executes the change", func() bool {
		err := do(leader(s.t, s.nodes).server.Member())
		if err != nil && !errors.Is(err, cluster.ErrNotLeader) {
			s.t.Fatal(err)
		}
		return err == nil
	})
}

// create creates a token and returns its text and ID.
func (s *secured) create(spec member.TokenSpec) (text string, id uint64) {
	s.t.Helper()
	secret := trust.NewTokenSecret()
	spec.Hash = trust.HashTokenSecret(secret)
	s.atLeader(func(m *member.Member) error {
		made, err := m.CreateToken(s.t.Context(), spec)
		if err == nil {
			id = made.Token.ID
		}
		return err
	})
	return trust.Token{ID: id, Secret: secret}.Text(), id
}

// token creates a token and returns its text and ID.
func (s *secured) token(name string, scopes ...string) (text string, id uint64) {
	s.t.Helper()
	return s.create(member.TokenSpec{Name: name, Scopes: scopes})
}

// as returns a context of calls with a token; without one if the text is empty.
func as(ctx context.Context, text string) context.Context {
	if text == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+text)
}

// admin returns a connection of the holder of the secret.
func (s *secured) admin(n *node) *grpc.ClientConn {
	s.t.Helper()
	config, err := trust.ClientTLS{Keys: s.keys}.Config()
	if err != nil {
		s.t.Fatal(err)
	}
	conn := connect(s.t, n.server.APIAddr(), grpc.WithTransportCredentials(credentials.NewTLS(config)))
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func wantReason(t *testing.T, what string, err error, want string) {
	t.Helper()
	if got := rpc.FromError(err).Reason; got != want || (err == nil) != (want == "") {
		t.Errorf("%s: %v, want reason %q", what, err, want)
	}
}

func TestSecuredClusterJudgesCalls(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		issue, id := s.token("issue", "ids:issue:default")
		other := trust.Token{ID: id, Secret: trust.NewTokenSecret()}.Text()
		orders, _ := s.token("orders", "seq:*", "seq:next:orders/*", "seq:admin:orders/*")
		for _, n := range s.nodes {
			ctx := t.Context()
			_, err := n.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{})
			wantReason(t, "without a token", err, rpc.Unauthenticated)
			_, err = n.ids.GenerateIds(as(ctx, issue), &snowraftv1.GenerateIdsRequest{})
			wantReason(t, "with the scope", err, "")
			_, err = n.ids.GenerateIds(as(ctx, other), &snowraftv1.GenerateIdsRequest{})
			wantReason(t, "with another secret", err, rpc.Unauthenticated)
			_, err = n.ids.GenerateIds(as(ctx, orders), &snowraftv1.GenerateIdsRequest{})
			wantReason(t, "with another scope", err, rpc.PermissionDenied)

			name := "orders/" + n.cfg.Name
			create := &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: name}}
			_, err = n.sequences.CreateSequence(as(ctx, issue), create)
			wantReason(t, "CreateSequence without the scope", err, rpc.PermissionDenied)
			_, err = n.sequences.CreateSequence(as(ctx, orders), create)
			wantReason(t, "CreateSequence with the scope", err, "")
			next := &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1}
			_, err = n.sequences.NextNumbers(as(ctx, issue), next)
			wantReason(t, "NextNumbers without the scope", err, rpc.PermissionDenied)
			_, err = n.sequences.NextNumbers(as(ctx, orders), next)
			wantReason(t, "NextNumbers with the scope", err, "")

			caller, err := n.server.As(ctx, issue)
			wantReason(t, "verification of a token", err, "")
			_, err = n.server.Create(caller, "unknown")
			wantReason(t, "INCR of an unknown key with redis_create off, without the right to read the configuration", err, "")

			admin := snowraftv1.NewClusterServiceClient(s.admin(n))
			_, err = admin.UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{WaitThresholdMs: new(int64(900))}})
			wantReason(t, "UpdateConfig by the holder of the secret", err, "")
		}
	})
}

func TestRevocationEndsCalls(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		text, id := s.token("issue", "ids:issue:*")
		follower := s.nodes[0]
		if follower.leads() {
			follower = s.nodes[1]
		}
		stream, err := follower.ids.StreamIds(as(t.Context(), text))
		if err != nil {
			t.Fatal(err)
		}
		ask := func() error {
			if err := stream.Send(&snowraftv1.StreamIdsRequest{Id: 1}); err != nil {
				return err
			}
			resp, err := stream.Recv()
			return cmp.Or(err, status.ErrorProto(resp.GetError()))
		}
		if err := ask(); err != nil {
			t.Fatal(err)
		}
		var index uint64
		s.atLeader(func(m *member.Member) (err error) {
			index, err = m.DeleteToken(t.Context(), id, nil)
			return err
		})
		if err := follower.server.Member().State().AwaitApplied(t.Context(), index); err != nil {
			t.Fatal(err)
		}
		wantReason(t, "a stream that is open", ask(), rpc.Unauthenticated)
		_, err = follower.ids.GenerateIds(as(t.Context(), text), &snowraftv1.GenerateIdsRequest{})
		wantReason(t, "another call", err, rpc.Unauthenticated)
	})
}

// A leader rejects a token that no command has created. A leader that has lost its followers does not know whether another one
// has created the token meanwhile.
func TestLeaderConfirmsThatATokenDoesNotExist(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		leads := leader(t, s.nodes)
		ask := func() error {
			later := trust.Token{ID: leads.server.Member().Node().LastIndex() + 1000, Secret: trust.NewTokenSecret()}.Text()
			_, err := leads.ids.GenerateIds(as(t.Context(), later), &snowraftv1.GenerateIdsRequest{})
			return err
		}
		wantReason(t, "at the leader", ask(), rpc.Unauthenticated)
		for _, n := range except(s.nodes, leads) {
			n.crash()
		}
		if !leads.leads() {
			t.Fatal("the leader gave up before the call")
		}
		wantReason(t, "at a leader without followers", ask(), rpc.NoLeader)
	})
}

// A client's metadata about forwarding has no effect.
func TestForgedForwardingIsIgnored(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		text, _ := s.token("read", "cluster:read")
		forged := metadata.AppendToOutgoingContext(as(t.Context(), text), rpc.ForwardedBy, n.server.MemberID(), rpc.ForwardedInto, "another", rpc.ForwardedFor, "admin")
		_, err := n.cluster.ResetObservedClock(forged, &snowraftv1.ResetObservedClockRequest{})
		wantReason(t, "ResetObservedClock", err, rpc.PermissionDenied)
		_, err = n.cluster.GetStatus(forged, &snowraftv1.GetStatusRequest{})
		wantReason(t, "GetStatus", err, "")
		crossed := metadata.AppendToOutgoingContext(t.Context(), "snowraft-crossed", "1")
		_, err = n.cluster.GetStatus(crossed, &snowraftv1.GetStatusRequest{})
		wantReason(t, "GetStatus", err, rpc.Unauthenticated)
	})
}

func TestUnknownMethodIsDenied(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		err := s.nodes[0].conn.Invoke(t.Context(), "/snowraft.v1.IdService/Unknown", &snowraftv1.GetStatusRequest{}, &snowraftv1.GetStatusResponse{})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("an unknown method: %v", err)
		}
	})
}

// The member that takes a call and the leader each write a line, with the same index and without a secret.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 3)
		taker := s.nodes[0]
		if taker.leads() {
			taker = s.nodes[1]
		}
		text, _ := s.token("orders", "seq:admin:orders/*")
		made, err := snowraftv1.NewTokenServiceClient(s.admin(taker)).CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{Name: "marked", Scopes: []string{"cluster:read"}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{"{seq:01}", "{seq:02}"} {
			sequence := &snowraftv1.Sequence{Name: "orders/eu", Format: format}
			if format == "{seq:01}" {
				_, err = taker.sequences.CreateSequence(as(t.Context(), text), &snowraftv1.CreateSequenceRequest{Sequence: sequence})
			} else {
				_, err = taker.sequences.UpdateSequence(as(t.Context(), text), &snowraftv1.UpdateSequenceRequest{Sequence: sequence})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err = taker.cluster.Leave(as(t.Context(), text), &snowraftv1.LeaveRequest{})
		wantReason(t, "Leave", err, rpc.PermissionDenied)

		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+taker.server.HTTPAddr()+"/v1/leader:transfer", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+text)
		resp, err := browser(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()

		if _, err := snowraftv1.NewTokenServiceClient(s.admin(taker)).ListTokens(t.Context(), &snowraftv1.ListTokensRequest{}); err != nil {
			t.Fatal(err)
		}

		found := make(map[string][]trust.AuditLine)
		for line := range strings.Lines(s.log.String()) {
			var l trust.AuditLine
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			_, method, _ := strings.Cut(l.Method, "/")
			found[method] = append(found[method], l)
		}
		for method, want := range map[string]trust.AuditLine{
			"CreateToken":    {Actor: "admin", Resource: "marked", Outcome: trust.AuditDone},
			"CreateSequence": {Actor: "token ", Resource: "orders/eu", Outcome: trust.AuditDone},
			"UpdateSequence": {Actor: "token ", Resource: "orders/eu", Outcome: trust.AuditDone, Before: json.RawMessage("{seq:01}")},
			"Leave":          {Actor: "token ", Outcome: trust.AuditRefused, Reason: rpc.PermissionDenied},
			// over HTTP
			"TransferLeadership": {Actor: "token ", Outcome: trust.AuditRefused, Reason: rpc.PermissionDenied},
		} {
			lines := found[method]
			if want.Outcome == trust.AuditDone && (len(lines) != 2 || lines[0].Index == 0 || lines[0].Index != lines[1].Index || len(lines[0].After) == 0) ||
				want.Outcome == trust.AuditRefused && len(lines) != 1 {
				t.Errorf("%s: %+v", method, lines)
			}
			for _, l := range lines {
				if !strings.HasPrefix(l.Actor, want.Actor) || l.Resource != want.Resource || l.Outcome != want.Outcome || l.Reason != want.Reason ||
					!strings.Contains(string(l.Before), string(want.Before)) || !strings.HasPrefix(l.Address, "127.0.0.1:") || l.Time.IsZero() {
					t.Errorf("%s: %+v, want %+v", method, l, want)
				}
			}
		}
		if lines := found["ListTokens"]; len(lines) != 1 || lines[0].After != nil {
			t.Errorf("ListTokens: %+v, want a line without the tokens", lines)
		}
		token, err := trust.ParseToken(made.GetText())
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{made.GetText(), text, fmt.Sprintf("%x", token.Secret), base64.StdEncoding.EncodeToString(token.Secret[:])} {
			if strings.Contains(s.log.String(), secret) {
				t.Errorf("the audit log has a secret")
			}
		}
	})
}
