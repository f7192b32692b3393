package server_test

import (
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		ctx := t.Context()
		call := func(r *snowraftv1.GenerateIdsRequest) error { _, err := n.ids.GenerateIds(ctx, r); return err }
		for _, c := range []struct {
			name   string
			err    error
			code   codes.Code
			reason string
		}{
			{"too many", call(&snowraftv1.GenerateIdsRequest{Count: 1_000_001}), codes.InvalidArgument, rpc.InvalidArgument},
			{"too many packed", call(&snowraftv1.GenerateIdsRequest{Count: 500_001, Packed: new(true)}), codes.InvalidArgument, rpc.InvalidArgument},
			{"unknown layout", call(&snowraftv1.GenerateIdsRequest{Layout: "nope"}), codes.NotFound, rpc.UnknownLayout},
			{"after far in the future", call(&snowraftv1.GenerateIdsRequest{After: 1 << 62}), codes.InvalidArgument, rpc.InvalidArgument},
			{"after all", call(&snowraftv1.GenerateIdsRequest{After: 1<<63 - 1}), codes.InvalidArgument, rpc.InvalidArgument},
			{"after a negative ID", call(&snowraftv1.GenerateIdsRequest{After: -1}), codes.InvalidArgument, rpc.InvalidArgument},
			{"after the lowest number", call(&snowraftv1.GenerateIdsRequest{After: math.MinInt64, Packed: new(true)}), codes.InvalidArgument, rpc.InvalidArgument},
			{"a negative ID to decode", second(n.ids.DecodeId(ctx, &snowraftv1.DecodeIdRequest{Id: -12345})), codes.InvalidArgument, rpc.InvalidArgument},
			{"whois of a negative ID", second(n.ids.WhoIs(ctx, &snowraftv1.WhoIsRequest{Id: -12345})), codes.InvalidArgument, rpc.InvalidArgument},
			{"bad nonce", second(n.workers.AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{Holder: "x", Nonce: []byte("short"), ClockAtMs: time.Now().UnixMilli(), WindowMs: 1000})),
				codes.InvalidArgument, rpc.InvalidArgument},
			{"bad holder", second(n.workers.AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{Holder: "a b", Nonce: make([]byte, 16), ClockAtMs: time.Now().UnixMilli(), WindowMs: 1000})),
				codes.InvalidArgument, rpc.InvalidArgument},
			{"a client an hour ahead", second(n.workers.AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{Holder: "x", Nonce: make([]byte, 16), ClockAtMs: time.Now().Add(time.Hour).UnixMilli(), WindowMs: 1000})),
				codes.Unavailable, rpc.ClockSkew},
			{"a client an hour behind", second(n.workers.AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{Holder: "x", Nonce: make([]byte, 16), ClockAtMs: time.Now().Add(-time.Hour).UnixMilli(), WindowMs: 1000})),
				codes.Unavailable, rpc.ClockBehind},
			{"an extension of nothing", second(n.workers.ExtendWindow(ctx, &snowraftv1.ExtendWindowRequest{Worker: 7, Token: 1, Nonce: make([]byte, 16), UntilTick: 5, ClockAtMs: time.Now().UnixMilli(), WindowMs: 1000, ExtensionId: 1})),
				codes.Aborted, rpc.WindowMismatch},
			{"whois of an ID that was not issued", second(n.ids.WhoIs(ctx, &snowraftv1.WhoIsRequest{Id: 12345})), codes.NotFound, rpc.NotGranted},
			{"a bad page token", second(n.workers.ListWorkers(ctx, &snowraftv1.ListWorkersRequest{PageToken: "x"})), codes.InvalidArgument, rpc.InvalidArgument},
			{"a config out of range", second(n.cluster.UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{MaxWindowMs: proto.Int64(1)}})), codes.InvalidArgument, rpc.InvalidArgument},
			{"a layout of nothing", second(n.layouts.CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{})), codes.InvalidArgument, rpc.InvalidArgument},
		} {
			if status.Code(c.err) != c.code || reason(c.err) != c.reason {
				t.Errorf("%s: %v [%s]", c.name, c.err, reason(c.err))
			}
		}
		n.mustGenerate(1)
	})
}

func second[T any](_ T, err error) error { return err }
