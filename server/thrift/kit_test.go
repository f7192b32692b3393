package thrift_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/snowraft/snowraft/server/thrift"
	"github.com/snowraft/snowraft/trust"
)

// fake issues 1, 2, 3 and so on, with worker 7 and datacenter 3, unless it fails.
type fake struct {
	mu      sync.Mutex
	last    int64
	failure error
	hold    chan struct{} // if not nil, a call first signals asked and then waits for hold or the end of its context
	asked   chan struct{}
	gaveUp  chan error // receives the error of the context of a call that waited for hold
	agents  []string
	as      *trust.Principal // principal of all callers; nil: everyone
	caller  *trust.Principal // principal of the last request
	denied  error            // error of Anonymous
	counted chan string      // receives the methods of requests; may be nil
}

func (f *fake) Twitter(ctx context.Context) (thrift.ID, error) {
	if f.hold != nil {
		f.asked <- struct{}{}
		select {
		case <-f.hold:
		case <-ctx.Done():
			if f.gaveUp != nil {
				f.gaveUp <- ctx.Err()
			}
			return thrift.ID{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.caller = trust.PrincipalOf(ctx)
	if f.failure != nil {
		return thrift.ID{}, f.failure
	}
	f.last++
	return thrift.ID{ID: f.last, Datacenter: 3, Worker: 7}, nil
}

func (*fake) Clock() int64 { return 1_700_000_000_123 }

func (f *fake) Anonymous(context.Context) (*trust.Principal, error) {
	return cmp.Or(f.as, trust.Open()), f.denied
}

func (f *fake) Served(method string, _ error, _ time.Duration) {
	if f.counted != nil {
		f.counted <- method
	}
}

func (f *fake) Issued(agent string) { f.agents = append(f.agents, agent) }

// open serves a fake and returns the server and its address.
func open(t *testing.T, f *fake) (*thrift.Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := thrift.New(f, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Errorf("Serve() = %v", err)
		}
	})
	return s, l.Addr().String()
}

// argument is the argument structure of get_id, or of a method without arguments.
type argument struct {
	agent string
	none  bool
}

func (a *argument) Write(ctx context.Context, p apache.TProtocol) error {
	if a.none {
		return errors.Join(p.WriteStructBegin(ctx, "args"), p.WriteFieldStop(ctx), p.WriteStructEnd(ctx))
	}
	return errors.Join(
		p.WriteStructBegin(ctx, "args"),
		// An unknown field.
		p.WriteFieldBegin(ctx, "later", apache.BOOL, 9), p.WriteBool(ctx, true), p.WriteFieldEnd(ctx),
		p.WriteFieldBegin(ctx, "useragent", apache.STRING, 1), p.WriteString(ctx, a.agent), p.WriteFieldEnd(ctx),
		p.WriteFieldStop(ctx), p.WriteStructEnd(ctx),
	)
}

func (*argument) Read(context.Context, apache.TProtocol) error { return errors.New("not read") }

// result is the structure of a result.
type result struct{ success *int64 }

func (r *result) Read(ctx context.Context, p apache.TProtocol) error {
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, kind, id, err := p.ReadFieldBegin(ctx)
		if err != nil || kind == apache.STOP {
			return err
		}
		if id != 0 || kind != apache.I64 {
			return errors.New("a field that the IDL does not have")
		}
		value, err := p.ReadI64(ctx)
		if err != nil {
			return err
		}
		r.success = &value
	}
}

func (*result) Write(context.Context, apache.TProtocol) error { return errors.New("not written") }

// client returns a function that calls methods in the given form.
func client(t *testing.T, address string, framed, strict bool) func(method, agent string) (int64, error) {
	t.Helper()
	conf := &apache.TConfiguration{TBinaryStrictRead: &strict, TBinaryStrictWrite: &strict}
	var transport apache.TTransport = apache.NewTSocketConf(address, conf)
	if framed {
		transport = apache.NewTFramedTransportConf(transport, conf)
	} else {
		transport = apache.NewTBufferedTransport(transport, 256)
	}
	return caller(t, transport, conf)
}

// secured returns new keys and the TLS configuration of servers with them.
func secured(t *testing.T) (*trust.Keys, *tls.Config) {
	t.Helper()
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	return keys, trust.ServerTLS{Keys: keys, MemberID: "m1", Now: time.Now}.Config()
}

// tlsClient returns a function like client for servers of these keys. Its clients use frames and strict messages.
func tlsClient(keys *trust.Keys) func(t *testing.T, address string, framed, strict bool) func(method, agent string) (int64, error) {
	return func(t *testing.T, address string, _, _ bool) func(method, agent string) (int64, error) {
		t.Helper()
		config, err := trust.ClientTLS{Keys: keys}.Config()
		if err != nil {
			t.Fatal(err)
		}
		conf := &apache.TConfiguration{TLSConfig: config}
		return caller(t, apache.NewTFramedTransportConf(apache.NewTSSLSocketConf(address, conf), conf), conf)
	}
}

// caller opens a transport and returns a function that calls methods over it.
func caller(t *testing.T, transport apache.TTransport, conf *apache.TConfiguration) func(method, agent string) (int64, error) {
	t.Helper()
	if err := transport.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = transport.Close() })
	p := apache.NewTBinaryProtocolConf(transport, conf)
	c := apache.NewTStandardClient(p, p)
	return func(method, agent string) (int64, error) {
		var r result
		_, err := c.Call(context.Background(), method, &argument{agent: agent, none: method != "get_id"}, &r)
		if err != nil {
			return 0, err
		}
		return *r.success, nil
	}
}

// reply returns the bytes of one reply of get_id with a value.
func reply(t *testing.T, nc net.Conn, framed bool) io.Reader {
	t.Helper()
	const size = 4 + 4 + len("get_id") + 4 + 1 + 2 + 8 + 1
	if framed {
		var head [4]byte
		if _, err := io.ReadFull(nc, head[:]); err != nil || binary.BigEndian.Uint32(head[:]) != uint32(size) {
			t.Fatalf("frame %v, %v, want %d bytes", head, err, size)
		}
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(nc, content); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(content)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

// request returns a strict request.
func request(framed bool, method, agent string) []byte {
	ctx := context.Background()
	out := apache.NewTMemoryBuffer()
	p := apache.NewTBinaryProtocolConf(out, nil)
	_ = p.WriteMessageBegin(ctx, method, apache.CALL, 1)
	_ = (&argument{agent: agent, none: method != "get_id"}).Write(ctx, p)
	_ = p.WriteMessageEnd(ctx)
	if !framed {
		return out.Bytes()
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(out.Len())), out.Bytes()...)
}
