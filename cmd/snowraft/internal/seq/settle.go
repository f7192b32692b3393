package seq

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// claimFlags are the flags that name an attempt of a reservation.
type claimFlags struct{ reservation, attempt uint64 }

func addClaimFlags(cmd *cobra.Command) *claimFlags {
	f := &claimFlags{}
	cli.AddFlag(cmd, "", "reservation", "", cli.UintValue(&f.reservation, 1), "reservation of the key, as reserve printed it").DefValue = ""
	cli.AddFlag(cmd, "", "attempt", "", cli.UintValue(&f.attempt, 1).Only("a whole number from 1 to 4294967295", func() bool { return f.attempt < 1<<32 }),
		"attempt of the reservation, as reserve printed it").DefValue = ""
	return f
}

// claims returns the claim on a key.
func (f *claimFlags) claims(cmd *cobra.Command, key string) ([]*snowraftv1.Claim, error) {
	if f.reservation == 0 || f.attempt == 0 {
		return nil, cli.Usagef("%s: missing --reservation and --attempt; \"snowraft seq open\" shows those of open numbers", cli.Below(cmd))
	}
	return []*snowraftv1.Claim{{Key: key, Reservation: f.reservation, Attempt: uint32(f.attempt)}}, nil //nolint:gosec // below 2^32
}

func newConfirm(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "confirm NAME KEY",
		Short: "Record that a reserved number is in use",
		Long: `Record that the reserved number of a key is in use. Confirm it after the transaction with
the document is committed. Confirming again changes nothing and succeeds.

An earlier attempt changes nothing: if the key was reserved again since, the command fails
with STALE_ATTEMPT. A void number cannot be confirmed.`,
		Example: `  snowraft seq confirm invoices order-1001 --reservation 5649 --attempt 1`,
	}
	f := addClaimFlags(cmd)
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		claims, err := f.claims(cmd, args[1])
		if err != nil {
			return err
		}
		resp, err := r.Reservations.ConfirmNumbers(ctx, &snowraftv1.ConfirmNumbersRequest{Sequence: args[0], Claims: claims})
		if err != nil {
			return err
		}
		return out.Answer(resp, cli.Line("confirmed the number of key %q in sequence %q", args[1], args[0]))
	})
}

func newVoid(a *cli.App) *cobra.Command {
	var (
		reason         string
		neverCommitted bool
	)
	cmd := &cobra.Command{
		Use:   "void NAME KEY",
		Short: "Record that a reserved number is void",
		Long: `Record that the reserved number of a key is void, with a reason. The cluster keeps the
number with its reason, and never reserves it again. Voiding again changes nothing and
succeeds. A confirmed number cannot become void.

A transaction that commits the number later would contradict the record. So commit a void
row for the number first, in a table with a UNIQUE constraint on sequence, period and
number. With such a row, add --never-committed: a sequence with --reuse may then reserve
the number again.`,
		Example: `  snowraft seq void invoices order-1001 --reservation 5649 --attempt 1 \
    --reason canceled
  snowraft seq void invoices order-1001 --reservation 5649 --attempt 1 \
    --reason canceled --never-committed`,
	}
	f := addClaimFlags(cmd)
	cli.AddFlag(cmd, "", "reason", "", cli.WordsValue(&reason, "TEXT"), "reason of the void number, 1 to 256 bytes")
	cmd.Flags().BoolVar(&neverCommitted, "never-committed", false, "state that no transaction can commit the number anymore")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		claims, err := f.claims(cmd, args[1])
		if err != nil {
			return err
		}
		if reason == "" {
			return cli.Usagef("%s: missing --reason; the cluster keeps it with the number", cli.Below(cmd))
		}
		resp, err := r.Reservations.VoidNumbers(ctx, &snowraftv1.VoidNumbersRequest{
			Sequence: args[0], Claims: claims, Reason: reason, NeverCommitted: neverCommitted,
		})
		if err != nil {
			return err
		}
		return out.Answer(resp, cli.Line("voided the number of key %q in sequence %q", args[1], args[0]))
	})
}
