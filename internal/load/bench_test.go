package load

import "testing"

// BenchmarkReceipt measures the cost of the check per number, for single numbers that many clients get in turns.
func BenchmarkReceipt(b *testing.B) {
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
}
