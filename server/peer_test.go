package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
)

// reflected lists the services that reflection shows.
func reflected(t *testing.T, conn *grpc.ClientConn) []string {
	t.Helper()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
	}); err != nil {
		t.Fatal(err)
	}
	resp, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range resp.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	return names
}

// Calls between members work, and applications do not see them.
func TestPeerServiceIsHidden(t *testing.T) {
	t.Parallel()
	n := startCluster(t, 1)[0]
	g := inFront(t, []*node{n})
	for name, conn := range map[string]*grpc.ClientConn{"member": n.conn, "gateway": g.conn} {
		services := reflected(t, conn)
		if !slices.Contains(services, "snowraft.v1.ClusterService") {
			t.Errorf("%s: reflection lists %v", name, services)
		}
		for _, s := range services {
			if strings.HasPrefix(s, "snowraft.peer.") {
				t.Errorf("%s: reflection lists %s", name, s)
			}
		}
		_, err := peerv1.NewPeerServiceClient(conn).AwaitIndex(t.Context(), &peerv1.AwaitIndexRequest{Index: 1})
		if want := map[string]codes.Code{"member": codes.OK, "gateway": codes.Unimplemented}[name]; status.Code(err) != want {
			t.Errorf("%s: %v, expected %v", name, err, want)
		}
	}
	for _, path := range []string{"/v1/index:await", peerv1.PeerService_AwaitIndex_FullMethodName} {
		if code, body := n.ask("POST", path, `{"index":"1"}`); code != http.StatusNotFound {
			t.Errorf("POST %s: %d %s", path, code, body)
		}
	}
	if code, document := n.ask("GET", "/openapi.json", ""); code != http.StatusOK || strings.Contains(document, "AwaitIndex") {
		t.Errorf("the OpenAPI document: %d, with AwaitIndex: %t", code, strings.Contains(document, "AwaitIndex"))
	}
}
