package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"

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

// secure starts TLS on a new connection if a.TLS is set.
func (a Access) secure(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	if a.TLS == nil {
		return conn, nil
	}
	config := a.TLS
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	over := tls.Client(conn, config)
	return over, over.HandshakeContext(ctx)
}

// login sends a token over the Redis protocol.
func (a Access) login(conn net.Conn, in *bufio.Reader) error {
	if a.Token == "" {
		return nil
	}
	if _, err := conn.Write(command("AUTH", a.Token)); err != nil {
		return err
	}
	line, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	if line = strings.TrimSpace(line); strings.HasPrefix(line, "-") {
		reason, _, _ := strings.Cut(line[1:], " ")
		return &Refusal{Reason: reason, Text: line[1:]}
	} else if line != "+OK" {
		return errors.New("the answer to AUTH is not OK")
	}
	return nil
}
