// Package restore has the commands that begin a new cluster with the state of an old one, below the command that [New] returns.
package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cluster/storage"
	taken "github.com/snowraft/snowraft/cmd/snowraft/internal/backup"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/limits"
)

// The flags of restore.
const (
	dirFlag    = "data-dir"
	endedFlag  = "old-ended"
	goneFlag   = "old-cluster-is-gone"
	clockFlag  = "clock-checked"
	windowFlag = "old-max-window"
	offsetFlag = "old-max-clock-offset"
)

// settings are the flags of restore.
type settings struct {
	dir, ended          string
	window, offset      time.Duration
	gone, tokens, zones bool
	clock               bool // the operator has compared this host's clock
}

// New returns the command restore.
func New(a *cli.App) *cobra.Command {
	s := settings{window: limits.DefaultWindow, offset: limits.DefaultOffset}
	cmd := &cobra.Command{
		Use:   "restore " + taken.Sources + "...",
		Short: "Create a new cluster from backups",
		Long: `Create a new cluster from a backup: write the data directory of its first member. Start
this member with "snowraft serve", and the other members with empty data directories and
--join.

FILE is a backup, and DIR is the data directory of a stopped member. DIR, or URL as
s3://BUCKET/PREFIX, is also a place of scheduled backups: the command takes the latest of
the cluster there, or the one that the path names. If members were set back, their directories have different histories of the cluster. Give the latest state of
each member then: the new cluster repeats no number of any of them.

The new cluster grants nothing that the old one may have granted after the
backup:
- It issues no ID before the last window that the old cluster may have granted
  has ended. The command prints the time.
- Every sequence is frozen until "snowraft seq resume".
- No sequence of another name can be created until
  "snowraft restore acknowledge".

Set --old-ended to the latest time that any clock of the old members showed after the
backup, even if that clock was ahead and has been corrected since. If you do not know the
time, use a later one. Embedded generators of the old cluster may issue the
IDs that they hold until the new cluster begins. If you restore a backup a second time,
the same holds for the cluster that the first restore began, and --old-ended must not be
before the one given then.`,
		Example: `  snowraft restore snowraft.backup --data-dir /var/lib/snowraft \
    --old-ended 2026-11-23T10:00:00Z --old-cluster-is-gone
  snowraft restore s3://backups/ids --data-dir /var/lib/snowraft \
    --old-ended now --old-cluster-is-gone
  snowraft restore a.backup b.backup c.backup --data-dir /var/lib/snowraft \
    --old-ended now --old-cluster-is-gone`,
	}
	cli.AddFlag(cmd, "", dirFlag, "", cli.TextValue(&s.dir, "DIR"), "new or empty data directory of the first member")
	cli.AddFlag(cmd, "", endedFlag, "", cli.TextValue(&s.ended, "TIME"), "end of the old cluster, as RFC 3339 or Unix milliseconds, or now; a second means its end")
	cmd.Flags().BoolVar(&s.gone, goneFlag, false, "confirm that every member of the old cluster is stopped and never starts again")
	cli.AddFlag(cmd, "", windowFlag, "", cli.DurationValue(&s.window, limits.MinWindow, limits.MaxWindow),
		"largest max-window of the old cluster after the backup, if it was larger than in the backup").DefValue = ""
	cli.AddFlag(cmd, "", offsetFlag, "", cli.DurationValue(&s.offset, limits.MinOffset, limits.MaxOffset),
		"largest max-clock-offset of the old cluster after the backup, if it was larger than in the backup").DefValue = ""
	cmd.Flags().BoolVar(&s.zones, "zones-kept", false, "confirm that the time zone of no sequence changed after the backup, so that fewer periods are skipped")
	cmd.Flags().BoolVar(&s.tokens, "keep-tokens", false, "keep API tokens valid; tokens that were deleted after the backup are valid again")
	cmd.Flags().BoolVar(&s.clock, clockFlag, false, "confirm that this host's clock was compared with a correct one, if NTP does not keep it")
	cmd.AddCommand(newAcknowledge(a))
	return a.Command(cmd, func(ctx context.Context, out *cli.Printer, args []string) error {
		if !cmd.Flags().Changed(windowFlag) {
			s.window = 0
		}
		if !cmd.Flags().Changed(offsetFlag) {
			s.offset = 0
		}
		return s.restore(ctx, a, out, args)
	})
}

