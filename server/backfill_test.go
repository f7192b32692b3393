package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// createPast creates the layout "past", whose epoch is ten years before now.
func createPast(t *testing.T, n *node) *snowflake.Layout {
	t.Helper()
	spec := snowflake.Default().Spec()
	spec.Name, spec.Past, spec.EpochMillis = "past", true, time.Now().AddDate(-10, 0, 0).UnixMilli()
	made, err := n.layouts.CreateLayout(t.Context(), &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(spec)})
	if err != nil || !made.GetLayout().GetPast() {
		t.Fatalf("CreateLayout() = %v, %v", made, err)
	}
	return snowflake.MustNew(spec)
}

// TestBackfill issues IDs of the past by any member, over gRPC and HTTP, and repeats requests.
func TestBackfill(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		n, epoch := nodes[0], time.Now().AddDate(-10, 0, 0).UnixMilli()
		past := createPast(t, n)
		first := snowraftv1.NewBackfillServiceClient(n.conn)
		if _, err := first.StartBackfill(t.Context(), &snowraftv1.StartBackfillRequest{Layout: "default"}); reason(err) != rpc.NoPast {
			t.Errorf("StartBackfill() of a layout without a past: %v", err)
		}
		var job uint64
		for i, node := range nodes { // the leader, and followers
			started, err := snowraftv1.NewBackfillServiceClient(node.conn).StartBackfill(t.Context(), &snowraftv1.StartBackfillRequest{Layout: "past"})
			if err != nil || started.GetBackfill().GetJob() != uint64(i) {
				t.Fatalf("StartBackfill() = %v, %v, want job %d", started, err, i)
			}
			job = started.GetBackfill().GetJob()
		}
		var all []int64
		position := int64(0)
		for batch := range 6 {
			node := nodes[batch%len(nodes)]
			req := &snowraftv1.BackfillIdsRequest{Layout: "past", Job: job, Position: position, RequestId: string(rune('a' + batch))}
			for row := range int64(50) {
				req.TimesMs = append(req.TimesMs, epoch+int64(batch)*86_400_000+row*1000)
			}
			resp, err := snowraftv1.NewBackfillServiceClient(node.conn).BackfillIds(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			again, err := first.BackfillIds(t.Context(), req)
			if err != nil || !slices.Equal(again.GetIds(), resp.GetIds()) {
				t.Fatalf("the same request got %v, %v", again, err)
			}
			req.RequestId += "2"
			if _, err := first.BackfillIds(t.Context(), req); reason(err) != rpc.BackfillPosition {
				t.Errorf("another request at the same position: %v", err)
			}
			for i, id := range resp.GetIds() {
				if p, err := past.Unpack(uint64(id)); err != nil || past.MillisAt(p.Tick) != req.GetTimesMs()[i] || p.Worker != job {
					t.Fatalf("row %d at %d got %+v", i, req.GetTimesMs()[i], p)
				}
			}
			all, position = append(all, resp.GetIds()...), resp.GetPosition()
		}
		if sorted := slices.Compact(slices.Sorted(slices.Values(all))); !slices.Equal(sorted, all) {
			t.Error("the IDs are not ascending and distinct")
		}
		for name, at := range map[string]int64{"before the epoch": epoch - 1, "from the creation on": time.Now().UnixMilli()} {
			_, err := first.BackfillIds(t.Context(), &snowraftv1.BackfillIdsRequest{Layout: "past", RequestId: "x", TimesMs: []int64{at}})
			if reason(err) != rpc.InvalidArgument || !strings.Contains(err.Error(), "row 0 of the request") {
				t.Errorf("a time %s: %v", name, err)
			}
		}
		n.untilApplied(nodes)
		who, err := n.ids.WhoIs(t.Context(), &snowraftv1.WhoIsRequest{Id: all[0], Layout: "past"})
		if err != nil || who.GetBackfill().GetJob() != job || who.GetGrant() != nil {
			t.Errorf("WhoIs() = %v, %v, want job %d", who, err, job)
		}

		body := fmt.Sprintf(`{"position": "0", "timesMs": ["%d", %d], "requestId": "http"}`, epoch, epoch+5)
		resp, err := browser(t).Post("http://"+n.server.HTTPAddr()+"/v1/layouts/past/backfills/0:issue", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		var issued struct{ IDs []string }
		if err := json.Unmarshal(text, &issued); err != nil || resp.StatusCode != http.StatusOK || len(issued.IDs) != 2 {
			t.Errorf("POST of two rows = %d %s, %v", resp.StatusCode, text, err)
		}
		if _, err := first.EndBackfill(t.Context(), &snowraftv1.EndBackfillRequest{Layout: "past", Job: 1}); err != nil {
			t.Fatal(err)
		}
		_, err = first.BackfillIds(t.Context(), &snowraftv1.BackfillIdsRequest{Layout: "past", Job: 1, RequestId: "x", TimesMs: []int64{epoch}})
		if reason(err) != rpc.BackfillEnded {
			t.Errorf("a batch of an ended job: %v", err)
		}
		n.untilApplied(nodes) // the list is that of its replica
		list, err := first.ListBackfills(t.Context(), &snowraftv1.ListBackfillsRequest{Layout: "past", PageSize: 2})
		if err != nil || len(list.GetBackfills()) != 2 || !list.GetBackfills()[1].GetEnded() || list.GetNextPageToken() != "2" || list.GetNextJob() != 3 {
			t.Errorf("ListBackfills() = %v, %v", list, err)
		}
	})
}
