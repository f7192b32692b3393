package server_test

import (
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func (n *node) views() snowraftv1.ViewServiceClient { return snowraftv1.NewViewServiceClient(n.conn) }

// TestSequenceViewsByNearestEnd reads sequences with the same call as the console.
func TestSequenceViewsByNearestEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		ctx := t.Context()
		for name, most := range map[string]int64{"orders": 100, "Parcels": 1000, "small": 10} {
			spec := &snowraftv1.Sequence{Name: name, Max: &most, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}
			if _, err := n.sequences.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: spec}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := n.sequences.CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "free"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.sequences.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "orders", Count: 60}); err != nil {
			t.Fatal(err)
		}
		var names []string
		var last *snowraftv1.ListSequenceViewsResponse
		for req := (&snowraftv1.ListSequenceViewsRequest{OrderBy: "remaining", PageSize: 3}); ; {
			resp, err := n.views().ListSequenceViews(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range resp.GetSequences() {
				names = append(names, s.GetSequence().GetName())
			}
			last = resp
			if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		if got := strings.Join(names, " "); got != "orders Parcels small free" || last.GetTotalSize() != 4 || last.GetSequences()[0].RemainingRatio != nil {
			t.Errorf("sequences %s, last page %v", got, last)
		}
		until(t, "the rate of orders is known", func() bool {
			resp, err := n.views().ListSequenceViews(ctx, &snowraftv1.ListSequenceViewsRequest{NameContains: "ORD"})
			if err != nil || len(resp.GetSequences()) != 1 {
				t.Fatalf("%v, %v", resp, err)
			}
			return resp.GetSequences()[0].GrantedPerSecond != nil
		})
		for _, req := range []*snowraftv1.ListSequenceViewsRequest{
			{OrderBy: "size"}, {PageSize: -1}, {NameContains: strings.Repeat("x", 129)}, {OrderBy: "remaining", PageToken: "orders"},
		} {
			if _, err := n.views().ListSequenceViews(ctx, req); reason(err) != "INVALID_ARGUMENT" {
				t.Errorf("%v: %v", req, err)
			}
		}
	})
}
