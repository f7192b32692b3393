package seq

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestReservationUsage(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	for line, want := range map[string]string{
		"reserve inv":                                        `missing argument KEY`,
		"confirm inv k":                                      `seq confirm: missing --reservation and --attempt; "snowraft seq open" shows those of open numbers`,
		"confirm inv k --reservation 1":                      `missing --reservation and --attempt`,
		"void inv k --reservation 1 --attempt 1":             `seq void: missing --reason`,
		"confirm inv k --reservation 1 --attempt 4294967296": `expected a whole number from 1 to 4294967295`,
		"confirm inv k --reservation 0 --attempt 1":          `expected a whole number of at least 1`,
		"take inv x":                                         `NUMBER "x": expected a whole number`,
		"take inv 5 --period 2024":                           `--period "2024": sequence "inv" has no period that begins so; expected a day such as 2026-10-01`,
		"take inv 5 --period 202":                            `--period "202": 2 periods of sequence "inv" begin so, from 2025-01-01 to 2026-01-01; give the whole day`,
		"resolve inv 5 gone":                                 `"gone": expected used or void`,
		"resolve inv 5 void":                                 `seq resolve: missing --reason`,
		"resolve inv 5 used --reason x":                      `--reason cannot be combined with used`,
		"audit inv -o xml":                                   `expected text, json or csv`,
		"open inv --min-age -1s":                             `--min-age "-1s"`,
		"void inv k --reservation 1 --attempt 1 --reason " + "\x01" + "": `--reason`,
	} {
		stdout, stderr, code := program.Run(t, append([]string{"seq"}, append(strings.Fields(line), "--addr", f.Address)...)...)
		if code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s%s, want %q", line, code, stdout, stderr, want)
		}
	}
}

// A spreadsheet must not evaluate what a client chose as a key or a reason.
func TestAuditAsCSVHasNoFormulas(t *testing.T) {
	t.Parallel()
	account := &snowraftv1.AuditPeriodResponse{Summary: &snowraftv1.PeriodSummary{}}
	texts := map[string]string{
		"=HYPERLINK(\"http://x\")": "'=HYPERLINK(\"http://x\")", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1",
		"order=1": "order=1", "": "",
	}
	for text := range texts {
		account.Numbers = append(account.Numbers, &snowraftv1.NumberAccount{Number: -7, Count: 1, Key: text, Reason: text, Caller: text})
	}
	var out strings.Builder
	if err := writeAccount(&out, account); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(rows) != 7+len(texts) {
		t.Fatal(rows, err)
	}
	for i, row := range rows[7:] {
		want := texts[account.GetNumbers()[i].GetKey()]
		if row[3] != "-7" || row[6] != want || row[7] != want || row[11] != want {
			t.Errorf("row %q, want %q", row, want)
		}
	}
}

func TestAuditAsCSV(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	out := program.Succeeds(t, "seq", "audit", "receipts", "-o", "csv", "--addr", f.Address)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 1+6+4 {
		t.Fatalf("%d rows, %v: %s", len(rows), err, out)
	}
	for i, want := range map[int]string{
		0:  "kind|period|fate|first|last|count|key|reason|voids|reusable|at|caller|index",
		1:  "total|2026-01-01|confirmed|1|18|13|||||||",
		6:  "total|2026-01-01|missing|1|18|0|||||||",
		7:  "numbers|2026-01-01|void|3|3|1||order canceled|1|true|2026-10-19T14:02:18.000Z|token 17 (billing)|5000",
		8:  `numbers|2026-01-01|confirmed|5|5|1||payment failed, "twice"|2|false|2026-10-19T14:02:18.000Z|open|5100`,
		9:  "numbers|2026-01-01|taken|10|12|3||written by hand|0|false|2026-10-19T14:02:18.000Z|admin|5200",
		10: "numbers|2026-01-01|open|17|17|1|order-1001||0|false|2026-10-19T14:12:18.000Z|token 17 (billing)|5649",
	} {
		if got := strings.Join(rows[i], "|"); got != want {
			t.Errorf("row %d is %s, want %s", i, got, want)
		}
	}
}