func (s *settings) restore(ctx context.Context, a *cli.App, out *cli.Printer, paths []string) error {
	now := a.Now()
	switch {
	case s.dir == "":
		return cli.Usagef("missing --%s; name a new or empty directory", dirFlag)
	case s.ended == "":
		return cli.Usagef("missing --%s; give the time at which the last member of the old cluster stopped, by its clock, or a later one", endedFlag)
	}
	backups := make([]*backup.Backup, len(paths))
	for i, path := range paths {
		var err error
		if backups[i], _, err = taken.Open(ctx, a, path); err != nil {
			return err
		}
	}
	b, err := backup.Merge(backups...)
	if err != nil {
		return err
	}
	ended, err := s.endedAt(b, now)
	if err != nil {
		return err
	}
	if !s.gone {
		return cli.Usagef("missing --%s; stop every member of cluster %s permanently, then set the flag", goneFlag, b.Header.GetClusterId())
	}
	if err := s.checkClock(a, ended, now, b); err != nil {
		return err
	}
	if err := probe(ctx, a, b.Header); err != nil {
		return err
	}
	observedMillis := b.State.Observed()
	restored, err := backup.Restore{
		NowMillis: now.UnixMilli(), OldEndedMillis: ended.UnixMilli(), OldMaxWindow: s.window, OldMaxClockOffset: s.offset, ZonesKept: s.zones, KeepTokens: s.tokens,
	}.Into(s.dir, b)
	switch {
	case errors.Is(err, storage.ErrNotEmpty):
		return cli.Usagef("--%s %q: must be empty; choose another directory, or move the files away", dirFlag, s.dir)
	case err != nil:
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			return cli.Usagef("--%s %q: cannot be written (%v); choose another directory", dirFlag, s.dir, at.Err)
		}
		return err
	}
	if observed := time.UnixMilli(observedMillis); observed.After(now.Add(time.Minute)) {
		a.Warn("the old cluster's clock once showed %s, according to the backup; no ID is issued before that time. If you have a backup from before that time, restore it into another directory",
			cli.Stamp(observedMillis))
	}
	return s.answer(out, restored, ended, now)
}

// latest is the greatest time by which the end of the old cluster may be ahead of both this host's clock and the observed clock
// of the backup. It allows for clocks that were ahead by hours. More is a mistake that would keep the new cluster from issuing.
const latest = 24 * time.Hour

// endedAt returns the end of the old cluster that the flags give.
func (s *settings) endedAt(b *backup.Backup, now time.Time) (time.Time, error) {
	ended := now
	if s.ended != "now" {
		millis, err := cli.ParseTime(s.ended)
		if err != nil {
			return ended, cli.Usagef("--%s %q: expected a time as RFC 3339 or Unix milliseconds, or now", endedFlag, s.ended)
		}
		ended = time.UnixMilli(millis)
		if strings.Contains(s.ended, ":") && !strings.ContainsAny(s.ended, ".,") { // the last member stopped within that second
			ended = ended.Add(time.Second - time.Millisecond)
		}
	}
	observed := time.UnixMilli(b.State.Observed())
	bound := now.Add(latest)
	if observed.After(now) {
		bound = observed.Add(latest)
	}
	switch {
	case ended.Before(observed):
		return ended, cli.Usagef("--%s %q: must not be before %s, the clock of the old cluster at the backup; give the time at which its last member stopped",
			endedFlag, s.ended, cli.Stamp(observed.UnixMilli()))
	case ended.After(bound):
		return ended, cli.Usagef("--%s %q: must not be after %s, because the new cluster would issue no ID until then; correct the time, or this host's clock",
			endedFlag, s.ended, cli.Stamp(bound.UnixMilli()))
	}
	return ended, nil
}

