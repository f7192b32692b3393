package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/load"
	"github.com/snowraft/snowraft/internal/rpc"
)

// report is the printed result of a run.
type report struct {
	command, noun string
	cfg           config
	connections   int
	signed        bool
	interrupted   bool
	result        *load.Result
}

// Report is the document of a measurement, by the conventions of docs/json.md. Latencies are in milliseconds.
type Report struct {
	Command          string    `json:"command"`
	Addresses        []string  `json:"addresses"`
	Clients          int       `json:"clients"`
	Connections      int       `json:"connections"` // 0: chosen by the Go client
	Batch            int       `json:"batch"`
	Rate             uint64    `json:"rate,string"` // calls due per second; 0 in the closed loop
	ElapsedMillis    float64   `json:"elapsedMs"`
	Interrupted      bool      `json:"interrupted"`
	Calls            uint64    `json:"calls,string"`
	CallsPerSecond   float64   `json:"callsPerSecond"`
	Numbers          uint64    `json:"numbers,string"`
	NumbersPerSecond float64   `json:"numbersPerSecond"`
	Overdue          uint64    `json:"overdue,string"`
	LatencyMillis    latency   `json:"latencyMs"`
	Failed           uint64    `json:"failed,string"`
	Failures         []failure `json:"failures"`
	Check            *check    `json:"check,omitempty"`
}

type latency struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

type failure struct {
	Reason  string `json:"reason"`
	Count   uint64 `json:"count,string"`
	Example string `json:"example"`
}

type check struct {
	Checked    uint64   `json:"checked,string"`
	Skipped    uint64   `json:"skipped,string"` // not checked because the memory of the check was full
	Duplicates uint64   `json:"duplicates,string"`
	Examples   []string `json:"examples"`
}

// print prints the report.
func (r report) print(out *cli.Printer) error {
	d := r.document()
	blocks := []cli.Block{r.record(d)}
	if len(d.Failures) > 0 {
		blocks = append(blocks, cli.Table(d.Failures, []string{"FAILURE", "CALLS", "SUCH AS"}, func(f failure) []any {
			return []any{f.Reason, f.Count, f.Example}
		}))
	}
	return out.Answer(d, blocks...)
}

// document returns the report in its JSON form.
func (r report) document() Report {
	res := r.result
	d := Report{
		Command: r.command, Addresses: r.cfg.addresses, Clients: r.cfg.clients, Connections: r.connections, Batch: r.cfg.batch, Rate: r.cfg.rate,
		ElapsedMillis: inMillis(res.Elapsed), Interrupted: r.interrupted,
		Calls: res.Calls, CallsPerSecond: rounded(res.Rate(res.Calls)), Numbers: res.Numbers, NumbersPerSecond: rounded(res.Rate(res.Numbers)),
		Overdue: res.Overdue, Failed: res.Failed(),
		Failures: cli.Map(func(f load.Failure) failure { return failure{f.Reason, f.Count, cli.OneLine(f.Example)} }, res.Failures),
		LatencyMillis: latency{
			Mean: inMillis(time.Duration(res.Latency.Mean())), P50: inMillis(res.Percentile(50)), P90: inMillis(res.Percentile(90)),
			P99: inMillis(res.Percentile(99)), P999: inMillis(res.Percentile(99.9)), Max: inMillis(time.Duration(res.Latency.Max())),
		},
	}
	if v := res.Report; r.cfg.check {
		d.Check = &check{v.Checked, v.Skipped, v.Duplicates, r.examples()}
	}
	return d
}

// record returns a block with the whole report except the failures.
func (r report) record(d Report) cli.Block {
	return cli.Record(
		"Clients", fmt.Sprintf("%d%s, %d per call", d.Clients, cli.TextIf(d.Connections > 0, ", %s", plural(d.Connections, "connection")), d.Batch),
		"Due", cli.TextIf(d.Rate > 0, "%d calls per second", d.Rate),
		"Elapsed", fmt.Sprintf("%.3f s%s", d.ElapsedMillis/1000, cli.TextIf(d.Interrupted, ", interrupted")),
		"Calls", fmt.Sprintf("%d, %.0f per second", d.Calls, d.CallsPerSecond),
		strings.ToUpper(r.noun[:1])+r.noun[1:], fmt.Sprintf("%d, %.0f per second", d.Numbers, d.NumbersPerSecond),
		"Latency", d.LatencyMillis,
		"Overdue", cli.TextIf(d.Overdue > 0, "%d calls were due and not made; the rate exceeds the throughput", d.Overdue),
		"Failed", cmp.Or(cli.TextIf(d.Failed > 0, "%d calls", d.Failed), "none"),
		"Unique", d.Check,
	)
}

// String returns the outcome of the check for people.
func (c *check) String() string {
	switch {
	case c == nil:
		return "not checked"
	case c.Duplicates > 0:
		return fmt.Sprintf("NO: %d of %d are duplicates", c.Duplicates, c.Checked)
	case c.Skipped > 0:
		return fmt.Sprintf("yes, all %d that were checked", c.Checked)
	default:
		return fmt.Sprintf("yes, all %d", c.Checked)
	}
}

// examples lists some of the duplicates.
func (r report) examples() []string {
	return cli.Map(func(n uint64) string {
		if r.signed {
			return strconv.FormatInt(int64(n), 10) //nolint:gosec // the same bits
		}
		return cli.Decimal(n)
	}, r.result.Report.Examples)
}

// inMillis returns a duration in milliseconds. It rounds durations from one millisecond on to whole microseconds.
func inMillis(d time.Duration) float64 {
	if d >= time.Millisecond {
		d = d.Round(time.Microsecond)
	}
	return float64(d) / 1e6
}

// String returns the percentiles, in microseconds if the 99th is below 1 ms, otherwise in milliseconds.
func (l latency) String() string {
	unit, scale := "ms", 1.0
	if l.P99 < 1 {
		unit, scale = "µs", 1000
	}
	in := func(ms float64) string { return digits3(ms * scale) }
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, p99.9 %s, max %s %s", in(l.P50), in(l.P90), in(l.P99), in(l.P999), in(l.Max), unit)
}

// rounded returns a rate with one digit after the point.
func rounded(rate float64) float64 { return math.Round(rate*10) / 10 }

// digits3 formats a number with three significant digits, or more if it has more before the point.
func digits3(x float64) string {
	digits := 3
	for size := 1.0; digits > 0 && x >= size; size *= 10 {
		digits--
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// failure returns the reason for which a measured run counts as failed; nil if it succeeded.
func (r report) failure() error {
	if v := r.result.Report; v.Duplicates > 0 {
		return fmt.Errorf("%d of %d %s are duplicates: %s%s", v.Duplicates, v.Checked, r.noun,
			strings.Join(r.examples(), ", "), cli.TextIf(uint64(len(v.Examples)) < v.Duplicates, ", ..."))
	}
	if r.result.Calls > 0 || r.interrupted {
		return nil
	}
	if len(r.result.Failures) == 0 {
		return errors.New("no call was made; use a longer --duration or a higher --rate")
	}
	f := r.result.Failures[0]
	e := &rpc.Error{Code: codes.Unknown, Message: fmt.Sprintf("no call succeeded: %s [%s]", cli.OneLine(f.Example), f.Reason)}
	if known, ok := rpc.ReasonOf(f.Reason); ok {
		e.Code, e.Reason = known.Code, f.Reason
	}
	if f.Repeatable() {
		return cli.Exit(cli.ExitRepeatable, e)
	}
	return e
}
