package bench

import (
	"fmt"
	"strings"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// reports are the results of successive runs that differ in the number of clients.
type reports []report

// print prints a row for each run, and the failures of all runs.
func (rs reports) print(out *cli.Printer) error {
	type failures struct {
		clients int
		failure
	}
	rows := cli.Map(report.document, rs)
	blocks := []cli.Block{cli.Table(rows,
		[]string{"CLIENTS", "CALLS/S", strings.ToUpper(rs[0].noun) + "/S", "P50", "P99", "MAX", "FAILED", "UNIQUE"},
		func(d Report) []any {
			return []any{
				d.Clients, fmt.Sprintf("%.0f", d.CallsPerSecond), fmt.Sprintf("%.0f", d.NumbersPerSecond),
				inUnit(d.LatencyMillis.P50), inUnit(d.LatencyMillis.P99), inUnit(d.LatencyMillis.Max), d.Failed, d.Check,
			}
		})}
	var failed []failures
	for _, d := range rows {
		for _, f := range d.Failures {
			failed = append(failed, failures{d.Clients, f})
		}
	}
	if len(failed) > 0 {
		blocks = append(blocks, cli.Table(failed, []string{"CLIENTS", "FAILURE", "CALLS", "SUCH AS"}, func(f failures) []any {
			return []any{f.clients, f.Reason, f.Count, f.Example}
		}))
	}
	return out.Answer(nil, blocks...)
}

// inUnit formats a latency, given in milliseconds, in the unit that suits its size.
func inUnit(ms float64) string {
	if ms < 1 {
		return digits3(1000*ms) + " µs"
	}
	return digits3(ms) + " ms"
}
