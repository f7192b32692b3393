// Package events has the command events, which shows the recent events of members. [New] returns it.
package events

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/apijson"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// most is the greatest number of events per call.
const most = 1000

// New returns the command events.
func New(a *cli.App) *cobra.Command {
	kinds := apijson.Words[snowraftv1.EventKind]()
	count, kind, member, follow := 50, "", "", false
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show recent events of the cluster",
		Long: `Show recent events of the cluster, as its members saw them: elections and their
causes, members that joined, left or did not answer, clocks that are off, lost or ended
windows, and failed requests. Changes are listed with the callers that made them.

Each member keeps the last 60 events of each kind in memory, and loses them when it
stops. Repeated events share one line with a count. Times are those of the majority's
clock, and the latest event comes last. A warning names the members that do not answer
within a second.

Kinds: ` + strings.Join(kinds, ", ") + `.`,
		Example: `  snowraft events
  snowraft events --kind election -n 10
  snowraft events -f --member b
  snowraft events -n 1000 -o json`,
	}
	cli.AddFlag(cmd, "", "count", "n", cli.IntValue(&count, 1, most), "number of latest events")
	oneKind := cli.ChoiceValue(&kind, kinds...)
	oneKind.Kind = "KIND" // the help lists the kinds above
	cli.AddFlag(cmd, "", "kind", "", oneKind, "kind of the events (default: any)").DefValue = ""
	cli.AddFlag(cmd, "", "member", "", cli.WordsValue(&member, "NAME"), "name or ID of the member that saw the events (default: any)").DefValue = ""
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing events until the command is stopped, with -o json one document per event")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		req := &snowraftv1.ListEventsRequest{PageSize: int32(count), Member: member} //nolint:gosec // at most 1000
		if kind != "" {
			req.Kinds = []string{kind}
		}
		if follow {
			return newFollower(a, r, out).run(ctx, req)
		}
		resp, err := r.Views.ListEvents(ctx, req)
		if err != nil {
			return err
		}
		warnMissed(a, resp)
		return out.Answer(resp, table(resp.GetEvents()))
	})
}

// table returns a table of events, the latest last.
func table(list []*snowraftv1.Event) cli.Block {
	list = slices.Clone(list)
	slices.Reverse(list)
	return cli.Table(list, []string{"TIME", "MEMBER", "KIND", "EVENT"}, func(e *snowraftv1.Event) []any {
		return []any{cli.Stamp(e.GetAtMs()), e.GetMember(), cli.Word(e.GetKind()), text(e)}
	})
}

// text returns an event as one line: its text, followed by the fields that the text does not contain.
func text(e *snowraftv1.Event) string {
	line := e.GetText()
	if e.GetReason() != "" && !strings.Contains(line, e.GetReason()) {
		line += ", " + e.GetReason()
	}
	if e.GetActor() != "" {
		line += ", by " + e.GetActor()
	}
	if e.GetAddress() != "" {
		line += " at " + e.GetAddress()
	}
	if e.GetCount() > 1 {
		line += " (" + cli.Decimal(e.GetCount()) + " times since " + cli.Stamp(e.GetFirstAtMs()) + ")"
	}
	return line
}
