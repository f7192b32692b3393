// Package cluster has the commands for a cluster as a whole: status, config and
// clock.
package cluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// NewStatus returns the command status.
func NewStatus(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "status",
		Short: "Show the state of a member",
		Long: `Show the state of the member that answers: its cluster and leader, the position of its
replica, its clock and its lanes. A lane issues IDs until its SERVE UNTIL even if
quorum is lost.

With several addresses, the command shows the first member that answers.`,
		Example: `  snowraft status
  snowraft status --addr 10.0.0.2:7700 -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		resp, err := r.Cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{})
		if err != nil {
			return err
		}
		blocks := []cli.Block{statusRecord(resp), laneTable(resp.GetLanes())}
		if peers := resp.GetForeignPeers(); len(peers) > 0 {
			blocks = append(blocks, foreignTable(peers))
		}
		return out.Answer(resp, blocks...)
	})
}

func statusRecord(s *snowraftv1.GetStatusResponse) cli.Block {
	leader, issues := cmp.Or(s.GetNoLeader(), "none known"), "yes"
	switch {
	case s.GetClusterId() == "":
		leader = "" // the problem contains this fact
	case s.GetLeaderId() != "":
		leader = fmt.Sprintf("%s (%s)", s.GetLeaderName(), s.GetLeaderId())
	}
	if s.GetProblem() != "" {
		issues = "no: " + s.GetProblem()
	}
	prints, c, r := s.GetSecretFingerprints(), s.GetConfig(), s.GetRestoration()
	return cli.Record(
		"Member", fmt.Sprintf("%s (%s)", s.GetName(), s.GetMemberId()),
		"Role", cli.Word(s.GetRole()),
		"Cluster", s.GetClusterId(),
		"Leader", leader,
		"Voters", cli.Voters(s.GetQuorum()),
		"Issues IDs", issues,
		"Address", cli.TextIf(s.GetAddressProblem() != "", "restart %s: %s", s.GetName(), s.GetAddressProblem()),
		"Raft", fmt.Sprintf("term %d, committed %d, applied %d", s.GetTerm(), s.GetCommitIndex(), s.GetAppliedIndex()),
		"Clock", fmt.Sprintf("%s, %s from the majority", cli.StampKnown(s.GetClockAtMs()), cli.Offset(s.GetClockOffsetMs())),
		"Observed clock", cli.StampKnown(s.GetObservedClockAtMs()),
		"Windows", "up to "+cli.Milliseconds(c.GetMaxWindowMs()),
		"Rollback", fmt.Sprintf("%s, waits up to %s", cli.Word(c.GetRollback()), cli.Milliseconds(c.GetWaitThresholdMs())),
		"Clock offset", "up to "+cli.Milliseconds(c.GetMaxClockOffsetMs()),
		"Version", s.GetVersion(),
		"Commands", cli.Commands(s),
		"Secrets", cli.TextIf(len(prints) > 0, "%s, signs with %s", strings.Join(prints, ", "), s.GetSigningFingerprint()),
		"Certificate", certificate(s.GetCustomCertificate()),
		"Sealed", sealed(s.GetSealed()),
		"Set back", cli.TextIf(s.GetSetBackSuspected() != "", `perhaps: %s; see "snowraft cluster seal --help"`, s.GetSetBackSuspected()),
		"Restored", restored(r),
		"Fenced", fenced(s),
		"Superseded", strings.Join(r.GetSuperseded(), ", "),
		"Younger cluster", s.GetYoungerClusterAlive(),
		"Frozen sequences", cli.TextIf(r.GetFrozenSequences() > 0, `%d; see "snowraft seq resume"`, r.GetFrozenSequences()),
		"Suspended templates", cli.TextIf(r.GetSuspendedTemplates() > 0, `%d; see "snowraft template resume"`, r.GetSuspendedTemplates()),
		"Closed pasts", cli.TextIf(r.GetClosedPasts() > 0, `%d; see "snowraft backfill resume"`, r.GetClosedPasts()),
		"New sequences", cli.TextIf(r.GetNamesClosed(), `refused until "snowraft restore acknowledge"`),
	)
}

// certificate returns the state of the operator's certificate; empty without one.
func certificate(c *snowraftv1.CustomCertificate) string {
	if c == nil {
		return ""
	}
	text := "custom, until " + cli.StampKnown(c.GetExpiresAtMs())
	if c.GetProblem() != "" {
		text += "; its files are not in use: " + c.GetProblem()
	}
	return text
}

func laneTable(lanes []*snowraftv1.Lane) cli.Block {
	heading := []string{"LAYOUT", "LANE", "WORKER", "WINDOW (TICKS)", "SERVE UNTIL", "EXHAUSTS AT", "PROBLEM"}
	return cli.Table(lanes, heading, func(l *snowraftv1.Lane) []any {
		worker, window, until := "", "", cli.StampKnown(l.GetServeUntilAtMs())
		if l.GetToken() != 0 {
			worker, window = cli.Decimal(l.GetWorker()), fmt.Sprintf("%d until %d", l.GetFromTick(), l.GetUntilTick())
		}
		if l.GetIdle() {
			until = "idle"
		}
		return []any{l.GetLayout(), l.GetLane(), worker, window, until, cli.StampKnown(l.GetExhaustsAtMs()), l.GetProblem()}
	})
}

// foreignTable returns a table of the peers that the member cannot understand.
func foreignTable(peers []*snowraftv1.ForeignPeer) cli.Block {
	return cli.Table(peers, []string{"FOREIGN PEER", "HEARD AT", "PROBLEM"}, func(p *snowraftv1.ForeignPeer) []any {
		return []any{p.GetAddress(), cli.StampKnown(p.GetHeardAtMs()), p.GetProblem()}
	})
}
