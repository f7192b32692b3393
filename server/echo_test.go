package server_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// echo answers immediately, with messages of the same size as those of a member.
type echo struct {
	snowraftv1.UnimplementedSequenceServiceServer
	snowraftv1.UnimplementedIdServiceServer
}

func (echo) NextNumbers(_ context.Context, req *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	return &snowraftv1.NextNumbersResponse{Sequence: req.GetSequence(), First: 1_000_000, Count: req.GetCount(), Increment: 1}, nil
}

func (echo) GenerateIds(context.Context, *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	return &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: 1 << 60, Count: 1, Step: 1}}}, nil
}

// StreamIds uses the same messages for all requests.
func (echo) StreamIds(stream snowraftv1.IdService_StreamIdsServer) error {
	req := new(snowraftv1.StreamIdsRequest)
	answer := &snowraftv1.StreamIdsResponse{Response: &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: 1 << 60, Count: 1, Step: 1}}}}
	for {
		if err := stream.RecvMsg(req); err != nil {
			return err
		}
		answer.Id = req.GetId()
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// startEcho starts a gRPC server with gRPC's defaults and empty methods.
func startEcho(t testing.TB, opts ...grpc.ServerOption) (address string) {
	bare := grpc.NewServer(opts...)
	snowraftv1.RegisterSequenceServiceServer(bare, echo{})
	snowraftv1.RegisterIdServiceServer(bare, echo{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = bare.Serve(l) }()
	t.Cleanup(bare.Stop)
	return l.Addr().String()
}

// dial returns a new connection in the network of a test.
func dial(t testing.TB, address string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn := connect(t, address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	t.Cleanup(func() { conn.Close() })
	return conn
}
