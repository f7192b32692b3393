package frontend

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/server/redis"
)

// drainBudget is long enough for a busy machine to finish work that usually takes milliseconds.
const drainBudget = 4 * time.Second

// held is a backend and a service. The test or the member ends its calls.
type held struct {
	redis.Backend
	snowraftv1.UnimplementedClusterServiceServer
	arrived chan struct{} // receives the arrival of a call
	left    chan error    // receives the reason why a call ended
	release chan struct{}
}

func hold() *held {
	return &held{arrived: make(chan struct{}), left: make(chan error, 1), release: make(chan struct{})}
}

func (h *held) call(ctx context.Context) error {
	h.arrived <- struct{}{}
	var err error
	select {
	case <-h.release:
	case <-ctx.Done():
		err = ctx.Err()
	}
	h.left <- err
	return err
}

func (*held) TryNext(context.Context, string, uint64) (n redis.Numbers, ok bool) {
	return n, false
}

func (h *held) Next(ctx context.Context, _ string, _ uint64) (redis.Numbers, error) {
	return redis.Numbers{First: 1, Increment: 1}, h.call(ctx)
}

func (h *held) GetStatus(ctx context.Context, _ *snowraftv1.GetStatusRequest) (*snowraftv1.GetStatusResponse, error) {
	return &snowraftv1.GetStatusResponse{}, h.call(ctx)
}

// While a command over Redis's protocol is in flight, HTTP accepts no more requests.
func TestDrainShutsHTTPAtOnce(t *testing.T) {
	t.Parallel()
	h := hold()
	s := New(Config{State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"})})
	s.grpc, s.redis = grpc.NewServer(), redis.New(redis.Config{Backend: h, Logger: s.cfg.Logger, Meter: func(command string) redis.Meter { return s.kernel.Of(kernel.Redis, command) }})
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	go func() { _ = s.redis.Serve(l) }()
	client, err := l.dial(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Write([]byte("INCR a\r\n")); err != nil {
		t.Fatal(err)
	}
	<-h.arrived

	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.drain(t.Context(), drainBudget)
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for s.gate.Enter() == nil {
		s.gate.Leave()
		<-tick.C
	}
	select {
	case err := <-h.left:
		t.Fatalf("HTTP took requests until the command was cut off: %v", err)
	default:
	}
	close(h.release)
	answer := make([]byte, 16)
	if n, err := client.Read(answer); err != nil || string(answer[:n]) != ":1\r\n" {
		t.Errorf("the command in flight got %q, %v", answer[:n], err)
	}
	<-drained
}

// A slow HTTP client leaves enough time for gRPC calls to finish.
func TestDrainLeavesGRPCItsTime(t *testing.T) {
	t.Parallel()
	h := hold()
	s := New(Config{State: prometheus.NewGauge(prometheus.GaugeOpts{Name: "none"})})
	s.grpc = grpc.NewServer()
	snowraftv1.RegisterClusterServiceServer(s.grpc, h)
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	go func() { _ = s.grpc.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///pipe", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(l.dial))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answered := make(chan error, 1)
	go func() {
		_, err := snowraftv1.NewClusterServiceClient(conn).GetStatus(t.Context(), &snowraftv1.GetStatusRequest{})
		answered <- err
	}()
	<-h.arrived
	if err := s.gate.Enter(); err != nil {
		t.Fatal(err)
	}

	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.drain(t.Context(), drainBudget)
	}()
	// gRPC notifies the client that the connection accepts no more calls, and lets this call finish.
	if !conn.WaitForStateChange(t.Context(), connectivity.Ready) {
		t.Fatal("the connection was not notified")
	}
	close(h.release)
	if err := <-answered; err != nil {
		t.Errorf("the call in flight was cut off: %v", err)
	}
	<-drained
	s.gate.Leave()
	s.wg.Wait()
}
