package console_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/console"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// cluster is a fake of the services that a console reads. set sends an overview to all watchers.
type cluster struct {
	snowraftv1.UnimplementedViewServiceServer

	mu       sync.Mutex
	overview *snowraftv1.Overview
	err      error
	changed  chan struct{} // closed by the next set
	watchers int           // open calls of WatchOverview
	watched  int           // all of them
	listed   int           // calls of ListEvents
	held     time.Duration // ListEvents answers after it
	failing  error         // error of ListSequenceViews
}

func (c *cluster) set(overview *snowraftv1.Overview, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overview, c.err = overview, err
	close(c.changed)
	c.changed = make(chan struct{})
}

// fail makes the lists of sequences fail; nil ends that.
func (c *cluster) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing = err
}

func (c *cluster) newest() (*snowraftv1.Overview, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return proto.CloneOf(c.overview), c.changed, c.err
}

func (c *cluster) GetOverview(_ context.Context, _ *snowraftv1.GetOverviewRequest) (*snowraftv1.GetOverviewResponse, error) {
	o, _, err := c.newest()
	return &snowraftv1.GetOverviewResponse{Overview: o}, rpcError(err)
}

func (c *cluster) WatchOverview(_ *snowraftv1.WatchOverviewRequest, stream grpc.ServerStreamingServer[snowraftv1.WatchOverviewResponse]) error {
	c.mu.Lock()
	c.watchers++
	c.watched++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.watchers--
		c.mu.Unlock()
	}()
	for {
		o, changed, err := c.newest()
		if err != nil {
			return rpcError(err)
		}
		if err := stream.Send(&snowraftv1.WatchOverviewResponse{Overview: o}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

// watching returns the number of open watches.
func (c *cluster) watching() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watchers
}

// calls returns the number of all watches.
func (c *cluster) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watched
}

// hold makes ListEvents wait before it answers.
func (c *cluster) hold(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = d
}

func rpcError(err error) error {
	if err == nil {
		return nil
	}
	return rpc.FromError(err).GRPCStatus().Err()
}

// healthy returns the overview of three members with the leader b.
func healthy() *snowraftv1.Overview {
	const at = 1_800_000_000_000
	o := &snowraftv1.Overview{
		ClusterId: "c1", ComposedBy: "a", ComposedAtMs: at, LeaderName: "b", Term: 7, WaitThresholdMs: 1000, MaxClockOffsetMs: 500,
		ObservedClockAtMs: at - 5, Quorum: &snowraftv1.Quorum{Voters: 3, Alive: 3, MayFail: 1},
		Verdict: &snowraftv1.Verdict{
			Level: snowraftv1.VerdictLevel_VERDICT_LEVEL_GOOD, ServesUntilAtMs: at + 500_000,
			Sentence: "3 of 3 members are issuing IDs; b leads; the cluster tolerates one failure; without quorum each continues until 12:14 UTC.",
		},
	}
	for _, name := range []string{"a", "b", "c"} {
		o.Members = append(o.Members, &snowraftv1.MemberView{
			Member:  &snowraftv1.Member{Id: "id-" + name, Name: name, Role: snowraftv1.MemberRole_MEMBER_ROLE_VOTER, Leader: name == "b", Alive: true, Version: "v9"},
			Answers: true, SeenAtMs: at, ClockAtMs: at, ServesUntilAtMs: at + 500_000, Encrypted: true, IdsPerSecond: proto.Float64(100),
			Lanes: []*snowraftv1.Lane{{Layout: "default", Worker: 3, ServeUntilAtMs: at + 500_000}},
		})
	}
	return o
}

// rig is a console over a fake cluster.
type rig struct {
	t         *testing.T
	cluster   *cluster
	ids       *ids
	layouts   *layouts
	documents *documents
	console   *console.Console
}

func newRig(t *testing.T, change ...func(*console.Config)) *rig {
	t.Helper()
	r := &rig{t: t, cluster: &cluster{overview: healthy(), changed: make(chan struct{})}}
	l := bufconn.Listen(64 << 10)
	g := grpc.NewServer()
	snowraftv1.RegisterViewServiceServer(g, r.cluster)
	r.ids, r.layouts = &ids{}, &layouts{}
	snowraftv1.RegisterIdServiceServer(g, r.ids)
	snowraftv1.RegisterLayoutServiceServer(g, r.layouts)
	snowraftv1.RegisterWorkerServiceServer(g, workers{})
	r.documents = &documents{}
	snowraftv1.RegisterBackfillServiceServer(g, backfills{})
	snowraftv1.RegisterSequenceServiceServer(g, sequences{documents: r.documents})
	snowraftv1.RegisterReservationServiceServer(g, reservations{documents: r.documents})
	snowraftv1.RegisterTemplateServiceServer(g, templates{})
	go g.Serve(l)
	t.Cleanup(g.Stop) // after the console has closed
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	cfg := console.Config{What: "member", Version: "v9", Conn: conn, Watch: watch(conn), Logger: slog.New(slog.DiscardHandler), Authenticate: func(*http.Request, string) (*trust.Principal, error) { return trust.Open(), nil }}
	for _, c := range change {
		c(&cfg)
	}
	if r.console, err = console.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.console.Close)
	return r
}

