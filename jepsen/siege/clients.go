//go:build linux

package siege

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/lab"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Sequences whose numbers clients request.
const (
	strictName  = "siege-strict"
	relaxedName = "siege-relaxed"
	// pipelined is the number of commands in a pipeline.
	pipelined = 16
	// clients is the number of clients of a protocol that call each member.
	clients = 4
	// callLimit is the timeout of a call.
	callLimit = 5 * time.Second
)

// client makes calls one after the other on its own connection.
type client interface {
	call(ctx context.Context) error
	Close() error
}

// protocol is one way to call a member.
type protocol struct {
	name    string
	connect func(ctx context.Context, l *lab.Lab, m *lab.Member) (client, error)
}

func protocols() []protocol {
	return []protocol{
		{"gRPC GenerateIds", overGRPC(func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := snowraftv1.NewIdServiceClient(conn).GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 100})
			return err
		})},
		{"gRPC NextNumbers, strict", overGRPC(numbers(strictName))},
		{"gRPC NextNumbers, relaxed", overGRPC(numbers(relaxedName))},
		{"HTTP /id", overHTTP("/id")},
		{"HTTP /seq/NAME", overHTTP("/seq/" + relaxedName)},
		{"Redis INCR", overRedis(relaxedName, 1)},
		{fmt.Sprintf("Redis INCR, %d at once", pipelined), overRedis(strictName, pipelined)},
	}
}

// numbers returns a function that requests one number of a sequence.
func numbers(name string) func(ctx context.Context, conn *grpc.ClientConn) error {
	return func(ctx context.Context, conn *grpc.ClientConn) error {
		_, err := snowraftv1.NewSequenceServiceClient(conn).NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1})
		return err
	}
}

// grpcClient calls a member over gRPC.
type grpcClient struct {
	*grpc.ClientConn
	one func(ctx context.Context, conn *grpc.ClientConn) error
}

func (c *grpcClient) call(ctx context.Context) error { return c.one(ctx, c.ClientConn) }

func overGRPC(one func(ctx context.Context, conn *grpc.ClientConn) error) func(context.Context, *lab.Lab, *lab.Member) (client, error) {
	return func(_ context.Context, l *lab.Lab, m *lab.Member) (client, error) {
		conn, err := l.Connect(m)
		return &grpcClient{conn, one}, err
	}
}

// httpClient calls a member over HTTP.
type httpClient struct {
	http.Client
	url, token string
}

func overHTTP(path string) func(context.Context, *lab.Lab, *lab.Member) (client, error) {
	return func(_ context.Context, l *lab.Lab, m *lab.Member) (client, error) {
		dial := func(ctx context.Context, _, address string) (net.Conn, error) { return l.Dial(ctx, address) }
		c := &httpClient{url: "http://" + m.Address(lab.PortHTTP) + path, token: l.Token()}
		c.Transport = &http.Transport{DialContext: dial, DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return l.Encrypt(ctx, conn)
		}}
		if c.token != "" {
			c.url = "https" + strings.TrimPrefix(c.url, "http")
		}
		return c, nil
	}
}

func (c *httpClient) call(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, nil)
	if err != nil {
		return err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // already read
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}

func (c *httpClient) Close() error {
	c.CloseIdleConnections()
	return nil
}

// redisClient calls a member over the Redis protocol.
type redisClient struct {
	net.Conn
	r        *bufio.Reader
	commands string
	answers  int
}

func overRedis(key string, commands int) func(context.Context, *lab.Lab, *lab.Member) (client, error) {
	return func(ctx context.Context, l *lab.Lab, m *lab.Member) (client, error) {
		conn, err := l.Dial(ctx, m.Address(lab.PortRedis))
		if err == nil {
			conn, err = l.Encrypt(ctx, conn)
		}
		if err != nil {
			return nil, err
		}
		c := &redisClient{Conn: conn, r: bufio.NewReader(conn), commands: "AUTH " + l.Token() + "\r\n", answers: 1}
		if l.Token() != "" {
			if err := c.call(ctx); err != nil {
				_ = c.Close()
				return nil, fmt.Errorf("AUTH: %w", err)
			}
		}
		c.commands, c.answers = strings.Repeat("INCR "+key+"\r\n", commands), commands
		return c, nil
	}
}

func (c *redisClient) call(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := io.WriteString(c, c.commands); err != nil {
		return err
	}
	for range c.answers {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return err
		}
		if line[0] != ':' && line[0] != '+' {
			return fmt.Errorf("unexpected answer %q", line)
		}
	}
	return nil
}
