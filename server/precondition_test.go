package server_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// A change has no effect over any protocol if the generation is not the one that the caller expects.
func TestChangesOfAnotherGenerationDoNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n, g := follower(t, nodes), inFront(t, nodes)
		ctx := t.Context()
		n.createSequence(&snowraftv1.Sequence{Name: "s"})
		present := func() (sequence, config uint64) {
			t.Helper()
			resp, err := leader(t, nodes).sequences.GetSequence(ctx, &snowraftv1.GetSequenceRequest{Name: "s"})
			if err != nil {
				t.Fatal(err)
			}
			current, err := leader(t, nodes).cluster.GetConfig(ctx, &snowraftv1.GetConfigRequest{})
			if err != nil {
				t.Fatal(err)
			}
			return resp.GetSequence().GetGeneration(), current.GetConfig().GetGeneration()
		}
		sequence, config := present()
		for _, expected := range []uint64{0, 1, sequence + 1_000_000} {
			for what, c := range map[string]struct {
				err     error
				present uint64
			}{
				"update": {second(n.sequences.UpdateSequence(ctx, &snowraftv1.UpdateSequenceRequest{
					Sequence: &snowraftv1.Sequence{Name: "s", Description: "x"}, ExpectedGeneration: &expected, Force: true})), sequence},
				"delete": {second(n.sequences.DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: "s", ExpectedGeneration: &expected})), sequence},
				"set": {second(n.sequences.SetNext(ctx, &snowraftv1.SetNextRequest{
					Sequence: "s", Next: 7, ExpectedGeneration: &expected, Force: true})), sequence},
				"configure": {second(n.cluster.UpdateConfig(ctx, &snowraftv1.UpdateConfigRequest{
					Config: &snowraftv1.Config{MaxWindowMs: proto.Int64(5000)}, ExpectedGeneration: &expected})), config},
			} {
				e := rpc.FromError(c.err)
				if e.Code != codes.Aborted || e.Reason != rpc.GenerationMismatch || e.RetryAfter != 0 || e.Metadata[rpc.MetadataGeneration] != strconv.FormatUint(c.present, 10) {
					t.Errorf("%s with generation %d: %v, metadata %v, want generation %d", what, expected, c.err, e.Metadata, c.present)
				}
			}
		}
		for _, c := range []struct{ method, path, body string }{
			{"PATCH", "/v1/sequences/s?expectedGeneration=1", `{"description": "x"}`},
			{"DELETE", "/v1/sequences/s?expectedGeneration=1", ""},
			{"POST", "/v1/sequences:setNext", `{"sequence": "s", "next": "7", "expectedGeneration": "1"}`},
			{"PATCH", "/v1/config?expectedGeneration=1", `{"maxWindowMs": "5000"}`},
		} {
			if code, body := g.ask(c.method, c.path, c.body); code != 409 || !strings.Contains(body, rpc.GenerationMismatch) {
				t.Errorf("%s %s %s at the gateway: %d %s", c.method, c.path, c.body, code, body)
			}
		}
		if s, c := present(); s != sequence || c != config {
			t.Errorf("generations %d and %d after refused changes, want %d and %d", s, c, sequence, config)
		}
		if code, body := g.ask("PATCH", "/v1/config?expectedGeneration="+strconv.FormatUint(config, 10), `{"maxWindowMs": "5000"}`); code != 200 {
			t.Errorf("configured as expected: %d %s", code, body)
		}
		set, err := n.sequences.SetNext(ctx, &snowraftv1.SetNextRequest{Sequence: "s", Next: 700, ExpectedGeneration: &sequence})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.sequences.SetNext(ctx, &snowraftv1.SetNextRequest{Sequence: "s", Next: 800, ExpectedGeneration: &sequence}); reason(err) != rpc.GenerationMismatch {
			t.Errorf("SetNext with the old generation: %v", err)
		}
		if _, err := n.sequences.DeleteSequence(ctx, &snowraftv1.DeleteSequenceRequest{Name: "s", ExpectedGeneration: new(set.GetSequence().GetGeneration())}); err != nil {
			t.Error(err)
		}
	})
}

