package server_test

import (
	"sync"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// BenchmarkBatches requests batches of 10,000 IDs over gRPC, from a layout with 22 sequence bits, which do not limit the rate.
func BenchmarkBatches(b *testing.B) {
	const callers, batch = 8, 10_000
	n := startCluster(b, 1)[0]
	field := func(kind snowraftv1.FieldKind, bits uint32) *snowraftv1.Field {
		return &snowraftv1.Field{Kind: kind, Bits: bits}
	}
	_, err := n.layouts.CreateLayout(b.Context(), &snowraftv1.CreateLayoutRequest{Layout: &snowraftv1.Layout{
		Name: "wide", UnitMs: 1, EpochAtMs: 1_735_689_600_000,
		Fields: []*snowraftv1.Field{
			field(snowraftv1.FieldKind_FIELD_KIND_TIME, 37), field(snowraftv1.FieldKind_FIELD_KIND_WORKER, 4),
			field(snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, 22),
		},
	}})
	if err != nil {
		b.Fatal(err)
	}
	for _, form := range []struct {
		name   string
		packed bool
	}{{"ranges", false}, {"packed", true}} {
		b.Run(form.name, func(b *testing.B) {
			req := &snowraftv1.GenerateIdsRequest{Layout: "wide", Count: batch, Packed: new(form.packed)}
			once := func() bool {
				resp, err := n.ids.GenerateIds(b.Context(), req)
				if err != nil {
					b.Error(err)
					return false
				}
				if got := len(resp.GetIds()); form.packed && got != batch {
					b.Errorf("%d packed IDs instead of %d", got, batch)
					return false
				}
				return true
			}
			once() // opens the lane
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for caller := range callers {
				wg.Go(func() {
					for range (b.N + caller) / callers {
						if !once() {
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)*batch/b.Elapsed().Seconds(), "IDs/s")
		})
	}
}
