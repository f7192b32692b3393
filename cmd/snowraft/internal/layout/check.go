package layout

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/collision"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// meeting is the comparison of a layout of the cluster with the existing system: whether and when the layout repeats IDs.
type meeting struct {
	Layout string `json:"layout"`
	Meets  bool   `json:"meets"`
	// The times at which the cluster issues the first and the last shared ID; 0 without shared IDs.
	FirstAtMS int64 `json:"firstAtMs,string"`
	LastAtMS  int64 `json:"lastAtMs,string"`
	// The shared IDs at these times.
	FirstID uint64 `json:"firstId,string"`
	LastID  uint64 `json:"lastId,string"`
	// leaseOnly excludes a layout from the advice, because the cluster cannot issue from it.
	leaseOnly bool
}

// safe reports whether the cluster can issue from the layout, and never repeats an ID.
func (m meeting) safe() bool { return !m.Meets && !m.leaseOnly }

func newCheck(a *cli.App) *cobra.Command {
	e := &existing{}
	cmd := &cobra.Command{
		Use:   "check [NAME]",
		Short: "Check that layouts cannot repeat IDs of another system",
		Long: `Check that the layouts of the cluster, or the layout NAME, cannot repeat IDs that another
system has issued. Run it before an application moves from that system to the cluster.

The same integer has different times in different layouts: IDs that Twitter's layout
dates to June 2019 belong to July and August 2033 in the layout "default". A cluster
that issues IDs in "default" can repeat these IDs in 2033.

Programs that make IDs with leased workers count as the cluster, so the answers also hold
for layouts that only lease. The past of a layout with --past counts as issued: its backfill jobs can
repeat IDs at any time. Layouts with equal fields and epochs, such as the presets
hutool, leaf and mybatis, make the same IDs.

Describe the existing system by its --preset, or by --fields and --epoch. A --sample of
its IDs then confirms the description. Without a description, the sample must include
the least and the greatest ID of the system, and the system must have stopped.

If the existing system continues while the cluster issues IDs, set --until to its end.
Layouts with a datacenter field can keep the two apart: give the existing system's
--datacenter, and create the cluster's layout with another one.

The command fails if a layout can repeat an ID. It compares with the IDs that the
cluster issues after the check, and assumes that the members' clocks are correct.`,
		Example: `  snowraft layout check --preset twitter
  snowraft layout check orders --fields time:41,worker:10,sequence:12 \
    --epoch 2020-01-01T00:00:00Z
  snowraft layout check --preset twitter --datacenter 1 \
    --until 2027-06-30T00:00:00Z
  psql -At -c 'SELECT id FROM orders' | snowraft layout check --preset twitter \
    --sample -`,
	}
	e.cmd = cmd
	e.addFlags()
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		now := a.Now().UnixMilli()
		system, err := e.describe(a.Stdin, now)
		if err != nil {
			return err
		}
		layouts, err := toCheck(ctx, r, args)
		if err != nil {
			return err
		}
		meetings := make([]meeting, len(layouts))
		for i, l := range layouts {
			meetings[i] = meet(system, l, now)
		}
		all := layouts
		if len(args) > 0 {
			if all, err = toCheck(ctx, r, nil); err != nil {
				return err
			}
		}
		return report(out, system, meetings, pairsWith(layouts, pairsOf(all, now)), now)
	})
}

// compared holds the bounds of the IDs of the existing system that the command compared with.
type compared struct {
	// The times of the first and the last ID; 0 if only a sample is known.
	SinceMS int64  `json:"sinceMs,string"`
	UntilMS int64  `json:"untilMs,string"`
	LeastID uint64 `json:"leastId,string"`
	MostID  uint64 `json:"greatestId,string"`
	Sampled int    `json:"sampled"` // number of IDs in the sample
}

func (s existingSystem) compared() compared {
	c := compared{Sampled: s.sampled}
	if s.layout != nil {
		c.SinceMS, c.UntilMS = s.since, s.until
	}
	c.LeastID, c.MostID, _ = collision.Meet(s.ids, collision.Set{})
	return c
}

// text returns the assumption of the comparison in words.
func (c compared) text(described bool) string {
	if described {
		return fmt.Sprintf("Assumption: the existing system issues IDs from %s to %s only.", cli.Stamp(c.SinceMS), cli.Stamp(c.UntilMS))
	}
	return fmt.Sprintf("Assumption: all IDs of the existing system are from %d to %d.", c.LeastID, c.MostID)
}

