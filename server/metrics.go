package server

import (
	"errors"
	"math"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/server/frontend"
	"github.com/snowraft/snowraft/server/kernel"
)

// stateCollector is a prometheus.Collector that reads the member's state at each scrape.
type stateCollector struct {
	s      *Server
	tokens *tokenTable // nil in an open cluster
}

var (
	descLeader    = kernel.Desc("leader", "1 while this member leads, otherwise 0.")
	descHasLeader = kernel.Desc("has_leader", "1 while this member leads or follows a leader, otherwise 0.")
	descChanges   = kernel.Desc("leader_changes_total", "Leaders that this member learned of since its start, the first one included.")
	descPending   = kernel.Desc("proposals_pending", "Commands that this member is proposing to the Raft log.")
	descFailed    = kernel.Desc("proposals_failed_total", "Commands whose proposal failed, by reason.", "reason")
	descLag       = kernel.Desc("follower_lag_entries", "Log entries that a follower has not acknowledged to this leader; NaN before its first acknowledgment. Only the leader exports it.", "peer")
	descProbes    = kernel.Desc("peer_probe_failures_total", "Probes of other members that failed, by member and transport.", "peer", "transport")
	descTerm      = kernel.Desc("raft_term", "Raft's current term.")
	descElections = kernel.Desc("raft_elections_total", "Elections that this member won, by cause.", "cause")
	descCommit    = kernel.Desc("raft_commit_index", "Index up to which the log is committed.")
	descApplied   = kernel.Desc("raft_applied_index", "Index up to which this member has applied the log.")
	descFSM       = kernel.Desc("fsm_version", "The replicated version of the log's commands; NaN before the member joined a cluster.")
	descKnown     = kernel.Desc("fsm_version_supported", "The newest version of the log's commands that this member knows.")
	descMembers   = kernel.Desc("members", "Members of the cluster, by role and by whether this member hears from them and they replicate; NaN before this member joined a cluster.", "role", "alive")
	descObserved  = kernel.Desc("observed_clock_timestamp_seconds", "The replicated observed clock, Unix time; NaN before there is one.")
	descSetBack   = kernel.Desc("set_back", "1 if the member issues nothing because members were set back to an earlier state, otherwise 0.")
	descOffset    = kernel.Desc("clock_offset_seconds", "Seconds that this clock is ahead of the majority's; negative if it is behind. NaN until it was compared.")
	descUntil     = kernel.Desc("lane_serve_until_timestamp_seconds", "Unix time until which the lane can issue without quorum; NaN if it holds no window.", "layout", "lane")
	descFailing   = kernel.Desc("lane_window_failing", "1 while the lane requests a window and gets none, otherwise 0. The lane issues from its present window meanwhile.", "layout", "lane")
	descUsed      = kernel.Desc("layout_workers_used", "Workers of the layout that were ever granted.", "layout")
	descHeld      = kernel.Desc("layout_workers_held", "Workers of the layout with a window that has not ended.", "layout")
	descFree      = kernel.Desc("layout_workers_free", "Workers of the layout that can be granted now. The last 16 of a secured cluster are for members only.", "layout")
	descCapacity  = kernel.Desc("layout_workers", "Workers of the layout.", "layout")
	descExhausts  = kernel.Desc("layout_exhausts_timestamp_seconds", "Unix time at which the layout's time field is full.", "layout")
	descBackup    = kernel.Desc("last_backup_timestamp_seconds", "Unix time of the last complete backup that this member served, or as the leader wrote and verified; NaN without one since its start.")
	descDue       = kernel.Desc("backup_due_timestamp_seconds", "Unix time at which the next scheduled backup is due, which has passed while backups fail; NaN unless this member leads and has a schedule.")
	descUnsaved   = kernel.Desc("backup_failures_total", "Scheduled backups of this member that failed; each is tried again.")
	descExpiry    = kernel.Desc("token_next_expiry_timestamp_seconds", "Unix time at which the next API token expires, of those with a life of more than seven days; NaN if none does.")
	descSequences = kernel.Desc("sequences", "Sequences of the cluster, without deleted ones; NaN before the member joined a cluster.")
	descDeleted   = kernel.Desc("sequences_deleted", "Deleted sequences that the cluster remembers; NaN before the member joined a cluster.")
	descFrozen    = kernel.Desc("restore_frozen", "Sequences, templates and pasts of layouts that issue nothing since a restore, until they are resumed, by kind; NaN before the member joined a cluster.", "kind")
	descBlocks    = kernel.Desc("blocks_granted_total", "Blocks of relaxed sequences that were granted to this member.")
	descWaits     = kernel.Desc("block_waits_total", "Requests for numbers of relaxed sequences that waited for a block.")
	descSkipped   = kernel.Desc("numbers_skipped_total", "Numbers of this member's blocks that are never issued.")
)

