package client

import (
	"context"

	"google.golang.org/grpc"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Conn makes calls of the cluster's gRPC services, for what this package has no words for:
//
//	cluster := snowraftv1.NewClusterServiceClient(c.Conn())
//
// Any member that is well may serve a call, and it is tried at another only if that is safe. Calls
// fail with an [*Error], or ErrClosed. Streams are not tried again.
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