// toCheck returns the layouts of the cluster, or the named layout only.
func toCheck(ctx context.Context, r *cli.Remote, args []string) (layouts []*snowflake.Layout, err error) {
	var all []*snowraftv1.Layout
	if len(args) == 1 {
		var resp *snowraftv1.GetLayoutResponse
		resp, err = r.Layouts.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: args[0]})
		all = []*snowraftv1.Layout{resp.GetLayout()}
	} else {
		all, err = cli.List(func(token string) ([]*snowraftv1.Layout, string, error) {
			resp, err := r.Layouts.ListLayouts(ctx, &snowraftv1.ListLayoutsRequest{PageSize: cli.PageSize, PageToken: token})
			return resp.GetLayouts(), resp.GetNextPageToken(), err
		})
	}
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		layout, err := snowflake.New(rpc.Spec(l))
		if err != nil {
			return nil, fmt.Errorf("layout %q of the cluster: %s; use a snowraft of the cluster's version", l.GetName(), cli.Plain(err))
		}
		layouts = append(layouts, layout)
	}
	return layouts, nil
}

// longestPause bounds the time between a check and the first ID of the cluster that the check assumes.
const longestPause = int64(time.Second / time.Millisecond)

// meet compares a layout of the cluster with the existing system. It assumes that the cluster issues no ID of the layout before
// the next tick. It does not assume so if the present tick still lasts long, because the cluster may issue IDs of that tick.
func meet(system existingSystem, l *snowflake.Layout, now int64) meeting {
	m := meeting{Layout: l.Name(), leaseOnly: l.Spec().LeaseOnly}
	from := min(l.MillisAt(l.TickAt(now)+1), now+longestPause)
	if l.Spec().Past { // jobs can issue IDs of any earlier time, or have done so
		from = l.MillisAt(0) - 1
	}
	if m.FirstID, m.LastID, m.Meets = collision.MeetIssued(system.ids, l, from); m.Meets {
		m.FirstAtMS, m.LastAtMS = l.TimeOf(m.FirstID).UnixMilli(), l.TimeOf(m.LastID).UnixMilli()
	}
	return m
}

// report prints the comparison and a safe layout. Its error names the unsafe layouts.
func report(out *cli.Printer, system existingSystem, meetings []meeting, pairs []pair, now int64) error {
	var unsafe []string
	for _, m := range meetings {
		if m.Meets {
			unsafe = append(unsafe, fmt.Sprintf("%q", m.Layout))
		}
	}
	doc := struct {
		Layouts  []meeting `json:"layouts"`
		Pasts    []pair    `json:"pasts,omitempty"` // pasts of the cluster's layouts, and other layouts that can repeat IDs of them
		Existing compared  `json:"existing"`
		Safe     string    `json:"create,omitempty"` // command that creates a safe layout
	}{Layouts: meetings, Pasts: pairs, Existing: system.compared()}
	if safe, ok := suggest(system, now); ok && len(unsafe) > 0 && !slices.ContainsFunc(meetings, meeting.safe) {
		doc.Safe = command(safe)
	}
	blocks := []cli.Block{cli.Table(meetings, []string{"LAYOUT", "REPEATS IDS", "FIRST", "LAST"}, func(m meeting) []any {
		if !m.Meets {
			return []any{m.Layout, "never", "", ""}
		}
		return []any{
			m.Layout, "yes", fmt.Sprintf("%s (%d)", cli.Stamp(m.FirstAtMS), m.FirstID), fmt.Sprintf("%s (%d)", cli.Stamp(m.LastAtMS), m.LastID),
		}
	}), cli.Line("%s", doc.Existing.text(system.layout != nil))}
	for _, p := range pairs {
		blocks = append(blocks, cli.Line("IDs of the past of %q can equal IDs of %q at other times; use them in different tables", p.Layout, p.Other))
	}
	if doc.Safe != "" {
		blocks = append(blocks, cli.Line("This layout never repeats an ID of the existing system:\n  %s", doc.Safe))
	}
	if err := out.Answer(doc, blocks...); err != nil || len(unsafe) == 0 {
		return err
	}
	next := "create a safe layout and issue from it with --layout"
	if i := slices.IndexFunc(meetings, meeting.safe); i >= 0 {
		next = fmt.Sprintf("issue from layout %q", meetings[i].Layout)
	} else if doc.Safe == "" {
		next = "no safe layout is known: stop the existing system first, or describe it more narrowly with --since, --until and --datacenter"
	}
	return fmt.Errorf("%s can repeat IDs of the existing system; %s", strings.Join(unsafe, ", "), next)
}
