package seq

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newReserve(a *cli.App) *cobra.Command {
	var period string
	cmd := &cobra.Command{
		Use:   "reserve NAME KEY...",
		Short: "Reserve numbers of a gapless sequence",
		Long: `Reserve a number of a gapless sequence for each key. A key is text of the application that
stands for one document, such as the ID of an order. A key with an open reservation gets
its number again in the next attempt. A key with a confirmed number gets that number, and
nothing changes. A key whose number is void gets another number.

No time limit ends a reservation: say what became of the number with "snowraft seq confirm"
or "snowraft seq void". Both need the reservation and the attempt that this command prints.

With --period, new numbers belong to that period: the present one, or an earlier one whose
late time has not passed (--late of the sequence). A key that has a number keeps it, also
in another period.

A name that does not exist begins with its first reservation, if the template that matches it
is gapless.`,
		Example: `  snowraft seq reserve invoices order-1001
  snowraft seq reserve invoices order-1001 order-1002 -o json
  snowraft seq reserve invoices order-1003 --period 2026-10`,
	}
	cli.AddFlag(cmd, "", "period", "", cli.WordsValue(&period, "PERIOD"), "period of the numbers, such as 2026-10, or its first day, such as 2026-10-01")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Reservations.ReserveNumbers(ctx, &snowraftv1.ReserveNumbersRequest{Sequence: args[0], Keys: args[1:], Period: period})
		if err != nil {
			return err
		}
		heading := []string{"KEY", "NUMBER", "TEXT", "PERIOD", "RESERVATION", "ATTEMPT", "FATE"}
		return out.Answer(resp, cli.Table(resp.GetReservations(), heading, func(r *snowraftv1.Reservation) []any {
			return []any{r.GetKey(), r.GetNumber(), r.GetText(), r.GetPeriod(), r.GetReservation(), r.GetAttempt(), cli.Word(r.GetFate())}
		}))
	})
}

func newOpen(a *cli.App) *cobra.Command {
	var minAge time.Duration
	cmd := &cobra.Command{
		Use:   "open NAME",
		Short: "List the open reservations of a sequence",
		Long: `List the open reservations of a gapless sequence, the oldest first: numbers that are
neither confirmed nor void. AGE is the time since the first attempt, and HOLDER the caller
of the last one.

An open reservation stands until a caller says what became of its number. Look for the
document in the database of the application: if it exists, confirm the number. If it does
not, a transaction may still commit it, so make sure that none can before you void it.`,
		Example: `  snowraft seq open invoices
  snowraft seq open invoices --min-age 1h -o json`,
	}
	cli.AddFlag(cmd, "", "min-age", "", cli.DurationValue(&minAge, 0, 100*365*24*time.Hour), "least age of the reservations to list")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		open, err := cli.List(func(token string) ([]*snowraftv1.Reservation, string, error) {
			resp, err := r.Reservations.ListReservations(ctx, &snowraftv1.ListReservationsRequest{
				Sequence: args[0], PageSize: cli.PageSize, PageToken: token, MinAgeMs: minAge.Milliseconds(),
			})
			return resp.GetReservations(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		now := a.Now()
		heading := []string{"KEY", "NUMBER", "TEXT", "PERIOD", "AGE", "HOLDER", "RESERVATION", "ATTEMPT"}
		return out.Answer(&snowraftv1.ListReservationsResponse{Reservations: open}, cli.Table(open, heading, func(r *snowraftv1.Reservation) []any {
			age := max(0, now.Sub(time.UnixMilli(r.GetReservedAtMs()))).Truncate(time.Second)
			return []any{r.GetKey(), r.GetNumber(), r.GetText(), r.GetPeriod(), cli.Milliseconds(age.Milliseconds()), r.GetHolder(), r.GetReservation(), r.GetAttempt()}
		}))
	})
}
