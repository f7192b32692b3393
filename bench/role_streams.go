package main

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// streamEcho answers requests on streams at once, with constants. To a Go client it is a cluster with one member.
type streamEcho struct {
	snowraftv1.UnimplementedIdServiceServer
	snowraftv1.UnimplementedSequenceServiceServer
	snowraftv1.UnimplementedClusterServiceServer
	address string
}

func newStreamEcho(address string) *grpc.Server {
	s := grpc.NewServer(grpc.StaticStreamWindowSize(limits.RequestBytes), grpc.StaticConnWindowSize(limits.RequestBytes)) // like members
	e := streamEcho{address: address}
	snowraftv1.RegisterIdServiceServer(s, e)
	snowraftv1.RegisterSequenceServiceServer(s, e)
	snowraftv1.RegisterClusterServiceServer(s, e)
	return s
}

func (streamEcho) StreamIds(stream grpc.BidiStreamingServer[snowraftv1.StreamIdsRequest, snowraftv1.StreamIdsResponse]) error {
	of := &snowraftv1.IdRange{First: constantID, Step: 1}
	answer := &snowraftv1.StreamIdsResponse{Response: &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{of}}}
	for req := new(snowraftv1.StreamIdsRequest); ; {
		if err := stream.RecvMsg(req); err != nil {
			return ending(err)
		}
		answer.Id, of.Count = req.GetId(), req.GetRequest().GetCount()
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

func (streamEcho) StreamNumbers(stream grpc.BidiStreamingServer[snowraftv1.StreamNumbersRequest, snowraftv1.StreamNumbersResponse]) error {
	numbers := &snowraftv1.NextNumbersResponse{First: constantID, Increment: 1, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}
	answer := &snowraftv1.StreamNumbersResponse{Response: numbers}
	for req := new(snowraftv1.StreamNumbersRequest); ; {
		if err := stream.RecvMsg(req); err != nil {
			return ending(err)
		}
		answer.Id, numbers.Count = req.GetId(), req.GetRequest().GetCount()
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// GenerateIds answers requests that a client sends before its stream is open.
func (streamEcho) GenerateIds(_ context.Context, req *snowraftv1.GenerateIdsRequest) (*snowraftv1.GenerateIdsResponse, error) {
	return &snowraftv1.GenerateIdsResponse{Ranges: []*snowraftv1.IdRange{{First: constantID, Count: req.GetCount(), Step: 1}}}, nil
}

// NextNumbers answers requests that a client sends before its stream is open.
func (streamEcho) NextNumbers(_ context.Context, req *snowraftv1.NextNumbersRequest) (*snowraftv1.NextNumbersResponse, error) {
	return &snowraftv1.NextNumbersResponse{First: constantID, Count: req.GetCount(), Increment: 1}, nil
}

// ListMembers returns this server as the only member and the leader.
func (e streamEcho) ListMembers(context.Context, *snowraftv1.ListMembersRequest) (*snowraftv1.ListMembersResponse, error) {
	return &snowraftv1.ListMembersResponse{Members: []*snowraftv1.Member{{Name: roleStreams, ApiAddress: e.address, Leader: true}}}, nil
}

// ending returns nil if the client has ended the stream, and otherwise the error.
func ending(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
