package server_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
)

// A gateway that shuts down finishes the calls in progress, and rejects later calls as unavailable.
func TestGatewayCloses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 1, func(c *server.Config) { c.RedisCreate = "strict" })
		nodes[0].mustGenerate(1)
		before := goleak.IgnoreCurrent()
		g := openGateway(t, nodes[0].server.APIAddr())
		until(t, "the gateway is ready", func() bool { return g.Ready() == nil })
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		var answered atomic.Int64
		for range 4 {
			asking.Go(func() {
				for ctx.Err() == nil {
					breathe()
					_, err := g.ids.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{})
					switch {
					case err == nil:
						answered.Add(1)
					case status.Code(err) == codes.Unavailable, errors.Is(err, context.Canceled), status.Code(err) == codes.Canceled:
						return
					default:
						t.Errorf("while it closes: %v", err)
						return
					}
				}
			})
		}
		until(t, "there are answers", func() bool { return answered.Load() > 100 })
		if code, _ := g.ask("GET", "/id", ""); code != http.StatusOK {
			t.Errorf("/id: %d", code)
		}
		if got := g.redis("INCR a"); got != ":1" {
			t.Errorf("INCR: %s", got)
		}
		began := time.Now()
		g.shut()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("shutdown took %v, want at most 3 s", took)
		}
		cancel()
		asking.Wait()
		if g.Ready() == nil {
			t.Error("a closed gateway is ready")
		}
		nodes[0].stop()
		var left error
		defer func() {
			if left != nil {
				t.Log(left)
			}
		}()
		until(t, "no goroutine is left", func() bool {
			left = goleak.Find(before)
			return left == nil
		})
	})
}

// sent reports that the first call on a connection has been written.
type sent struct{ first chan struct{} }

func (sent) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (s sent) HandleRPC(_ context.Context, event stats.RPCStats) {
	if _, ok := event.(*stats.OutPayload); ok {
		select {
		case s.first <- struct{}{}:
		default:
		}
	}
}
func (sent) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (sent) HandleConn(context.Context, stats.ConnStats)                       {}

// A call that is in progress when a gateway closes is answered.
func TestGatewayDrains(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		g := inFront(t, startCluster(t, 1))
		ids, err := g.generate(1, 0)
		if err != nil {
			t.Fatal(err)
		}
		event := sent{make(chan struct{}, 1)}
		conn := connect(t, g.APIAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(event))
		defer conn.Close()
		client := snowraftv1.NewIdServiceClient(conn)
		answer := make(chan error, 1)
		go func() {
			_, err := client.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{After: ids[0] + 700<<22}) // the member waits that long
			answer <- err
		}()
		<-event.first
		if _, err := client.DecodeId(t.Context(), &snowraftv1.DecodeIdRequest{Id: 1}); err != nil { // earlier calls have arrived
			t.Fatal(err)
		}
		g.shut()
		if err := <-answer; err != nil {
			t.Errorf("a call in progress got %v", err)
		}
	})
}
