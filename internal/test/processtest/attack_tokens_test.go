//go:build process

package processtest

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/jepsen/attacks"
	"github.com/snowraft/snowraft/trust"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// mostLeased is the greatest number of workers of the default layout that one token gets: half of the 1,024 workers, without
// the 16 reserved for members.
const mostLeased = (1024 - 16) / 2

// A caller without the right can neither create layouts nor acquire workers. A caller with the right cannot acquire the workers
// reserved for members.
func TestAttackWithoutRights(t *testing.T) {
	t.Parallel()
	b := &besieged{members: newCluster(t, 1, secretFile(t)...)}
	b.start(t)
	m := b.members[0]
	stranger, err := grpc.NewClient("passthrough:///"+m.api, attacks.OverTLS())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	lessee := b.holder(t, "lessee", "worker:lease:default")
	defer lessee.Close()
	for name, conn := range map[string]*grpc.ClientConn{"a stranger": stranger, "a token without the right": lessee} {
		if n, err := attacks.MakeLayouts(t.Context(), conn, 50); n > 0 || err != nil {
			t.Errorf("%s made %d layouts, %v; want 0", name, n, err)
		}
		_, err := attacks.StealWorkers(t.Context(), conn, "default", 1)
		if code := status.Code(err); code != codes.Unauthenticated && code != codes.PermissionDenied {
			t.Errorf("%s could list the workers: %v", name, err)
		}
	}
	if n, err := attacks.MakeLayouts(t.Context(), m.conn, 3); n != 3 || err != nil {
		t.Errorf("an admin made %d layouts, %v; want 3", n, err)
	}
	if n, err := attacks.TakeWorkers(t.Context(), stranger, "default", 20); n > 0 || err != nil {
		t.Errorf("a stranger took %d workers, %v; want 0", n, err)
	}
	if n, err := attacks.TakeWorkers(t.Context(), lessee, "default", 1100); n != mostLeased || err != nil {
		t.Errorf("a token took %d workers, %v; want %d", n, err, mostLeased)
	}
	another := b.holder(t, "another", "worker:lease:default")
	defer another.Close()
	if n, err := attacks.TakeWorkers(t.Context(), another, "default", 1); n != 1 || err != nil {
		t.Errorf("another token took %d workers, %v; want 1", n, err)
	}
	newcomer(t, "late", b.members, m.flags[:2]...).start().untilIssues()
	b.well(t)
}

// holder connects with a new token.
func (b *besieged) holder(t *testing.T, name string, scopes ...string) *grpc.ClientConn {
	t.Helper()
	m := b.members[0]
	resp, err := snowraftv1.NewTokenServiceClient(m.conn).CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{
		Token: &snowraftv1.Token{Name: name, Scopes: scopes},
	})
	if err != nil {
		t.Fatal(err)
	}
	config, err := trust.ClientTLS{Token: resp.GetText()}.Config()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("passthrough:///"+m.api, grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoker(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+resp.GetText()), method, req, reply, cc, opts...)
		}))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