// watch returns the function that watches overviews over a connection.
func watch(conn grpc.ClientConnInterface) func(context.Context, func(*snowraftv1.Overview) error) error {
	return func(ctx context.Context, send func(*snowraftv1.Overview) error) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := snowraftv1.NewViewServiceClient(conn).WatchOverview(ctx, &snowraftv1.WatchOverviewRequest{})
		for err == nil {
			var resp *snowraftv1.WatchOverviewResponse
			if resp, err = stream.Recv(); err == nil {
				err = send(resp.GetOverview())
			}
		}
		return err
	}
}

// ask serves a request that shows the present. headers are "Name: value".
func (r *rig) ask(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	r.console.Forget()
	return r.visit(method, target, body, headers...)
}

// visit serves a request, which may show what another viewer got.
func (r *rig) visit(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r.t.Helper()
	req := httptest.NewRequest(method, target, strings.NewReader(body))
	req.Host = "a.example:7701"
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "TLS" {
			req.TLS = &tls.ConnectionState{}
			continue
		}
		req.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	_, _ = r.console.Serve(w, req)
	return w
}

// wants checks that a page contains texts, and does not contain those that begin with "!".
func (r *rig) wants(page string, texts ...string) {
	r.t.Helper()
	for _, text := range texts {
		text, absent := strings.CutPrefix(text, "!")
		if strings.Contains(page, text) == absent {
			r.t.Errorf("page has %q: %v, want %v\n%s", text, absent, !absent, page)
		}
	}
}

// table is a trust.Table with tokens 1, which reads the cluster, and 2, which issues IDs.
type table struct {
	mu       sync.Mutex
	revision uint64
	records  map[uint64]*trust.Record
}

func (t *table) TokenRevision() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.revision
}

func (t *table) Token(id uint64) (*trust.Record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.records[id]
	return r, ok
}

func (*table) Anonymous() *trust.Record                   { return &trust.Record{} }
func (*table) NeverIssued(uint64) bool                    { return true }
func (*table) AwaitApplied(context.Context, uint64) error { return nil }
func (*table) CaughtUp() bool                             { return true }
func (*table) NowMillis() int64                           { return time.Now().UnixMilli() }

// change replaces the record of a token; nil deletes it.
func (t *table) change(id uint64, r *trust.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.revision++
	if delete(t.records, id); r != nil {
		t.records[id] = r
	}
}

// judging checks the rights of calls, like the process.
type judging struct{ grpc.ClientConnInterface }

func (j judging) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if _, err := trust.PrincipalOf(ctx).Admit(kernel.Needed(rpc.RuleOf(method), args)); err != nil {
		return wire.Status(err)
	}
	return j.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

func (j judging) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if _, err := trust.PrincipalOf(ctx).Admit(kernel.Needed(rpc.RuleOf(method), nil)); err != nil {
		return nil, wire.Status(err)
	}
	return j.ClientConnInterface.NewStream(ctx, desc, method, opts...)
}

// secured returns a rig of a secured cluster, with the tokens of the table.
func secured(t *testing.T) (r *rig, tokens *table, reader, issuer string) {
	t.Helper()
	tokens = &table{records: make(map[uint64]*trust.Record)}
	text := func(id uint64, name string, scope trust.Scope) string {
		secret := trust.NewTokenSecret()
		tokens.change(id, &trust.Record{ID: id, Name: name, Hash: trust.HashTokenSecret(secret), Scopes: []trust.Scope{scope}})
		return trust.Token{ID: id, Secret: secret}.Text()
	}
	reader, issuer = text(1, "reader", trust.RightReadCluster), text(2, "issuer", "ids:issue:*")
	authorizer := trust.NewAuthorizer(tokens)
	r = newRig(t, func(cfg *console.Config) {
		cfg.Conn = judging{cfg.Conn}
		cfg.Watch = watch(cfg.Conn)
		cfg.Authenticate = func(req *http.Request, token string) (*trust.Principal, error) {
			if header := req.Header.Get("Authorization"); header != "" {
				token = strings.TrimPrefix(header, "Bearer ")
			}
			p, err := authorizer.Authenticate(req.Context(), token)
			return p, wire.Status(err)
		}
	})
	return r, tokens, reader, issuer
}
