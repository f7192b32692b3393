package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// blocks has the block that AllocateBlock grants for each sequence.
var blocks = map[string]*snowraftv1.Block{
	"orders":  {Token: 7, First: 1, Count: 10_000, Increment: 1},
	"odd":     {Token: 7, First: 1, Count: 6, Increment: 2},
	"zero":    {Token: 7, First: 0, Count: 5, Increment: 3},
	"third":   {Token: 7, First: 1<<62 + 1, Count: 3, Increment: 7},
	"last":    {Token: 7, First: 9, Count: 1, Increment: 5},
	"daily":   {Token: 7, First: 1, Count: 10, Increment: 1, Period: "2026-11-30"},
	"down":    {Token: 7, First: 100, Count: 10, Increment: -1},
	"minus":   {Token: 7, First: -5, Count: 10, Increment: 1},
	"distant": {Token: 7, First: 1, Count: 10, Increment: 1 << 31},
	"edge":    {Token: 7, First: 1<<63 - 12, Count: 10, Increment: 1},
}

func (s *service) AllocateBlock(ctx context.Context, req *snowraftv1.AllocateBlockRequest) (*snowraftv1.AllocateBlockResponse, error) {
	name := strings.TrimPrefix(req.GetSequence(), "shop.") // the namespace of CosId's clients
	return &snowraftv1.AllocateBlockResponse{Block: blocks[name]}, s.saw(ctx, req)
}

func (s *service) ReturnBlock(ctx context.Context, req *snowraftv1.ReturnBlockRequest) (*snowraftv1.ReturnBlockResponse, error) {
	return &snowraftv1.ReturnBlockResponse{}, s.saw(ctx, req)
}

// issue returns the numbers that a client of tinyid issues from a segment, and the first of which it requests the next segment. The
// arithmetic follows tinyid's class SegmentId.
func issue(current, loading, last, delta, remainder int64) (all []int64, requests int64) {
	for id, i := current, int64(0); id%delta != remainder && i <= delta; i++ {
		if id++; id%delta == remainder {
			current = id - delta
			break
		}
	}
	for current += delta; current <= last && current > 0-delta; current += delta {
		all = append(all, current)
		if requests == 0 && current >= loading {
			requests = current
		}
	}
	return all, requests
}

func TestTinyidSegments(t *testing.T) {
	r := newRig(t)
	for name, b := range blocks {
		var want []int64
		for i := range int64(b.GetCount()) {
			want = append(want, b.GetFirst()+i*b.GetIncrement())
		}
		text := r.ask("POST", "/tinyid/id/nextSegmentIdSimple?bizType="+name+"&token=t", "").Body.String()
		body := r.ask("GET", "/tinyid/id/nextSegmentId?bizType="+name, "").Body.String()
		if b.GetPeriod() != "" || b.GetFirst() < 0 || b.GetIncrement() < 1 || b.GetIncrement() >= 1<<31 || name == "edge" {
			if text != "" || !strings.Contains(body, `"data":null,"code":6`) || !strings.Contains(body, "use nextId") {
				t.Errorf("%s: %q, %s", name, text, body)
			}
			returned, ok := proto.Clone(r.service.request).(*snowraftv1.ReturnBlockRequest)
			if !ok || returned.GetUnused() != b.GetCount() || returned.GetToken() != 7 || len(returned.GetReturnKey()) != 16 || returned.GetSequence() != name {
				t.Errorf("%s: the block did not go back: %v", name, returned)
			}
			continue
		}
		var current, loading, last, delta, remainder int64
		if _, err := fmt.Sscanf(text, "%d,%d,%d,%d,%d", &current, &loading, &last, &delta, &remainder); err != nil {
			t.Fatalf("%s: %q: %v", name, text, err)
		}
		got, requests := issue(current, loading, last, delta, remainder)
		if fmt.Sprint(got) != fmt.Sprint(want) || requests == 0 {
			t.Errorf("%s: a client issues %v from %s, want %v; it requests the next segment at %d", name, got, text, want, requests)
		}
		var answer struct {
			Data map[string]int64
			Code int
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Code != 200 || answer.Data["currentId"] != current || answer.Data["loadingId"] != loading ||
			answer.Data["maxId"] != last || answer.Data["delta"] != delta || answer.Data["remainder"] != remainder {
			t.Errorf("%s: %s, %v; want that of %s", name, body, err, text)
		}
	}
	if got := r.ask("GET", "/tinyid/id/nextSegmentIdSimple", "").Body.String(); got != "" {
		t.Errorf("without bizType: %q", got)
	}
}
