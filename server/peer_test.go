package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	peerv1 "github.com/snowraft/snowraft/proto/peer/v1"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// reflected returns the answer of reflection to a request. Version v1alpha must give the same answer.
func reflected(t *testing.T, conn *grpc.ClientConn, req *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
	t.Helper()
	var answers [2]grpc_reflection_v1.ServerReflectionResponse
	for i, method := range []string{
		grpc_reflection_v1.ServerReflection_ServerReflectionInfo_FullMethodName,
		strings.Replace(grpc_reflection_v1.ServerReflection_ServerReflectionInfo_FullMethodName, ".v1.", ".v1alpha.", 1),
	} {
		stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.SendMsg(req); err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(&answers[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !proto.Equal(&answers[0], &answers[1]) {
		t.Errorf("reflection: v1 answers %v, v1alpha %v", &answers[0], &answers[1])
	}
	return &answers[0]
}

// Calls between members work, and reflection does not show them to applications.
func TestPeerServiceIsHidden(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		g := inFront(t, []*node{n})
		for name, conn := range map[string]*grpc.ClientConn{"member": n.conn, "gateway": g.conn} {
			var services []string
			for _, s := range reflected(t, conn, &grpc_reflection_v1.ServerReflectionRequest{
				MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
			}).GetListServicesResponse().GetService() {
				services = append(services, s.GetName())
			}
			if !slices.Contains(services, "snowraft.v1.ClusterService") {
				t.Errorf("%s: reflection lists %v", name, services)
			}
			for _, s := range services {
				if strings.HasPrefix(s, "snowraft.peer.") {
					t.Errorf("%s: reflection lists %s", name, s)
				}
			}
			for symbol, shown := range map[string]bool{
				"snowraft.v1.ClusterService": true, "snowraft.v1.Layout": true, "google.protobuf.FieldMask": true, "grpc.health.v1.Health": true,
				"snowraft.peer.v1.PeerService": false, "snowraft.peer.v1.PeerService.AwaitIndex": false, "snowraft.peer.v1.AwaitIndexRequest": false,
				"command.v1.Command": false,
			} {
				answer := reflected(t, conn, &grpc_reflection_v1.ServerReflectionRequest{
					MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
				})
				if got := len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()) > 0; got != shown {
					t.Errorf("%s: reflection shows %s: %t, want %t", name, symbol, got, shown)
				}
			}
			for path, shown := range map[string]bool{"snowraft/v1/cluster.proto": true, "peer/v1/peer.proto": false, "command/v1/command.proto": false} {
				answer := reflected(t, conn, &grpc_reflection_v1.ServerReflectionRequest{
					MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: path},
				})
				if got := len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()) > 0; got != shown {
					t.Errorf("%s: reflection shows %s: %t, want %t", name, path, got, shown)
				}
			}
			_, err := peerv1.NewPeerServiceClient(conn).AwaitIndex(t.Context(), &peerv1.AwaitIndexRequest{Index: 1})
			if want := map[string]codes.Code{"member": codes.OK, "gateway": codes.Unimplemented}[name]; status.Code(err) != want {
				t.Errorf("%s: %v, want %v", name, err, want)
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
	})
}

// A member of another cluster forwards a call to an address that this member has now.
func TestForwardedFromAnotherCluster(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		n.createSequence(strict("s"))
		ctx := metadata.AppendToOutgoingContext(t.Context(), rpc.ForwardedBy, "someone", rpc.ForwardedInto, "another-cluster")
		refused := func(what string, err error) {
			if reason(err) != rpc.OtherCluster {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := n.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "s", Count: 1})
		refused("Next", err)
		_, err = n.sequences.GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: "s"})
		refused("GetLast", err)
		_, err = peerv1.NewPeerServiceClient(n.conn).AwaitIndex(ctx, &peerv1.AwaitIndexRequest{})
		refused("AwaitIndex", err)
		_, err = n.sequences.AllocateBlock(ctx, &snowraftv1.AllocateBlockRequest{Sequence: "s", Count: 1})
		refused("AllocateBlock", err)
	})
}
