package load

import (
	"context"
	"crypto/tls"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Access holds the credentials of clients; the zero value is plain TCP without a token.
type Access struct {
	TLS   *tls.Config // nil: plain TCP
	Token string      // also sent in clear text: the caller has decided that
}

// options returns the dial options of a gRPC connection.
func (a Access) options() []grpc.DialOption {
	secure := insecure.NewCredentials()
	if a.TLS != nil {
		secure = credentials.NewTLS(a.TLS)
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(secure)}
	if a.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer{"authorization": "Bearer " + a.Token}))
	}
	return options
}

// bearer is a token as metadata for each call.
type bearer map[string]string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return b, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (bearer) RequireTransportSecurity() bool { return false }
