package server_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// wideTime is a layout whose time field holds almost any instant.
func wideTime(t *testing.T, n *node) string {
	t.Helper()
	l := small("wide-time")
	l.Fields[0].Bits, l.Fields[1].Bits, l.Fields[2].Bits = 60, 1, 1
	if _, err := n.layouts.CreateLayout(t.Context(), &snowraftv1.CreateLayoutRequest{Layout: l}); err != nil {
		t.Fatal(err)
	}
	return l.GetName()
}

// Members do not trust requests of embedded clients: an invalid request is rejected before it is in the log, and takes no
// worker.
func TestInvalidWorkerRequestsAreRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 1)
		n := nodes[0]
		wide := wideTime(t, n)
		good := func() *snowraftv1.AcquireWorkerRequest {
			return &snowraftv1.AcquireWorkerRequest{Layout: wide, Holder: "h", Nonce: make([]byte, 16), ClockAtMs: time.Now().UnixMilli(), WindowMs: 1000}
		}
		grant, err := n.workers.AcquireWorker(t.Context(), good())
		if err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct {
			wrong  func(*snowraftv1.AcquireWorkerRequest)
			reason string
		}{
			"no holder":       {func(r *snowraftv1.AcquireWorkerRequest) { r.Holder = "" }, rpc.InvalidArgument},
			"long holder":     {func(r *snowraftv1.AcquireWorkerRequest) { r.Holder = strings.Repeat("h", 129) }, rpc.InvalidArgument},
			"reserved holder": {func(r *snowraftv1.AcquireWorkerRequest) { r.Holder = "$a" }, rpc.InvalidArgument},
			"holder not NFC":  {func(r *snowraftv1.AcquireWorkerRequest) { r.Holder = "cafe\u0301" }, rpc.InvalidArgument},
			"space in holder": {func(r *snowraftv1.AcquireWorkerRequest) { r.Holder = "a b" }, rpc.InvalidArgument},
			"no nonce":        {func(r *snowraftv1.AcquireWorkerRequest) { r.Nonce = nil }, rpc.InvalidArgument},
			"long nonce":      {func(r *snowraftv1.AcquireWorkerRequest) { r.Nonce = make([]byte, 17) }, rpc.InvalidArgument},
			"no window":       {func(r *snowraftv1.AcquireWorkerRequest) { r.WindowMs = 0 }, rpc.InvalidArgument},
			"negative window": {func(r *snowraftv1.AcquireWorkerRequest) { r.WindowMs = math.MinInt64 }, rpc.InvalidArgument},
			"an hour ahead":   {func(r *snowraftv1.AcquireWorkerRequest) { r.ClockAtMs += time.Hour.Milliseconds() }, rpc.ClockSkew},
			"an hour behind":  {func(r *snowraftv1.AcquireWorkerRequest) { r.ClockAtMs -= time.Hour.Milliseconds() }, rpc.ClockBehind},
			"no clock":        {func(r *snowraftv1.AcquireWorkerRequest) { r.ClockAtMs = 0 }, rpc.ClockBehind},
			"end of time":     {func(r *snowraftv1.AcquireWorkerRequest) { r.ClockAtMs = math.MaxInt64 - 1e6 }, rpc.ClockSkew},
			"before time":     {func(r *snowraftv1.AcquireWorkerRequest) { r.ClockAtMs = math.MinInt64 }, rpc.ClockBehind},
			// In nanoseconds the distance is a multiple of 1<<64.
			"wrapping around": {func(r *snowraftv1.AcquireWorkerRequest) { r.ClockAtMs += 1 << 58 }, rpc.ClockSkew},
		} {
			before := n.status().GetAppliedIndex()
			request := good()
			c.wrong(request)
			const times = 20
			var err error
			for range times {
				if _, err = n.workers.AcquireWorker(t.Context(), request); reason(err) != c.reason {
					t.Errorf("%s: %v", what, err)
				}
			}
			if c.reason == rpc.InvalidArgument && status.Code(err) != codes.InvalidArgument {
				t.Errorf("%s: %v", what, status.Code(err))
			}
			if applied := n.status().GetAppliedIndex(); applied >= before+times { // the leader observes its clock meanwhile
				t.Errorf("%s: the log has %d entries more", what, applied-before)
			}
		}
		// A holder cannot keep its worker permanently either.
		_, err = n.workers.ExtendWindow(t.Context(), &snowraftv1.ExtendWindowRequest{
			Layout: wide, Worker: grant.GetGrant().GetWorker(), Token: grant.GetGrant().GetToken(), Nonce: make([]byte, 16), UntilTick: grant.GetGrant().GetUntilTick(),
			ClockAtMs: time.Now().UnixMilli() + 1<<58, WindowMs: 1000, ExtensionId: 1,
		})
		if reason(err) != rpc.ClockSkew {
			t.Errorf("an extension from the far future: %v", err)
		}
		longest, err := n.workers.AcquireWorker(t.Context(), &snowraftv1.AcquireWorkerRequest{
			Layout: wide, Holder: "h", Nonce: make([]byte, 16), ClockAtMs: time.Now().UnixMilli(), WindowMs: math.MaxInt64,
		})
		if err != nil {
			t.Fatal(err)
		}
		if g := longest.GetGrant(); g.GetUntilTick()-g.GetFromTick() > g.GetMaxWindowMs() {
			t.Errorf("a window of %d ms, %d is the most", g.GetUntilTick()-g.GetFromTick(), g.GetMaxWindowMs())
		}
	})
}
