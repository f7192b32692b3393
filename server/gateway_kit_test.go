package server_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/internal/test/testlog"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/gateway"
)

// testGateway is a gateway under test, with connections to all of its ports.
type testGateway struct {
	t testing.TB
	*gateway.Gateway
	conn      *grpc.ClientConn
	ids       snowraftv1.IdServiceClient
	sequences snowraftv1.SequenceServiceClient
	layouts   snowraftv1.LayoutServiceClient
	cluster   snowraftv1.ClusterServiceClient
}

// openGateway starts a gateway with the addresses of members.
func openGateway(t testing.TB, members ...string) *testGateway {
	t.Helper()
	return openGatewayWith(t, gateway.Config{Members: members})
}

// openGatewayWith starts a gateway with other settings in addition to the addresses of members.
func openGatewayWith(t testing.TB, cfg gateway.Config) *testGateway {
	t.Helper()
	g := &testGateway{t: t}
	var err error
	cfg.Name, cfg.Version, cfg.Logger = "g", "test", slog.New(slog.NewTextHandler(testlog.Of(t), nil))
	cfg.APIAddr, cfg.HTTPAddr, cfg.RedisAddr, cfg.ThriftAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Network = networkOf(t)
	g.Gateway, err = gateway.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	g.conn = connect(t, g.APIAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	t.Cleanup(g.shut)
	g.ids, g.sequences = snowraftv1.NewIdServiceClient(g.conn), snowraftv1.NewSequenceServiceClient(g.conn)
	g.layouts, g.cluster = snowraftv1.NewLayoutServiceClient(g.conn), snowraftv1.NewClusterServiceClient(g.conn)
	return g
}

// inFront starts a gateway with the address of the first member, and waits until the gateway is ready.
func inFront(t testing.TB, nodes []*node) *testGateway {
	t.Helper()
	g := openGateway(t, nodes[0].server.APIAddr())
	until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
	return g
}

func (g *testGateway) shut() {
	_ = g.conn.Close()
	if err := g.Close(context.Background()); err != nil {
		g.t.Error(err)
	}
}

func (g *testGateway) generate(count uint32, after int64) ([]int64, error) {
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	resp, err := g.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: count, After: after})
	return expand(resp), err
}

func (g *testGateway) next(sequence string, count uint32) (*snowraftv1.NextNumbersResponse, error) {
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	return g.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: sequence, Count: count})
}

// ask sends an HTTP request.
func (g *testGateway) ask(method, path, body string) (int, string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, "http://"+g.HTTPAddr()+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	resp, err := browser(g.t).Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// redis sends a command on one line and returns the first line of the answer.
func (g *testGateway) redis(command string) string {
	g.t.Helper()
	return redisLine(g.t, g.RedisAddr(), command)
}

// redisLine sends a command of the Redis protocol and returns the first line of the answer.
func redisLine(t testing.TB, address, command string) string {
	t.Helper()
	conn := reach(t, address)
	defer conn.Close()
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// thriftID requests an ID like an unframed client of Twitter's Snowflake server with the user agent "web".
func thriftID(t testing.TB, address string) uint64 {
	t.Helper()
	id, failure := callThrift(t, address)
	if failure != "" {
		t.Fatalf("get_id: %s", failure)
	}
	return id
}

// thriftFailure returns the message of the exception that such a client gets; empty if it gets an ID.
func thriftFailure(t testing.TB, address string) string {
	t.Helper()
	_, failure := callThrift(t, address)
	return failure
}

func callThrift(t testing.TB, address string) (id uint64, failure string) {
	t.Helper()
	conn := reach(t, address)
	defer conn.Close()
	if _, err := io.WriteString(conn, "\x80\x01\x00\x01\x00\x00\x00\x06get_id\x00\x00\x00\x01\x0b\x00\x01\x00\x00\x00\x03web\x00"); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 18)
	read := func(size int) []byte {
		t.Helper()
		b := make([]byte, size)
		if _, err := io.ReadFull(conn, b); err != nil {
			t.Fatalf("get_id: %q, %v", head, err)
		}
		return b
	}
	head = read(len(head))
	const reply, exception = 2, 3
	switch head[3] {
	case reply:
		return binary.BigEndian.Uint64(read(12)[3:]), ""
	case exception:
		return 0, string(read(int(binary.BigEndian.Uint32(read(7)[3:]))))
	default:
		t.Fatalf("get_id: %q", head)
		return 0, ""
	}
}
