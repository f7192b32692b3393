package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/snowflake"
)

func small(name string) *snowraftv1.Layout {
	return &snowraftv1.Layout{
		Name: name, UnitMs: 1, EpochAtMs: time.Now().Add(-time.Hour).UnixMilli(),
		Fields: []*snowraftv1.Field{
			{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 41},
			{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 3},
			{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 9},
		},
	}
}

func TestLayoutsFromAnyMember(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		all := make(map[string]seen)
		for i, n := range nodes {
			l := small(fmt.Sprintf("l%d", i))
			created, err := n.layouts.CreateLayout(t.Context(), &snowraftv1.CreateLayoutRequest{Layout: l})
			if err != nil {
				t.Fatal(err)
			}
			if created.GetLayout().GetExhaustsAtMs() == 0 {
				t.Error("the answer does not say when the layout is exhausted")
			}
			// A repeated creation succeeds; another layout under the same name is rejected.
			if _, err := n.layouts.CreateLayout(t.Context(), &snowraftv1.CreateLayoutRequest{Layout: l}); err != nil {
				t.Error(err)
			}
			l.EpochAtMs--
			if _, err := n.layouts.CreateLayout(t.Context(), &snowraftv1.CreateLayoutRequest{Layout: l}); reason(err) != rpc.LayoutExists || status.Code(err) != codes.AlreadyExists {
				t.Errorf("another layout under the name: %v", err)
			}
			// The layout is usable on every member immediately.
			all[l.GetName()] = make(seen)
			for _, o := range nodes {
				resp, err := o.ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{Layout: l.GetName(), Count: 100})
				if err != nil {
					t.Fatalf("%s on %s: %v", l.GetName(), o.cfg.Name, err)
				}
				all[l.GetName()].add(t, o.cfg.Name, expand(resp)...)
			}
		}
		var names []string
		for token := ""; ; {
			page, err := nodes[0].layouts.ListLayouts(t.Context(), &snowraftv1.ListLayoutsRequest{PageSize: 2, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range page.GetLayouts() {
				names = append(names, l.GetName())
			}
			if token = page.GetNextPageToken(); token == "" {
				break
			}
		}
		if got := strings.Join(names, " "); got != "default l0 l1 l2" {
			t.Errorf("layouts: %s", got)
		}
		_, err := nodes[1].layouts.CreateLayout(t.Context(), &snowraftv1.CreateLayoutRequest{Layout: exhausted()})
		if reason(err) != rpc.TimeExhausted {
			t.Errorf("an exhausted layout: %v", err)
		}
	})
}

func exhausted() *snowraftv1.Layout {
	preset, _ := snowflake.Preset("baidu")
	spec := preset.Spec()
	l := &snowraftv1.Layout{Name: "gone", UnitMs: spec.UnitMillis, EpochAtMs: spec.EpochMillis}
	for _, f := range spec.Fields {
		l.Fields = append(l.Fields, &snowraftv1.Field{Kind: snowraftv1.FieldKind(f.Field), Bits: uint32(f.Bits)})
	}
	return l
}

func TestDecodeAndWorkers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		for _, n := range nodes {
			id := n.mustGenerate(1)[0]
			d, err := n.ids.DecodeId(t.Context(), &snowraftv1.DecodeIdRequest{Id: id})
			if err != nil {
				t.Fatal(err)
			}
			if age := time.Since(time.UnixMilli(d.GetTickAtMs())); age < -time.Second || age > 10*time.Second {
				t.Errorf("decoded an ID of now as %v old", age)
			}
			list, err := n.workers.ListWorkers(t.Context(), &snowraftv1.ListWorkersRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if list.GetCapacity() != 1024 || list.GetUsed() < 3 {
				t.Errorf("%d of %d workers used", list.GetUsed(), list.GetCapacity())
			}
			w := list.GetWorkers()[d.GetWorker()]
			if w.GetHolder() != n.cfg.Name+"/0" || w.GetState() != snowraftv1.WorkerState_WORKER_STATE_HELD {
				t.Errorf("worker %d: %v", d.GetWorker(), w)
			}
		}
		// Presets can decode IDs without a layout in the cluster.
		d, err := nodes[0].ids.DecodeId(t.Context(), &snowraftv1.DecodeIdRequest{Id: 1541815603606036480, Layout: "twitter"})
		if err != nil || d.GetDatacenter() != 11 || d.GetWorker() != 26 || d.GetTickAtMs() != 1656432460105 {
			t.Errorf("%v, %v", d, err)
		}
	})
}

func TestPackedAndStreamedIDs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		all := make(seen)
		resp, err := n.ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{Count: 100_000, Packed: new(true)})
		if err != nil || len(resp.GetIds()) != 100_000 {
			t.Fatalf("%d IDs, %v", len(resp.GetIds()), err)
		}
		all.add(t, "packed", resp.GetIds()...)
		stream, err := n.ids.StreamIds(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last := resp.GetIds()[99_999]
		for range 100 {
			if err := stream.Send(&snowraftv1.StreamIdsRequest{Id: 1, Request: &snowraftv1.GenerateIdsRequest{Count: 1000, After: last}}); err != nil {
				t.Fatal(err)
			}
			r, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			ids := expand(r.GetResponse())
			for _, id := range ids {
				if id <= last {
					t.Fatalf("%d after %d", id, last)
				}
				last = id
			}
			all.add(t, "stream", ids...)
		}
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("the stream ends with %v", err)
		}
	})
}

func TestAfterAcrossMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		var last int64
		for i := range 300 {
			n := nodes[i%3]
			ids, err := n.generate(uint32(1+i%50), last)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if id <= last {
					t.Fatalf("%s answered %d after %d", n.cfg.Name, id, last)
				}
				last = id
			}
		}
	})
}

func TestConfigReachesAllMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3, func(c *server.Config) { c.MaxWindow = time.Minute })
		n := follower(t, nodes)
		resp, err := n.cluster.UpdateConfig(t.Context(), &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{
			WaitThresholdMs: proto.Int64(2500), Rollback: snowraftv1.RollbackPolicy_ROLLBACK_POLICY_SWAP.Enum(),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if c := resp.GetConfig(); c.GetMaxWindowMs() != 60_000 || c.GetWaitThresholdMs() != 2500 || c.GetMaxClockOffsetMs() != 500 {
			t.Errorf("config is %v", c)
		}
		for _, n := range nodes {
			until(t, n.cfg.Name+" follows", func() bool {
				l := n.server.Member().Clock().Limits()
				return l.WaitThreshold == 2500*time.Millisecond && l.Swap
			})
		}
	})
}

func TestHealthOverHTTP(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n := nodes[0]
		n.mustGenerate(10)
		get := func(path string) (int, string) {
			resp, err := browser(t).Get("http://" + n.server.HTTPAddr() + path)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp.StatusCode, string(body)
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			if code, body := get(path); code != http.StatusOK || body != "ok\n" {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
		code, body := get("/metrics")
		for _, want := range []string{
			`snowraft_ids_issued_total{layout="default"} 10`, "snowraft_ready 1", `snowraft_members{alive="true",role="voter"} 3`,
			`snowraft_layout_workers{layout="default"} 1024`, `snowraft_layout_workers_held{layout="default"} `, `snowraft_layout_workers_free{layout="default"} 102`,
			"snowraft_observed_clock_timestamp_seconds ", `snowraft_lane_serve_until_timestamp_seconds{lane="0",layout="default"} `,
		} {
			if code != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("/metrics lacks %q", want)
			}
		}
		n.setClock(-10 * time.Second)
		if code, body := get("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "behind") {
			t.Errorf("/readyz with the clock back: %d %s", code, body)
		}
	})
}

func TestMissingLeaderIsReportedAfterWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n := follower(t, nodes)
		for _, o := range nodes {
			if o != n {
				o.crash() // at once: an orderly stop may take longer than the first window
			}
		}
		n.mustGenerate(10) // IDs of the granted window
		began := time.Now()
		_, err := n.layouts.CreateLayout(t.Context(), &snowraftv1.CreateLayoutRequest{Layout: small("x")})
		if r := reason(err); r != rpc.NoLeader && r != rpc.CommitUnknown {
			t.Errorf("without a quorum: %v", err)
		}
		if took := time.Since(began); took < time.Second || took > 6*time.Second {
			t.Errorf("the error took %v, want 1 s to 6 s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := n.layouts.CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{Layout: small("x")}); err == nil {
			t.Error("created without a quorum")
		}
	})
}

func TestWorkersExhaustedHasRetryTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		l := small("tiny")
		if _, err := n.layouts.CreateLayout(t.Context(), &snowraftv1.CreateLayoutRequest{Layout: l}); err != nil {
			t.Fatal(err)
		}
		acquire := func() (*snowraftv1.AcquireWorkerResponse, error) {
			return n.workers.AcquireWorker(t.Context(), &snowraftv1.AcquireWorkerRequest{
				Layout: "tiny", Holder: "h", Nonce: make([]byte, 16), ClockAtMs: time.Now().UnixMilli(), WindowMs: 3000,
			})
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		workers := make(map[uint64]bool)
		for range 8 {
			wg.Go(func() {
				r, err := acquire()
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				workers[r.GetGrant().GetWorker()] = true
			})
		}
		wg.Wait()
		if len(workers) != 8 {
			t.Fatalf("%d different workers", len(workers))
		}
		_, err := acquire()
		e := rpc.FromError(err)
		if e.Code != codes.ResourceExhausted || e.Reason != rpc.WorkersExhausted || e.RetryAfter < time.Second || e.RetryAfter > 3*time.Second {
			t.Fatalf("%v, retry after %v", err, e.RetryAfter)
		}
		again := time.NewTimer(e.RetryAfter)
		<-again.C
		if _, err := acquire(); err != nil {
			t.Errorf("after the time it named: %v", err)
		}
	})
}
