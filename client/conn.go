package client

import (
	"context"

	"google.golang.org/grpc"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Conn returns a connection for calls of the cluster's gRPC services that this package does not wrap:
//
//	cluster := snowraftv1.NewClusterServiceClient(c.Conn())
//
// Any healthy member may serve a call. The client retries a call at another member only if that is safe, and never
// retries a stream. Calls fail with an [*Error] or ErrClosed.
func (c *Client) Conn() grpc.ClientConnInterface { return conn{c} }

type conn struct{ client *Client }

func (c conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return c.channel(method).Invoke(ctx, method, args, reply, opts...)
}

func (c conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.channel(method).NewStream(ctx, desc, method, opts...)
}

func (c conn) channel(method string) *channel {
	switch method {
	case snowraftv1.IdService_GenerateIds_FullMethodName, snowraftv1.IdService_GenerateUuids_FullMethodName,
		snowraftv1.IdService_StreamIds_FullMethodName:
		return c.client.ids
	default:
		return c.client.leader
	}
}
