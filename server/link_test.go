package server

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// breaking is a leader whose connections break while it serves a request.
type breaking struct {
	snowraftv1.UnimplementedSequenceServiceServer
	server *grpc.Server
	asked  chan struct{}
}

func (b *breaking) SetNext(ctx context.Context, _ *snowraftv1.SetNextRequest) (*snowraftv1.SetNextResponse, error) {
	close(b.asked)
	go b.server.Stop()
	<-ctx.Done()
	return nil, ctx.Err()
}

// A request that was not sent to the leader fails with NO_LEADER. The outcome of a request that may have arrived is unknown. A leader of
// an earlier version says that it does not know the call.
func TestUnsentRequestIsNotUnknownOutcome(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &breaking{server: grpc.NewServer(), asked: make(chan struct{})}
	snowraftv1.RegisterSequenceServiceServer(b.server, b)
	go func() { _ = b.server.Serve(l) }()
	p := newPeers(func() (string, string) { return "a", "c" }, nil, nil)
	defer p.close()
	conn, err := p.conn(cluster.Member{ID: "b", API: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	call := func() error {
		return conn.Invoke(ctx, snowraftv1.SequenceService_SetNext_FullMethodName, &snowraftv1.SetNextRequest{}, &snowraftv1.SetNextResponse{})
	}
	// A call that the leader's program does not know names the upgrade.
	err = conn.Invoke(ctx, snowraftv1.TemplateService_CreateTemplate_FullMethodName, &snowraftv1.CreateTemplateRequest{}, &snowraftv1.CreateTemplateResponse{})
	if e := rpc.FromError(err); e.Reason != rpc.VersionTooLow || !strings.Contains(err.Error(), "snowraft upgrade") {
		t.Errorf("call that the leader does not know: %v", err)
	}
	err = call()
	if e := rpc.FromError(err); e.Reason != rpc.CommitUnknown || e.Code != codes.Unknown || !errors.Is(err, cluster.ErrUnknownOutcome) {
		t.Errorf("request to a leader that stopped: %+v", e)
	}
	<-b.asked
	// The port of the leader is closed now. The loop calls often, because the connection retries in the meantime.
	for range 20 {
		err := call()
		if e := rpc.FromError(err); e.Reason != rpc.NoLeader || e.Code != codes.Unavailable || e.RetryAfter == 0 || !errors.Is(err, member.ErrNoLeader) {
			t.Errorf("request to a closed port: %+v", e)
		}
		if want := "the leader cannot be reached, nothing was sent: dial tcp "; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("request to a closed port = %q, want %q and the reason", err, want)
		}
	}
	if err := conn.Invoke(ctx, "/no.Service/Method", &snowraftv1.SetNextRequest{}, &snowraftv1.SetNextResponse{}); rpc.FromError(err).Reason != rpc.NoLeader {
		t.Error(err)
	}
}

// A member whose disk was replaced comes back at its address with another ID, and so with another certificate.
func TestReplacedMemberIsReachedAtItsAddress(t *testing.T) {
	t.Parallel()
	keys, err := trust.NewKeys(trust.NewSecret())
	if err != nil {
		t.Fatal(err)
	}
	p := newPeers(func() (string, string) { return "a", "c" }, keys, nil)
	defer p.close()
	address := "127.0.0.1:0"
	for _, id := range []string{"first", "second"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		address = l.Addr().String()
		tls := keys.MemberServer(id)
		tls.NextProtos = []string{"h2"}
		s := grpc.NewServer(grpc.Creds(credentials.NewTLS(tls)))
		go func() { _ = s.Serve(l) }()
		err = p.Invoke(t.Context(), cluster.Member{ID: id, API: address}, "/no.Service/Method", &snowraftv1.SetNextRequest{}, &snowraftv1.SetNextResponse{})
		if e := rpc.FromError(err); e.Reason != rpc.VersionTooLow {
			t.Errorf("request to the %s member at the address: %v, want an answer", id, err)
		}
		s.Stop()
	}
}