// checkClock refuses a clock of this host that may be wrong, unless the operator has checked it: with a clock that is behind, the
// new cluster would begin at times that the old one used.
func (s *settings) checkClock(a *cli.App, ended, now time.Time, b *backup.Backup) error {
	offset := max(s.offset, time.Duration(b.Header.GetMaxClockOffsetMs())*time.Millisecond)
	const check = "compare it with a correct clock, for example of another host, and correct it; then set --" + clockFlag
	switch {
	case s.clock:
		return nil
	case ended.After(now.Add(offset + time.Second)): // --old-ended may be rounded up to a whole second
		return cli.Usagef("--%s %q: is %v ahead of this host's clock, which may be behind; %s", endedFlag, s.ended, ended.Sub(now).Round(time.Second), check)
	case a.Unsynchronised():
		return cli.Usagef("this host's kernel says that its clock is not synchronized; %s", check)
	}
	return nil
}

// Document is the JSON document of a restored directory.
type Document struct {
	DataDir         string `json:"dataDir"`
	MemberID        string `json:"memberId"`
	ClusterID       string `json:"clusterId"`
	OldClusterID    string `json:"oldClusterId"`
	Index           uint64 `json:"index,string"`
	FloorAtMS       int64  `json:"floorAtMs,string"`
	IssuesAtMS      int64  `json:"issuesAtMs,string"`
	FrozenSequences int    `json:"frozenSequences"`
	Templates       int    `json:"suspendedTemplates"`
	Pasts           int    `json:"closedPasts"`
	TokensDisabled  bool   `json:"tokensDisabled"`
}

// age formats the end of the old cluster and the time since then, which reveals a wrong time zone.
func age(ended, now time.Time) string {
	if since := now.Sub(ended).Round(time.Second); since >= 0 {
		return fmt.Sprintf("%s (%v ago)", cli.Stamp(ended.UnixMilli()), since)
	}
	return fmt.Sprintf("%s (%v ahead of this host's clock)", cli.Stamp(ended.UnixMilli()), ended.Sub(now).Round(time.Second))
}

func (s *settings) answer(out *cli.Printer, r *backup.Restored, ended, now time.Time) error {
	doc := Document{
		DataDir: s.dir, MemberID: r.Node, ClusterID: r.Cluster, OldClusterID: r.Old, Index: r.Index,
		FloorAtMS: r.FloorMillis, IssuesAtMS: r.IssuesMillis, FrozenSequences: r.Frozen,
		Templates: r.Templates, Pasts: r.Pasts, TokensDisabled: !s.tokens,
	}
	issues := "at once"
	if wait := time.UnixMilli(r.IssuesMillis).Sub(now); wait > 0 {
		issues = fmt.Sprintf("from %s (in %v)", cli.Stamp(r.IssuesMillis), wait.Round(time.Second))
	}
	tokens := "kept"
	if !s.tokens {
		tokens = "disabled"
	}
	var more strings.Builder
	for _, step := range []struct {
		count   int
		do, run string
	}{{r.Templates, "Resume templates", "template resume"}, {r.Pasts, "Open the pasts of layouts", "backfill resume"}} {
		if step.count > 0 {
			fmt.Fprintf(&more, "\n%d. %s: snowraft %s --help", 5+strings.Count(more.String(), "\n"), step.do, step.run)
		}
	}
	return out.Answer(doc,
		cli.Line("restored into %q; new cluster: %s", s.dir, r.Cluster),
		cli.Record("Member", r.Node, "Old cluster", r.Old, "Old cluster ended", age(ended, now), "Issues IDs", issues, "Frozen sequences", r.Frozen,
			"Suspended templates", cli.TextIf(r.Templates > 0, "%d", r.Templates), "Closed pasts", cli.TextIf(r.Pasts > 0, "%d", r.Pasts), "API tokens", tokens),
		cli.Line(`Next steps:
1. Start the member: snowraft serve --data-dir %s, with its other
   settings, and with --secret-file if the old cluster had a secret.
2. Start the other members with empty data directories and --join.
3. Resume sequences: snowraft seq resume --help
4. Allow sequences with new names: snowraft restore acknowledge%s`, s.dir, more.String()))
}
