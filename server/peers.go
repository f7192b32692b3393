package server

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/position"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// peers holds the connections to the API ports of other members, for calls that this member forwards. Every call names the
// forwarding member and its cluster.
type peers struct {
	identify func() (id, clusterID string)
	keys     *trust.Keys // nil: an open cluster
	tracer   *tracing.Tracer
	dial     []grpc.DialOption

	forwardings forwardings

	mu       sync.Mutex
	conns    map[peer]link
	replaced map[*grpc.ClientConn]bool // to hosts that members moved from; closed a while later
	closed   bool
}

// peer is a member at an address. A member that replaced another one at its address has another certificate, so it needs a
// connection of its own.
type peer struct{ id, address string }

func newPeers(identify func() (string, string), keys *trust.Keys, tracer *tracing.Tracer, dial ...grpc.DialOption) *peers {
	return &peers{identify: identify, keys: keys, tracer: tracer, dial: dial, conns: make(map[peer]link), replaced: make(map[*grpc.ClientConn]bool)}
}

// conn returns the connection to a member. The connection may not be established yet.
func (p *peers) conn(m cluster.Member) (grpc.ClientConnInterface, error) {
	if m.API == "" {
		return nil, fmt.Errorf("%w: the API address of %s is not known yet", member.ErrNoLeader, m.ID)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, cluster.ErrClosed
	}
	to := peer{m.ID, m.API}
	old, ok := p.conns[to]
	if ok && old.host >= m.Host {
		return old, nil
	}
	c, err := grpc.NewClient("passthrough:///"+m.API, append([]grpc.DialOption{
		grpc.WithTransportCredentials(p.credentials(m.ID)),
		grpc.WithUnaryInterceptor(p.mark),
		grpc.WithStaticStreamWindowSize(limits.AnswerWindow),
		grpc.WithStaticConnWindowSize(limits.AnswersWindow),
		grpc.WithStatsHandler(sending{}),
		// Idle connections too: a member that moved leaves connections to its former address. The timeout is also that of TCP
		// for data without an acknowledgment.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 2 * time.Second, PermitWithoutStream: true}),
		// A member that was down is usually back soon, so the connection retries often.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: time.Second,
		}),
	}, p.dial...)...)
	if err != nil {
		return nil, err
	}
	if ok {
		p.replaced[old.ClientConn] = true
		time.AfterFunc(limits.CallTimeout, func() { p.drop(old.ClientConn) }) // calls in progress may still have answers
	}
	p.conns[to] = link{c, m.Host}
	return p.conns[to], nil
}

// drop closes a replaced connection.
func (p *peers) drop(old *grpc.ClientConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.replaced, old)
	_ = old.Close() // fails only if closed before
}

// credentials returns the credentials of connections to a member. In a secured cluster both members verify each other's ID by
// certificates, whatever their addresses.
func (p *peers) credentials(to string) credentials.TransportCredentials {
	if p.keys == nil {
		return insecure.NewCredentials()
	}
	return &memberCredentials{TransportCredentials: insecure.NewCredentials(), peers: p, to: to}
}

// memberCredentials secures each connection with the secrets that this member knows at that time.
type memberCredentials struct {
	credentials.TransportCredentials // implements the other methods
	peers                            *peers
	to                               string
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *memberCredentials) ClientHandshake(ctx context.Context, _ string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	self, _ := c.peers.identify()
	conn, err := c.peers.keys.ConnectMember(ctx, raw, self, c.to, "h2")
	if err != nil {
		return nil, nil, err
	}
	return conn, credentials.TLSInfo{
		State: conn.ConnectionState(), CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
	}, nil
}

// Clone implements credentials.TransportCredentials.
func (c *memberCredentials) Clone() credentials.TransportCredentials { return c }

func (p *peers) mark(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	marks, _ := p.marks(ctx, method)
	if old, ok := metadata.FromOutgoingContext(ctx); ok {
		marks = metadata.Join(old, marks)
	}
	ctx = metadata.AppendToOutgoingContext(metadata.NewOutgoingContext(ctx, marks), traceHeaders(ctx)...)
	return invoke(ctx, method, req, reply, cc, opts...)
}

// marks returns the metadata of a forwarded call about this member and the caller. as is the part about the caller.
func (p *peers) marks(ctx context.Context, method string) (marks metadata.MD, as string) {
	id, clusterID := p.identify()
	marks = metadata.Pairs(rpc.ForwardedBy, id, rpc.ForwardedInto, clusterID)
	as = trust.PrincipalOf(ctx).Forwarded()
	if rule := rpc.RuleOf(method); as != "" && (rule == nil || rule.GetRight() != trust.RightMember) {
		marks.Set(rpc.ForwardedFor, as)
	}
	return marks, as
}

