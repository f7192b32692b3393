package frontend

import (
	"context"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// carriage is a streaming method that carries the calls of a unary method.
type carriage struct {
	method string // the unary method
	// confirms reports that a request usually waits a fraction of a millisecond.
	confirms bool
	request  func() carried
	answer   func() answering
	// serve calls the unary method of a service.
	serve func(ctx context.Context, service, req any) (any, error)
}

// carried is a request on a stream. The goroutine that served it reads the next request into it.
type carried interface {
	proto.Message
	GetId() uint64
	GetTimeoutMs() uint32
	inner() proto.Message
	// clear empties the message and keeps its parts.
	clear()
}

// answering is an answer on a stream. The stream uses one message for all its answers.
type answering interface {
	proto.Message
	// fill empties the message of its receipt.
	fill(id uint64, resp any, failed *spb.Status)
	hand(receipt []byte)
}

type (
	carriedIDs     struct{ *snowraftv1.StreamIdsRequest }
	carriedNumbers struct {
		*snowraftv1.StreamNumbersRequest
	}
	answeringIDs     struct{ *snowraftv1.StreamIdsResponse }
	answeringNumbers struct {
		*snowraftv1.StreamNumbersResponse
	}
)

func (c carriedIDs) inner() proto.Message     { return c.Request }
func (c carriedNumbers) inner() proto.Message { return c.Request }

func (c carriedIDs) clear() {
	of := c.Request
	of.Reset()
	c.Reset()
	c.Request = of
}

func (c carriedNumbers) clear() {
	of := c.Request
	of.Reset()
	c.Reset()
	c.Request = of
}

func (a answeringIDs) fill(id uint64, resp any, failed *spb.Status) {
	a.Id, a.Error, a.Receipt = id, failed, nil
	a.Response, _ = resp.(*snowraftv1.GenerateIdsResponse)
}

func (a answeringIDs) hand(receipt []byte)     { a.Receipt = receipt }
func (a answeringNumbers) hand(receipt []byte) { a.Receipt = receipt }

func (a answeringNumbers) fill(id uint64, resp any, failed *spb.Status) {
	a.Id, a.Error, a.Receipt = id, failed, nil
	a.Response, _ = resp.(*snowraftv1.NextNumbersResponse)
}

// carriages maps the full name of each streaming method to its carriage.
var carriages = map[string]*carriage{
	snowraftv1.IdService_StreamIds_FullMethodName: {
		method: snowraftv1.IdService_GenerateIds_FullMethodName,
		request: func() carried {
			return carriedIDs{&snowraftv1.StreamIdsRequest{Request: new(snowraftv1.GenerateIdsRequest)}}
		},
		answer: func() answering { return answeringIDs{new(snowraftv1.StreamIdsResponse)} },
		serve: func(ctx context.Context, service, req any) (any, error) {
			return service.(snowraftv1.IdServiceServer).GenerateIds(ctx, req.(*snowraftv1.GenerateIdsRequest))
		},
	},
	snowraftv1.SequenceService_StreamNumbers_FullMethodName: {
		method: snowraftv1.SequenceService_NextNumbers_FullMethodName, confirms: true,
		request: func() carried {
			return carriedNumbers{&snowraftv1.StreamNumbersRequest{Request: new(snowraftv1.NextNumbersRequest)}}
		},
		answer: func() answering { return answeringNumbers{new(snowraftv1.StreamNumbersResponse)} },
		serve: func(ctx context.Context, service, req any) (any, error) {
			return service.(snowraftv1.SequenceServiceServer).NextNumbers(ctx, req.(*snowraftv1.NextNumbersRequest))
		},
	},
}

// handler returns the unary method of a service.
func (c *carriage) handler(service any) grpc.UnaryHandler {
	return func(ctx context.Context, req any) (any, error) { return c.serve(ctx, service, req) }
}
