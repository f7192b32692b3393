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

// deaf is a connection that no longer reads.
type deaf struct {
	net.Conn
	from chan struct{} // closed when it begins
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

// UnreadAnswers makes so many calls on one connection, each of whose answers holds as many UUIDs as a call may
// request, and reads nothing from then on, until ctx ends.
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

// HugeHeaders opens connections to the API and sends a header of so many bytes on each, that never ends.
// The connections last as long as ctx. It returns how many bytes the member took.
func HugeHeaders(ctx context.Context, api string, connections, size int) (taken int64, err error) {
	const piece = 16 << 10
	// A literal header of a new name whose value is size bytes long.
	field := append([]byte{0, 1, 'x', 0x7f}, binary.AppendUvarint(nil, uint64(size-0x7f))...) //nolint:gosec // positive
	open := append([]byte(preface), frame(frameHeaders, 0, 1, field)...)                      // without an end
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

// Drip sends a Redis command byte by byte at intervals. It returns after how long the member closed the connection; it stops
// when the command is complete.
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

// Rebind sends what a browser sends to a member for a page of a site whose name was made to resolve to the
// member's address. It returns the status of the answer.
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

// OverTLS is the option of a gRPC client that looks at no certificate.
func OverTLS() grpc.DialOption {
	return grpc.WithTransportCredentials(credentials.NewTLS(unjudged()))
}