// Members and gateways reject a change with unknown fields, including nested fields. They issue IDs despite unknown fields.
func TestChangesWithUnknownFieldsAreRefused(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n, g := follower(t, nodes), inFront(t, nodes)
		n.createSequence(&snowraftv1.Sequence{Name: "s"})
		unknown := func(m, in proto.Message) proto.Message {
			in.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 999, protowire.VarintType), 1))
			return m
		}
		deletion, update := &snowraftv1.DeleteSequenceRequest{Name: "s"}, &snowraftv1.UpdateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "s", Description: "x"}}
		masked := &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"max_window_ms"}}}
		generate, next, last := &snowraftv1.GenerateIdsRequest{Count: 1}, &snowraftv1.NextNumbersRequest{Sequence: "s", Count: 1}, &snowraftv1.GetLastRequest{Sequence: "s"}
		acquire := &snowraftv1.AcquireWorkerRequest{Holder: "h", ClockAtMs: time.Now().UnixMilli()}
		for _, c := range []struct {
			method string
			req    proto.Message
			want   codes.Code
		}{
			{snowraftv1.SequenceService_DeleteSequence_FullMethodName, unknown(deletion, deletion), codes.InvalidArgument},
			{snowraftv1.SequenceService_UpdateSequence_FullMethodName, unknown(update, update.GetSequence()), codes.InvalidArgument},
			{snowraftv1.ClusterService_UpdateConfig_FullMethodName, unknown(masked, masked.GetUpdateMask()), codes.InvalidArgument},
			{snowraftv1.IdService_GenerateIds_FullMethodName, unknown(generate, generate), codes.OK},
			{snowraftv1.SequenceService_GetLast_FullMethodName, unknown(last, last), codes.OK},
			{snowraftv1.SequenceService_NextNumbers_FullMethodName, unknown(next, next), codes.InvalidArgument},
			{snowraftv1.WorkerService_AcquireWorker_FullMethodName, unknown(acquire, acquire), codes.InvalidArgument},
		} {
			for at, conn := range map[string]interface {
				Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error
			}{"follower": n.conn, "leader": leader(t, nodes).conn, "gateway": g.conn} {
				if err := conn.Invoke(t.Context(), c.method, c.req, rpc.RuleOf(c.method).Reply()); status.Code(err) != c.want {
					t.Errorf("%s at the %s: %v, want %v", c.method, at, err, c.want)
				}
			}
		}
		resp, err := n.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "s"})
		if err != nil || resp.GetSequence().GetDescription() != "" {
			t.Errorf("after the refused changes: %v, %v", resp, err)
		}
	})
}

// Every value that is set is used or rejected. Only the mask sets a default.
func TestConfigUpdateChangesNamedFields(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		update := func(c *snowraftv1.Config, mask ...string) (*snowraftv1.Config, error) {
			req := &snowraftv1.UpdateConfigRequest{Config: c}
			if mask != nil {
				req.UpdateMask = &fieldmaskpb.FieldMask{Paths: mask}
			}
			resp, err := n.cluster.UpdateConfig(t.Context(), req)
			return resp.GetConfig(), err
		}
		want, err := update(&snowraftv1.Config{MaxWindowMs: proto.Int64(5000), WaitThresholdMs: proto.Int64(70)})
		if err != nil || want.GetMaxWindowMs() != 5000 || want.GetWaitThresholdMs() != 70 || want.GetMaxClockOffsetMs() != 500 {
			t.Fatalf("%v, %v", want, err)
		}
		for what, c := range map[string]struct {
			config *snowraftv1.Config
			mask   []string
		}{
			"no config":            {},
			"a window of 0":        {config: &snowraftv1.Config{MaxWindowMs: proto.Int64(0)}},
			"an offset of 0":       {config: &snowraftv1.Config{MaxClockOffsetMs: proto.Int64(0)}, mask: []string{"max_clock_offset_ms"}},
			"no policy":            {config: &snowraftv1.Config{Rollback: snowraftv1.RollbackPolicy_ROLLBACK_POLICY_UNSPECIFIED.Enum()}},
			"an unknown policy":    {config: &snowraftv1.Config{Rollback: snowraftv1.RollbackPolicy(77).Enum()}},
			"output only":          {config: &snowraftv1.Config{Generation: 1}, mask: []string{"generation"}},
			"a field that is none": {config: &snowraftv1.Config{}, mask: []string{"max_window_ms", "max_window"}},
		} {
			if _, err := update(c.config, c.mask...); reason(err) != rpc.InvalidArgument {
				t.Errorf("%s: %v", what, err)
			}
		}
		if got, err := update(&snowraftv1.Config{}); err != nil || !proto.Equal(got, want) {
			t.Errorf("nothing named: %v, %v; want %v", got, err, want)
		}
		got, err := update(&snowraftv1.Config{MaxWindowMs: proto.Int64(6000), MaxClockOffsetMs: proto.Int64(100)}, "max_window_ms", "wait_threshold_ms")
		if err != nil || got.GetMaxWindowMs() != 6000 || got.GetWaitThresholdMs() != 1000 || got.GetMaxClockOffsetMs() != 500 || got.GetGeneration() <= want.GetGeneration() {
			t.Errorf("a mask of two: %v, %v", got, err)
		}
	})
}
