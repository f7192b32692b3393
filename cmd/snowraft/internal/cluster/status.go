// Package cluster has the commands of a cluster as a whole: status, config and clock.
package cluster

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// statusDoc is the state of one member.
type statusDoc struct {
	ClusterID     string    `json:"cluster_id"`
	NodeID        string    `json:"node_id"`
	Name          string    `json:"name"`
	Role          string    `json:"role"`
	LeaderID      string    `json:"leader_id"`
	LeaderName    string    `json:"leader_name"`
	Term          uint64    `json:"term,string"`
	CommitIndex   uint64    `json:"commit_index,string"`
	AppliedIndex  uint64    `json:"applied_index,string"`
	ObservedClock string    `json:"observed_clock"`
	Clock         string    `json:"clock"`
	ClockOffsetMS int64     `json:"clock_offset_ms,string"`
	Version       string    `json:"version"`
	Commands      uint32    `json:"fsm_version"`
	CommandsKnown uint32    `json:"fsm_version_supported"`
	Problem       string    `json:"problem"`
	Config        configDoc `json:"config"`
	Lanes         []laneDoc `json:"lanes"`
}

// laneDoc is one lane: the window [from, until) is in ticks of its layout.
type laneDoc struct {
	Layout     string `json:"layout"`
	Lane       uint32 `json:"lane"`
	Worker     uint64 `json:"worker,string"`
	Token      uint64 `json:"token,string"`
	From       int64  `json:"from,string"`
	Until      int64  `json:"until,string"`
	ServeUntil string `json:"serve_until"`
	ExhaustsAt string `json:"exhausts_at"`
	Problem    string `json:"problem"`
	Idle       bool   `json:"idle"`
}

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
		d := newStatusDoc(resp)
		return out.Answer(d, statusRecord(d), laneTable(d.Lanes))
	})
}

func newStatusDoc(r *snowraftv1.GetStatusResponse) statusDoc {
	return statusDoc{
		ClusterID: r.GetClusterId(), NodeID: r.GetMemberId(), Name: r.GetName(),
		Role:     cli.EnumName(r.GetRole().String(), "MEMBER_ROLE_"),
		LeaderID: r.GetLeaderId(), LeaderName: r.GetLeaderName(),
		Term: r.GetTerm(), CommitIndex: r.GetCommitIndex(), AppliedIndex: r.GetAppliedIndex(),
		ObservedClock: cli.StampKnown(r.GetObservedClockAtMs()), Clock: cli.StampKnown(r.GetClockAtMs()), ClockOffsetMS: r.GetClockOffsetMs(),
		Version: r.GetVersion(), Commands: r.GetFsmVersion(), CommandsKnown: r.GetFsmVersionSupported(),
		Problem: r.GetProblem(), Config: newConfigDoc(r.GetConfig()), Lanes: cli.Map(newLaneDoc, r.GetLanes()),
	}
}

func newLaneDoc(l *snowraftv1.Lane) laneDoc {
	return laneDoc{
		Layout: l.GetLayout(), Lane: l.GetLane(), Worker: l.GetWorker(), Token: l.GetToken(), From: l.GetFromTick(), Until: l.GetUntilTick(),
		ServeUntil: cli.StampKnown(l.GetServeUntilAtMs()), ExhaustsAt: cli.StampKnown(l.GetExhaustsAtMs()), Problem: l.GetProblem(), Idle: l.GetIdle(),
	}
}

func statusRecord(d statusDoc) cli.Block {
	leader, issues := "none known", "yes"
	if d.LeaderID != "" {
		leader = fmt.Sprintf("%s (%s)", d.LeaderName, d.LeaderID)
	}
	if d.Problem != "" {
		issues = "no: " + d.Problem
	}
	return cli.Record(
		"Member", fmt.Sprintf("%s (%s)", d.Name, d.NodeID),
		"Role", d.Role,
		"Cluster", d.ClusterID,
		"Leader", leader,
		"Issues IDs", issues,
		"Raft", fmt.Sprintf("term %d, committed %d, applied %d", d.Term, d.CommitIndex, d.AppliedIndex),
		"Clock", fmt.Sprintf("%s, %s from the majority", d.Clock, cli.Offset(d.ClockOffsetMS)),
		"Observed clock", d.ObservedClock,
		"Windows", "up to "+cli.Milliseconds(d.Config.MaxWindowMS),
		"Rollback", fmt.Sprintf("%s, waits up to %s", d.Config.Rollback, cli.Milliseconds(d.Config.WaitThresholdMS)),
		"Clock offset", "up to "+cli.Milliseconds(d.Config.MaxClockOffsetMS),
		"Version", fmt.Sprintf("%s, commands %d of %d", d.Version, d.Commands, d.CommandsKnown),
	)
}

func laneTable(lanes []laneDoc) cli.Block {
	heading := []string{"LAYOUT", "LANE", "WORKER", "WINDOW (TICKS)", "SERVE UNTIL", "EXHAUSTS AT", "PROBLEM"}
	return cli.Table(lanes, heading, func(l laneDoc) []any {
		worker, window, until := "", "", l.ServeUntil
		if l.Token != 0 {
			worker, window = cli.Decimal(l.Worker), fmt.Sprintf("%d until %d", l.From, l.Until)
		}
		if l.Idle {
			until = "idle"
		}
		return []any{l.Layout, l.Lane, worker, window, until, l.ExhaustsAt, l.Problem}
	})
}
