package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// TestLeasesOfForeignGenerators leases a worker to a program with the IDs of a library that no lane can make.
func TestLeasesOfForeignGenerators(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		tsid, _ := snowflake.Preset("tsid")
		made, err := n.layouts.CreateLayout(t.Context(), &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(tsid.Spec())})
		if err != nil || !made.GetLayout().GetLeaseOnly() {
			t.Fatalf("CreateLayout() = %v, %v", made, err)
		}
		_, err = n.ids.GenerateIds(t.Context(), &snowraftv1.GenerateIdsRequest{Layout: "tsid", Count: 1})
		if reason(err) != rpc.InvalidArgument || !strings.Contains(err.Error(), `"tsid" only leases workers; issue IDs from another layout`) {
			t.Errorf("GenerateIds() of a layout for leases only: %v", err)
		}

		process := &snowraftv1.HolderProcess{Host: "web-1", ProcessId: "812", Kind: "worker run", Version: "1.4.0"}
		request := func() *snowraftv1.AcquireWorkerRequest {
			return &snowraftv1.AcquireWorkerRequest{
				Layout: "tsid", Holder: "app/0", Nonce: make([]byte, 16), ClockAtMs: time.Now().UnixMilli(), WindowMs: 60_000, Below: 2, Process: process,
			}
		}
		var grant *snowraftv1.Grant
		for worker := range uint64(2) {
			resp, err := n.workers.AcquireWorker(t.Context(), request())
			if err != nil || resp.GetGrant().GetWorker() != worker {
				t.Fatalf("AcquireWorker() = %v, %v, want worker %d", resp, err, worker)
			}
			grant = resp.GetGrant()
		}
		if _, err := n.workers.AcquireWorker(t.Context(), request()); reason(err) != rpc.WorkersExhausted {
			t.Errorf("AcquireWorker() with all workers below 2 held: %v", err)
		}
		many := request()
		many.Below = 1<<16 + 1
		if _, err := n.workers.AcquireWorker(t.Context(), many); reason(err) != rpc.InvalidArgument {
			t.Errorf("AcquireWorker() below 65537: %v", err)
		}

		list, err := n.workers.ListWorkers(t.Context(), &snowraftv1.ListWorkersRequest{Layout: "tsid"})
		if err != nil || len(list.GetWorkers()) != 2 || list.GetWorkers()[1].GetProcess().GetProcessId() != "812" {
			t.Errorf("ListWorkers() = %v, %v", list, err)
		}
		id, err := tsid.Pack(snowflake.Parts{Tick: grant.GetFromTick(), Worker: grant.GetWorker(), Sequence: 4000})
		if err != nil {
			t.Fatal(err)
		}
		who, err := n.ids.WhoIs(t.Context(), &snowraftv1.WhoIsRequest{Id: int64(id), Layout: "tsid"})
		if err != nil || rpc.ProcessText(who.GetGrant().GetProcess()) != "worker run 1.4.0, PID 812 on web-1" {
			t.Errorf("WhoIs() = %v, %v", who, err)
		}
	})
}

func TestTokenShareIsASetting(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		update := func(percent int32) (int32, error) {
			resp, err := n.cluster.UpdateConfig(t.Context(), &snowraftv1.UpdateConfigRequest{Config: &snowraftv1.Config{TokenWorkersPercent: &percent}})
			return resp.GetConfig().GetTokenWorkersPercent(), err
		}
		before, err := n.cluster.GetConfig(t.Context(), &snowraftv1.GetConfigRequest{})
		if err != nil || before.GetConfig().GetTokenWorkersPercent() != 50 {
			t.Errorf("GetConfig() = %v, %v, want 50 percent", before, err)
		}
		if p, err := update(90); err != nil || p != 90 {
			t.Errorf("UpdateConfig() = %d, %v", p, err)
		}
		if _, err := update(101); reason(err) != rpc.InvalidArgument {
			t.Errorf("UpdateConfig() with 101 percent: %v", err)
		}
	})
}
