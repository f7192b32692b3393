package seq

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newAudit(a *cli.App) *cobra.Command {
	var period string
	cmd := &cobra.Command{
		Use:   "audit NAME",
		Short: "Account for every number of a period",
		Long: `Account for every number of a period of a gapless sequence: a summary, and all numbers
that are not plainly confirmed, with reason, time and caller. Every other number from the
first to the last is confirmed. The cluster keeps the summaries and the void numbers
permanently.

With -o csv, the first rows, of kind total, count the numbers with each fate. The rows of kind
numbers are the list. An apostrophe precedes each key, reason and caller that a spreadsheet
would read as a formula, because it begins with =, +, -, @ or a tab; JSON has the exact texts.`,
		Example: `  snowraft seq audit invoices
  snowraft seq audit invoices --period 2026
  snowraft seq audit invoices --period 2026 -o csv > invoices-2026.csv`,
	}
	addPeriodFlag(cmd, &period)
	cmd.Args, cmd.ValidArgsFunction = Args, a.CompleteFirst(Names)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		first, err := periodOf(ctx, r, args[0], period)
		if err != nil {
			return err
		}
		account := &snowraftv1.AuditPeriodResponse{}
		account.Numbers, err = cli.List(func(token string) ([]*snowraftv1.NumberAccount, string, error) {
			resp, err := r.Reservations.AuditPeriod(ctx, &snowraftv1.AuditPeriodRequest{Sequence: args[0], Period: first, PageSize: cli.PageSize, PageToken: token})
			if s := resp.GetSummary(); s != nil {
				account.Summary, first = s, s.GetPeriod() // the later pages are of the same period
			}
			return resp.GetNumbers(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		if out.CSV {
			return out.Raw(func(w io.Writer) error { return writeAccount(w, account) })
		}
		return out.Answer(account, summary(account.GetSummary()), accounts(account.GetNumbers()))
	}, cli.OutputCSV)
}

// summary returns a block with the counts of a period.
func summary(s *snowraftv1.PeriodSummary) cli.Block {
	return cli.Record(
		"Period", cli.TextIf(s.GetPeriod() != "", "since %s%s", s.GetPeriod(), cli.TextIf(s.GetClosed(), ", closed")),
		"First", number(s.First),
		"Last", number(s.Last),
		"Confirmed", s.GetConfirmed(),
		"Void", s.GetVoid(),
		"Taken", s.GetTaken(),
		"Open", s.GetOpen(),
		"Unknown", s.GetUnknown(),
		"Missing", s.GetMissing(),
		"Record", cli.TextIf(s.GetCut(), "ended by a restore; an earlier cluster may have drawn numbers after the last one"),
	)
}

// accounts returns a table of the numbers that are not plainly confirmed.
func accounts(all []*snowraftv1.NumberAccount) cli.Block {
	heading := []string{"NUMBERS", "FATE", "KEY", "REASON", "AT", "CALLER"}
	return cli.Table(all, heading, func(n *snowraftv1.NumberAccount) []any {
		return []any{runOf(n.GetNumber(), n.GetCount()), fate(n), n.GetKey(), n.GetReason(), cli.StampKnown(n.GetAtMs()), n.GetCaller()}
	})
}

// fate returns the fate of numbers in words.
func fate(n *snowraftv1.NumberAccount) string {
	word := cli.Word(n.GetFate())
	switch {
	case n.GetReusable():
		return word + ", reusable"
	case n.GetVoids() > 0 && n.GetFate() != snowraftv1.NumberFate_NUMBER_FATE_VOID:
		return word + ", reused"
	}
	return word
}

// writeAccount writes an account as CSV.
func writeAccount(w io.Writer, account *snowraftv1.AuditPeriodResponse) error {
	out, s := csv.NewWriter(w), account.GetSummary()
	row := func(cells ...string) { _ = out.Write(cells) } // csv remembers the error
	row("kind", "period", "fate", "first", "last", "count", "key", "reason", "voids", "reusable", "at", "caller", "index")
	for _, total := range []struct {
		fate  string
		count uint64
	}{
		{"confirmed", s.GetConfirmed()}, {"void", s.GetVoid()}, {"taken", s.GetTaken()}, {"open", s.GetOpen()},
		{"unknown", s.GetUnknown()}, {"missing", s.GetMissing()},
	} {
		row("total", s.GetPeriod(), total.fate, number(s.First), number(s.Last), cli.Decimal(total.count), "", "", "", "", "", "", "")
	}
	for _, n := range account.GetNumbers() {
		last := n.GetNumber() + int64(n.GetCount()-1) //nolint:gosec // a run of int64 numbers
		row("numbers", s.GetPeriod(), cli.Word(n.GetFate()), strconv.FormatInt(n.GetNumber(), 10), strconv.FormatInt(last, 10), cli.Decimal(n.GetCount()),
			harmless(n.GetKey()), harmless(n.GetReason()), cli.Decimal(uint64(n.GetVoids())), strconv.FormatBool(n.GetReusable()), cli.StampKnown(n.GetAtMs()), harmless(n.GetCaller()), cli.Decimal(n.GetIndex()))
	}
	out.Flush()
	return out.Error()
}

// harmless returns a text that a spreadsheet reads as a text. Clients choose keys, reasons and names of tokens freely.
func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
