package frontend

import (
	"context"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// carriage is a streaming method that carries the calls of a unary one.
type carriage struct {
	method  string // the unary one
	request func() carried
	answer  func(id uint64, resp any, failed *spb.Status) proto.Message
	// serve is the unary method of a service.
	serve func(ctx context.Context, service, req any) (any, error)
}

// carried is a request as it comes on a stream.
type carried interface {
	proto.Message
	GetId() uint64
	GetTimeoutMs() uint32
	inner() proto.Message
}

type (
	carriedIDs     struct{ *snowraftv1.StreamIdsRequest }
	carriedNumbers struct {
		*snowraftv1.StreamNumbersRequest
	}
)

func (c carriedIDs) inner() proto.Message {
	if r := c.GetRequest(); r != nil {
		return r
	}
	return new(snowraftv1.GenerateIdsRequest)
}

func (c carriedNumbers) inner() proto.Message {
	if r := c.GetRequest(); r != nil {
		return r
	}
	return new(snowraftv1.NextNumbersRequest)
}

// carriages are by the full names of the streaming methods.
var carriages = map[string]*carriage{
	snowraftv1.IdService_StreamIds_FullMethodName: {
		method:  snowraftv1.IdService_GenerateIds_FullMethodName,
		request: func() carried { return carriedIDs{new(snowraftv1.StreamIdsRequest)} },
		answer: func(id uint64, resp any, failed *spb.Status) proto.Message {
			r, _ := resp.(*snowraftv1.GenerateIdsResponse)
			return &snowraftv1.StreamIdsResponse{Id: id, Response: r, Error: failed}
		},
		serve: func(ctx context.Context, service, req any) (any, error) {
			return service.(snowraftv1.IdServiceServer).GenerateIds(ctx, req.(*snowraftv1.GenerateIdsRequest))
		},
	},
	snowraftv1.SequenceService_StreamNumbers_FullMethodName: {
		method:  snowraftv1.SequenceService_NextNumbers_FullMethodName,
		request: func() carried { return carriedNumbers{new(snowraftv1.StreamNumbersRequest)} },
		answer: func(id uint64, resp any, failed *spb.Status) proto.Message {
			r, _ := resp.(*snowraftv1.NextNumbersResponse)
			return &snowraftv1.StreamNumbersResponse{Id: id, Response: r, Error: failed}
		},
		serve: func(ctx context.Context, service, req any) (any, error) {
			return service.(snowraftv1.SequenceServiceServer).NextNumbers(ctx, req.(*snowraftv1.NextNumbersRequest))
		},
	},
}

// handler returns the unary method of a service.
func (c *carriage) handler(service any) grpc.UnaryHandler {
	return func(ctx context.Context, req any) (any, error) { return c.serve(ctx, service, req) }
}