func (p *peers) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, l := range p.conns {
		_ = l.Close()
	}
	for old := range p.replaced {
		_ = old.Close()
	}
}

// Invoke implements api.Invoker.
func (p *peers) Invoke(ctx context.Context, to cluster.Member, method string, req, reply any) error {
	ctx, span := p.forwarding(ctx, to, method)
	err := p.invoke(ctx, to, method, req, reply)
	span.end(err)
	return err
}

func (p *peers) invoke(ctx context.Context, to cluster.Member, method string, req, reply any) error {
	conn, err := p.conn(to)
	if err != nil {
		return err
	}
	if !rpc.RuleOf(method).Audited() {
		return conn.Invoke(ctx, method, req, reply)
	}
	var trailer metadata.MD
	err = conn.Invoke(ctx, method, req, reply, grpc.Trailer(&trailer))
	if index := trailer.Get(rpc.AuditIndex); len(index) == 1 {
		if n, parsed := strconv.ParseUint(index[0], 10, 64); parsed == nil {
			trust.NoteIndex(ctx, n)
		}
	}
	return err
}

// NextAtLeader implements route.Peers.
func (p *peers) NextAtLeader(ctx context.Context, leader cluster.Member, sequence string, count uint64, requestID string) (member.Numbering, error) {
	req := &snowraftv1.NextNumbersRequest{Sequence: sequence, Count: uint32(count), RequestId: requestID} //nolint:gosec // at most limits.Count
	return p.next(ctx, leader, req)
}

// NextOfPeriod implements route.Peers.
func (p *peers) NextOfPeriod(ctx context.Context, leader cluster.Member, sequence string, count uint64, r member.PeriodRequest) (member.Numbering, error) {
	return p.next(ctx, leader, wire.NumbersRequest(sequence, count, r))
}

func (p *peers) next(ctx context.Context, leader cluster.Member, req *snowraftv1.NextNumbersRequest) (member.Numbering, error) {
	count := uint64(req.GetCount())
	if got, sent := p.forward(ctx, leader, req); sent {
		if got.err != nil {
			return member.Numbering{}, got.err
		}
		return wire.Numbers(got.resp, count)
	}
	resp := new(snowraftv1.NextNumbersResponse)
	if err := p.Invoke(ctx, leader, snowraftv1.SequenceService_NextNumbers_FullMethodName, req, resp); err != nil {
		return member.Numbering{}, err
	}
	return wire.Numbers(resp, count)
}

// LastAtLeader implements route.Peers.
func (p *peers) LastAtLeader(ctx context.Context, leader cluster.Member, sequence string) (int64, bool, error) {
	resp := new(snowraftv1.GetLastResponse)
	err := p.Invoke(ctx, leader, snowraftv1.SequenceService_GetLast_FullMethodName, &snowraftv1.GetLastRequest{Sequence: sequence}, resp)
	return resp.GetLast(), resp.Last != nil, err
}

// leader implements member.Leader by calls to another member.
type leader struct {
	rpc.MemberGranter
	rpc.Finder
	claimant
}

// claimant passes claims on to the leader.
type claimant struct{ peers peerv1.PeerServiceClient }

// Claim implements member.Leader.
func (c claimant) Claim(ctx context.Context, p position.Position, witness string) error {
	_, err := c.peers.Claim(ctx, &peerv1.ClaimRequest{Position: p.Append(nil), Witness: witness})
	return err
}

// own makes calls with the member's own rights, even while the member serves a client's call.
type own struct {
	grpc.ClientConnInterface
	member *trust.Principal
}

// Invoke implements grpc.ClientConnInterface.
func (o own) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return o.ClientConnInterface.Invoke(trust.WithPrincipal(ctx, o.member), method, args, reply, opts...)
}

// leader implements member.Config.Leader.
func (p *peers) leader(m cluster.Member) (member.Leader, error) {
	conn, err := p.conn(m)
	if err != nil {
		return nil, err
	}
	id, _ := p.identify()
	conn = own{conn, trust.Member(id)}
	sequences := snowraftv1.NewSequenceServiceClient(conn)
	return leader{
		rpc.MemberGranter{Workers: snowraftv1.NewWorkerServiceClient(conn), Sequences: sequences},
		rpc.Finder{Sequences: sequences, Layouts: snowraftv1.NewLayoutServiceClient(conn)},
		claimant{peerv1.NewPeerServiceClient(conn)},
	}, nil
}