// Describe implements prometheus.Collector. It describes nothing, because labels come and go.
func (stateCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c stateCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	m, node := c.s.member, c.s.member.Node()
	gauge(descLeader, frontend.Flag(node.IsLeader()))
	gauge(descHasLeader, frontend.Flag(node.HasLeader()))
	gauge(descTerm, float64(node.Term()))
	gauge(descCommit, float64(node.CommitIndex()))
	gauge(descApplied, float64(node.AppliedIndex()))
	offset := math.NaN()
	if m.Clock().Settled() {
		offset = m.Clock().Offset().Seconds()
	}
	gauge(descObserved, unixOrNaN(m.State().Observed().Load()))
	gauge(descOffset, offset)
	stopped := m.Clock().Stopped()
	gauge(descSetBack, frontend.Flag(errors.Is(stopped, allocator.ErrSetBack) || errors.Is(stopped, allocator.ErrContradicted)))
	gauge(descPending, float64(node.ProposalsPending()))
	gauge(descExpiry, c.tokens.nextExpiry())
	saved := c.s.backups.Status()
	gauge(descBackup, unixOrNaN(max(c.s.api.LastBackup(), saved.LastMillis)))
	gauge(descDue, unixOrNaN(saved.DueMillis))
	ends := c.s.ends.list()
	gauge(descLeast, ends.Least())
	gauge(descOldestAll, unixOrNaN(ends.OldestOpen()))
	gauge(descKnown, float64(node.Commands()))
	type kind struct {
		voter, alive bool
	}
	count := make(map[kind]int)
	members := node.Members()
	for _, p := range members {
		count[kind{p.Voter, p.Serves()}]++
	}
	// ofCluster returns what this member knows of its cluster; NaN before it has joined one.
	ofCluster := func(v int) float64 {
		if len(members) == 0 {
			return math.NaN()
		}
		return float64(v)
	}
	for _, k := range []kind{{true, true}, {true, false}, {false, true}, {false, false}} {
		name := "nonvoter"
		if k.voter {
			name = "voter"
		}
		gauge(descMembers, ofCluster(count[k]), name, strconv.FormatBool(k.alive))
	}
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	for cause, won := range node.ElectionsWon() {
		counter(descElections, won, string(cause))
	}
	counter(descChanges, node.LeaderChanges())
	counter(descUnsaved, saved.Failures)
	for reason, failed := range node.ProposalsFailed() {
		counter(descFailed, failed, string(reason))
	}
	c.peers(ch)
	c.s.usage.collect(ch)
	gauge(descEnded, frontend.Flag(c.s.ended.ordered))
	gauge(descMoved, frontend.Flag(c.s.moved.problem() != ""))
	c.s.halts.collect(ch)
	c.s.receipts.collect(ch)
	stats := m.SequenceStats()
	counter(descBlocks, stats.Blocks)
	counter(descWaits, stats.Waited)
	counter(descSkipped, stats.Skipped)
	for _, l := range m.Lanes() {
		for _, lane := range l.Lanes {
			until := math.NaN()
			if lane.Token != 0 {
				until = float64(lane.ServeUntil.UnixMilli()) / 1000
			}
			gauge(descUntil, until, l.Layout, strconv.Itoa(lane.Lane))
			gauge(descFailing, frontend.Flag(lane.Failing), l.Layout, strconv.Itoa(lane.Lane))
		}
	}
	var layouts []fsm.LayoutInfo
	m.State().View(func(s *fsm.State) {
		layouts = s.Layouts()
		gauge(descFSM, ofCluster(int(s.FSMVersion())))
		gauge(descSequences, ofCluster(s.SequenceCount()))
		gauge(descExhausted, ofCluster(ends.Exhausted))
		gauge(descAllOpen, ofCluster(ends.Reservations))
		gauge(descDeleted, ofCluster(s.DeletedSequenceCount()))
		gauge(descFrozen, ofCluster(s.FrozenCount()), "sequence")
		gauge(descFrozen, ofCluster(s.SuspendedTemplates()), "template")
		gauge(descFrozen, ofCluster(s.ClosedPasts()), "past")
	})
	now := m.Clock().Now().Wall
	for _, l := range layouts {
		name, workers, held := l.Layout.Name(), float64(l.Layout.Workers()), float64(heldWorkers(m.State(), l, now))
		gauge(descUsed, float64(l.Used), name)
		gauge(descHeld, held, name)
		gauge(descFree, workers-held, name)
		gauge(descCapacity, workers, name)
		gauge(descExhausts, float64(l.Layout.ExhaustsAt())/1000, name)
	}
}

// unixOrNaN converts a time from Unix ms to Unix seconds; NaN if millis is 0, which means unknown.
func unixOrNaN(millis int64) float64 {
	if millis == 0 {
		return math.NaN()
	}
	return float64(millis) / 1000
}

// workersAtOnce is the number of workers that are read in one lock of the state. Commands wait for that time, about 0.1 ms.
const workersAtOnce = 1024

// heldWorkers returns the number of workers of a layout whose windows have not ended at now, Unix ms.
func heldWorkers(replica *fsm.Machine, info fsm.LayoutInfo, now int64) (held uint64) {
	tick := info.Layout.TickAt(now)
	for from := uint64(0); from < info.Used; from += workersAtOnce {
		replica.View(func(s *fsm.State) {
			for _, r := range s.Workers(info.Layout.Name(), from, workersAtOnce) {
				if !r.Released && r.Until > tick {
					held++
				}
			}
		})
	}
	return held
}
