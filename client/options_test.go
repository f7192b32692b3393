package client

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

type spanKey struct{}

// Hooks and interceptors see each try, with the values of the caller; hooks see each call.
func TestTriesAreObserved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		for _, m := range f.members {
			m.does(slowly(m, time.Millisecond))
		}
		var tries, failed, unnamed, batches, served, seen, spans atomic.Int64
		c := f.client(f.addrs(),
			WithHooks(Hooks{
				Try: func(try TryInfo) {
					if try.Method != snowraftv1.IdService_GenerateIds_FullMethodName {
						return
					}
					tries.Add(1)
					if try.Err != nil {
						failed.Add(1)
					}
					if try.Member == "" || try.Err == nil && try.Took != time.Millisecond {
						unnamed.Add(1)
					}
				},
				Batch: func(b BatchInfo) { batches.Add(1); served.Add(int64(b.Callers * b.Count)) },
			}),
			WithDialOptions(grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				if method == snowraftv1.IdService_GenerateIds_FullMethodName {
					seen.Add(1)
					if ctx.Value(spanKey{}) == "mine" {
						spans.Add(1)
					}
				}
				return invoker(ctx, method, req, reply, cc, opts...)
			})))
		calls := f.warm(c)
		until(t, "the calls are reported", func() bool { return batches.Load() == calls })
		f.members[0].refuses(codes.Unavailable, rpc.ShuttingDown, 0)
		for _, n := range []*atomic.Int64{&tries, &failed, &batches, &served, &seen} {
			n.Store(0)
		}
		ctx := context.WithValue(t.Context(), spanKey{}, "mine")
		for calls = 0; calls < 10 || failed.Load() == 0 && calls < 1000; calls++ { // until the member that refuses is called
			if _, err := c.NextID(ctx); err != nil {
				t.Error(err)
			}
		}
		until(t, "the last call is reported", func() bool { return batches.Load() == calls })
		if served.Load() != calls || failed.Load() == 0 || tries.Load() != calls+failed.Load() || seen.Load() != tries.Load() || spans.Load() != seen.Load() || unnamed.Load() != 0 {
			t.Errorf("%d calls, %d served, %d tries, %d failed, %d seen, %d with the caller's values, %d without a member",
				batches.Load(), served.Load(), tries.Load(), failed.Load(), seen.Load(), spans.Load(), unnamed.Load())
		}
	})
}

// certificate returns a self-signed certificate for hosts.
func certificate(t *testing.T, hosts ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// TLS verifies a certificate for the host in the member's own address.
func TestCertificatesNameMembers(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "localhost"} {
		cert, pool := certificate(t, host)
		f := startFakesOnTCP(t, 0)
		m := f.add("127.0.0.1:0", grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
		_, port, err := net.SplitHostPort(m.addr)
		if err != nil {
			t.Fatal(err)
		}
		secure := WithTransportCredentials(credentials.NewClientTLSFromCert(pool, ""))
		if _, err := f.client([]string{net.JoinHostPort(host, port)}, secure).NextID(within(t, patience)); err != nil {
			t.Error(err)
		}
		f.mu.Lock()
		f.members = nil // otherwise the client would learn it
		f.mu.Unlock()
		other := map[string]string{"127.0.0.1": "localhost", "localhost": "127.0.0.1"}[host]
		_, err = f.client([]string{net.JoinHostPort(other, port)}, secure).NextID(within(t, time.Second))
		if err == nil {
			t.Errorf("a certificate for %s was accepted for %s", host, other)
		}
		t.Log(err)
		_, err = f.client([]string{net.JoinHostPort(host, port)}).NextID(within(t, time.Second))
		if err == nil {
			t.Error("plain TCP was answered")
		}
		t.Log(err)
	}
}
