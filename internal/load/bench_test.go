package load

import "testing"

// BenchmarkReceipt measures the cost of the check per number, for batches of packed IDs
// and for single numbers that many clients get in turns.
func BenchmarkReceipt(b *testing.B) {
	b.Run("packed", func(b *testing.B) {
		const batch, tick = 10_000, 1 << 22
		r := &Receipt{check: startChecker(NewSeen(1, DefaultSpans), 1), step: 1}
		ids := make([]int64, batch)
		next := int64(0)
		for range b.N/batch + 1 {
			for i := range ids {
				ids[i] = next + int64(i)
			}
			next += tick
			r.Numbers(ids)
		}
		r.flush()
		b.ReportMetric(float64(r.check.end().Checked), "checked")
	})
	b.Run("single", func(b *testing.B) {
		const clients = 64
		check := startChecker(NewSeen(1, DefaultSpans), clients)
		var receipts [clients]*Receipt
		for c := range receipts {
			receipts[c] = &Receipt{check: check, step: 1}
		}
		for i := range b.N {
			receipts[i*7%clients].Number(uint64(i))
		}
		for _, r := range receipts {
			r.flush()
		}
		b.ReportMetric(float64(check.end().Checked), "checked")
	})
}
