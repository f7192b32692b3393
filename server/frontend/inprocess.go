package frontend

import (
	"context"
	"net"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/tracing"
	"github.com/snowraft/snowraft/server/wire"
)

const (
	// maxUnderWay is the largest number of calls of one kind in progress over HTTP.
	maxUnderWay = 500
	// placeWait is the longest wait of another call for a place. An ordinary call gets a place in milliseconds.
	placeWait = time.Second
	// jsonFactor is the memory of an answer as JSON, as a multiple of the size of its message.
	jsonFactor = 2
)

// inProcess connects the HTTP port of a process to its own gRPC server through memory. The server treats these calls like
// calls over the network: with their deadline, forwarded to the leader, and refused by the same table. The metrics count each
// of them once, as an HTTP request.
//
// Each kind of call has its own connection. A connection carries a limited number of calls at once, and waiting calls, such
// as calls that wait for a leader, would fill a shared connection.
type inProcess struct {
	budget *budget
	// judge returns an error if a caller may not make a call. It runs first, so that strangers take neither places nor
	// memory.
	judge    func(ctx context.Context, rule *rpc.Rule, req any) error
	listener *pipeListener
	crossing crossing

	mu     sync.Mutex
	kinds  map[string]*kind // keyed by method; created at the first call
	closed bool
}

// kind is the connection for the calls of one method.
type kind struct {
	*grpc.ClientConn
	places chan struct{}
}

func newInProcess(b *budget, judge func(ctx context.Context, rule *rpc.Rule, req any) error) *inProcess {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	return &inProcess{budget: b, judge: judge, listener: l, kinds: make(map[string]*kind)}
}

// Invoke implements grpc.ClientConnInterface.
func (p *inProcess) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if err := p.judge(ctx, rpc.RuleOf(method), args); err != nil {
		return wire.Status(err)
	}
	k, err := p.kind(method)
	if err != nil {
		return err
	}
	if err := k.enter(ctx, method); err != nil {
		return err
	}
	defer k.leave()
	if err := p.budget.during(ctx, jsonFactor*weight(args)); err != nil {
		return err
	}
	ctx, crossed := p.crossing.leave(ctx)
	defer crossed()
	if headers := tracing.Headers(ctx); headers != nil {
		ctx = metadata.AppendToOutgoingContext(ctx, headers...)
	}
	if err := k.ClientConn.Invoke(ctx, method, args, reply, opts...); err != nil || weight(args) > 0 {
		return err
	}
	if m, ok := reply.(proto.Message); ok {
		return p.budget.during(ctx, jsonFactor*int64(proto.Size(m)))
	}
	return nil
}

// NewStream implements grpc.ClientConnInterface for streams from the server whose right has no resource, because there is no
// request yet. The stream keeps its place and its caller until ctx ends, so the caller must cancel ctx.
func (p *inProcess) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if desc.ClientStreams {
		return nil, rpc.NewError(rpc.MethodNotAllowed, "clients send no streams over HTTP")
	}
	if err := p.judge(ctx, rpc.RuleOf(method), nil); err != nil {
		return nil, wire.Status(err)
	}
	k, err := p.kind(method)
	if err != nil {
		return nil, err
	}
	if err := k.enter(ctx, method); err != nil {
		return nil, err
	}
	ctx, crossed := p.crossing.leave(ctx)
	context.AfterFunc(ctx, func() {
		crossed()
		k.leave()
	})
	return k.ClientConn.NewStream(ctx, desc, method, opts...)
}

func (p *inProcess) kind(method string) (*kind, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kinds[method]; ok {
		return k, nil
	}
	if p.closed {
		return nil, wire.ShuttingDown()
	}
	conn, err := grpc.NewClient("passthrough:///in-process",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(p.listener.dial))
	if err != nil {
		return nil, err
	}
	k := &kind{conn, make(chan struct{}, maxUnderWay)}
	p.kinds[method] = k
	return k, nil
}

func (p *inProcess) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, k := range p.kinds {
		_ = k.Close()
	}
	_ = p.listener.Close()
}

// enter takes a place. After a nil error, leave must be called once.
func (k *kind) enter(ctx context.Context, method string) error {
	select {
	case k.places <- struct{}{}:
		return nil
	default:
	}
	wait := time.NewTimer(placeWait)
	defer wait.Stop()
	select {
	case k.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return wire.Overloaded(maxUnderWay, path.Base(method)+" over HTTP")
	}
}

func (k *kind) leave() { <-k.places }

// pipeListener is a net.Listener without a network.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *pipeListener) dial(ctx context.Context, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

// fromHTTP reports whether a call came through memory.
func fromHTTP(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	return ok && p.Addr.Network() == pipeAddr{}.Network() // net.Pipe has the same network
}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "in-process" }
