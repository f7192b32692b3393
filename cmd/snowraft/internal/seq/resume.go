package seq

import (
	"bufio"
	"context"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// resumption holds the flags of resume.
type resumption struct {
	cmd          *cobra.Command
	after        *int64
	margin, skip uint64
	stopped, all bool
	file, period string
	formats      []string
	kept, force  bool
}

func newResume(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume [NAME]",
		Short: "Resume sequences that a restore froze or that moved",
		Long: `Resume sequences that a restore froze: one by NAME, those in a file, or all. The cluster
does not know which numbers the old one granted after the backup, so you must state it.

With --after, the sequence continues after the last number that any application got.
Members and applications of the old cluster may still issue numbers of blocks that they
hold: stop them and set --holders-stopped, or skip --margin further numbers. With --margin
or --skip alone, the sequence continues that many numbers after the last one that the
backup knows. Set it above the distance by which the sequence moved after the backup,
including changes of its next number and of its increment. The distance counts in steps of
the increment that the backup knows. Numbers that the backup knows are never granted again.

A sequence with a reset whose period may have begun in the old cluster issues nothing
until its next period, unless --after gives the last number of the present one.

A restore also closes all periods that ended. After the sequence, resume each period whose
numbers are still late with --period and its last number. Late numbers are in no blocks, so
--holders-stopped is not needed. The numbers of a gapless sequence are in no blocks either:
set --holders-stopped for it. Its numbers up to --after that the backup does
not show as settled become unknown.

The format of a sequence cannot change until you state the formats that it got after the
backup: --format-was for each, or --formats-kept if it got none. Both can also be given
later, with NAME alone. A sequence of that name that was created or deleted after the
backup counts too.

Resume a sequence that "snowraft export" moved to another system with the last number of
that system, after that system refuses to issue numbers. "snowraft import --fence" does
both.`,
		Example: `  snowraft seq resume orders --after 5649 --holders-stopped
  snowraft seq resume orders --after 5649 --margin 100000
  snowraft seq resume --file numbers.txt --holders-stopped
  snowraft seq resume --all --skip 1000000
  snowraft seq resume invoices --period 2026-10 --after 4711
  snowraft seq resume invoices --format-was 'R{seq:06}'`,
	}
	r := &resumption{cmd: cmd}
	cli.AddFlag(cmd, "", "after", "", cli.NumberValue(&r.after).Only(cli.WholeNumber, func() bool { return r.after != nil }), "last number that the old cluster, or the other system, issued")
	cli.AddFlag(cmd, "", "margin", "", cli.UintValue(&r.margin, 0), "further numbers to skip").DefValue = ""
	cmd.Flags().BoolVar(&r.stopped, "holders-stopped", false, "confirm that every process that held blocks of the old cluster is stopped")
	cmd.Flags().BoolVar(&r.all, "all", false, "resume all frozen sequences, deleted ones included")
	cli.AddFlag(cmd, "", "skip", "", cli.UintValue(&r.skip, 1), "numbers to skip in each sequence of --all").DefValue = ""
	cli.AddFlag(cmd, "", "file", "", cli.FileValue(&r.file), "file with a name and its last issued number per line, separated by a space")
	cli.AddFlag(cmd, "", "period", "", cli.WordsValue(&r.period, "PERIOD"), "period that ended, to be resumed instead of the sequence")
	cmd.Flags().BoolVar(&r.kept, "formats-kept", false, "confirm that the sequence got no other format after the backup")
	cli.AddFlag(cmd, "", "format-was", "", cli.RepeatedValue(&r.formats, "FORMAT", "a format, such as {seq} for decimals", func(s string) bool {
		return s != "" && utf8.ValidString(s)
	}), "format that the sequence got after the backup; repeat the flag for several")
	cmd.Flags().BoolVar(&r.force, "force-format", false, "resume the sequence even if its texts may repeat those of another format")
	return client(a, cmd, func(ctx context.Context, remote *cli.Remote, out *cli.Printer, args []string) error {
		requests, err := r.requests(ctx, remote, args)
		if err != nil {
			return err
		}
		if len(requests) == 0 {
			return out.Answer(&snowraftv1.ListFrozenSequencesResponse{}, cli.Line("no sequence is frozen"))
		}
		return resumeAll(ctx, a, remote, out, requests)
	})
}

// printResumed prints what a request resumed.
func printResumed(a *cli.App, out *cli.Printer, req *snowraftv1.ResumeSequenceRequest, resp *snowraftv1.ResumeSequenceResponse) error {
	const meaning = "until they learn of the change, they refuse to issue its numbers"
	switch s := resp.GetSequence(); {
	case statesFormats(req):
		return out.Answer(resp, cli.Line("the earlier formats of sequence %q are known; its format can change", s.GetName()))
	case s.GetDeleted():
		return out.Answer(resp, cli.Line("resumed deleted sequence %q; a new sequence of this name does not repeat its numbers", s.GetName()))
	case req.GetPeriod() != "":
		a.WarnUnreached(resp.GetUnreachedMembers(), meaning)
		return out.Answer(resp, cli.Line("resumed period %s of sequence %q", req.GetPeriod(), s.GetName()))
	case s.GetUnknownNumbers() > 0:
		a.WarnUnreached(resp.GetUnreachedMembers(), meaning)
		return out.Answer(resp, cli.Line("resumed sequence %q (gapless)%s; unknown numbers: %d, see \"snowraft seq audit\" and \"snowraft seq resolve\"",
			s.GetName(), following(s, "resumed"), s.GetUnknownNumbers()))
	}
	return printChanged(a, out, "resumed", resp, meaning)
}

// statesFormats reports whether a request states the formats of a sequence and nothing else.
func statesFormats(req *snowraftv1.ResumeSequenceRequest) bool {
	return (req.GetFormatsKept() || len(req.GetFormats()) > 0) && req.After == nil && req.GetMargin() == 0
}

// requests returns one request per sequence, all with the statement about formats.
func (r *resumption) requests(ctx context.Context, remote *cli.Remote, args []string) ([]*snowraftv1.ResumeSequenceRequest, error) {
	all, err := r.counts(ctx, remote, args)
	for _, req := range all {
		req.FormatsKept, req.Formats, req.ForceFormat = r.kept, r.formats, r.force
	}
	return all, err
}

// counts returns one request per sequence, without the statement about formats.
func (r *resumption) counts(ctx context.Context, remote *cli.Remote, args []string) ([]*snowraftv1.ResumeSequenceRequest, error) {
	given := r.cmd.Flags().Changed
	stated := r.kept || len(r.formats) > 0
	switch {
	case r.kept && len(r.formats) > 0:
		return nil, cli.Usagef("--formats-kept cannot be combined with --format-was")
	case len(r.formats) > 0 && (r.all || r.file != ""):
		return nil, cli.Usagef("--format-was cannot be combined with --all and --file")
	case stated && r.period != "":
		return nil, cli.Usagef("--period cannot be combined with --formats-kept and --format-was")
	case stated && len(args) == 1 && r.after == nil && !given("margin") && !r.stopped && !r.all && r.file == "" && !given("skip"):
		return []*snowraftv1.ResumeSequenceRequest{{Sequence: args[0]}}, nil
	case r.period != "" && (len(args) == 0 || r.all || r.file != "" || r.stopped):
		return nil, cli.Usagef("--period needs NAME, and cannot be combined with --all, --file and --holders-stopped")
	case r.period != "" && r.after == nil && !given("margin"):
		return nil, cli.Usagef("--period: missing --after; give the last number of the period, or --margin if the backup has it")
	case len(args) == 1 && (r.all || r.file != ""):
		return nil, cli.Usagef("NAME cannot be combined with --all and --file")
	case r.all && (r.file != "" || r.after != nil || given("margin") || r.stopped):
		return nil, cli.Usagef("--all cannot be combined with --file, --after, --margin and --holders-stopped; set --skip")
	case r.all && !given("skip"):
		return nil, cli.Usagef("--all: missing --skip; set it above the steps that any sequence moved after the backup, including changes of its next number")
	case given("skip") && !r.all:
		return nil, cli.Usagef("--skip: cannot be used without --all; set --margin")
	case r.all:
		return r.frozen(ctx, remote)
	case len(args) == 0 && r.file == "":
		return nil, cli.Usagef("missing argument NAME; give a name, --file or --all")
	case r.file != "" && r.after != nil:
		return nil, cli.Usagef("--file cannot be combined with --after")
	case r.stopped && given("margin"):
		return nil, cli.Usagef("--holders-stopped cannot be combined with --margin")
	case r.stopped && r.after == nil && r.file == "":
		return nil, cli.Usagef("--holders-stopped: cannot be used without --after; give the last number that the old cluster issued")
	case !r.stopped && !given("margin") && r.period == "":
		return nil, cli.Usagef("missing --holders-stopped or --margin; stop every process that held blocks, or give the numbers to skip for them")
	case r.file != "":
		return r.listed()
	default:
		return []*snowraftv1.ResumeSequenceRequest{{Sequence: args[0], After: r.after, Margin: r.margin, Period: r.period}}, nil
	}
}

// frozen returns requests for all frozen sequences.
func (r *resumption) frozen(ctx context.Context, remote *cli.Remote) ([]*snowraftv1.ResumeSequenceRequest, error) {
	all, err := cli.List(func(token string) ([]*snowraftv1.Sequence, string, error) {
		resp, err := remote.Sequences.ListFrozenSequences(ctx, &snowraftv1.ListFrozenSequencesRequest{PageSize: cli.PageSize, PageToken: token})
		return resp.GetSequences(), resp.GetNextPageToken(), err
	})
	return cli.Map(func(s *snowraftv1.Sequence) *snowraftv1.ResumeSequenceRequest {
		return &snowraftv1.ResumeSequenceRequest{Sequence: s.GetName(), Margin: r.skip, ExpectedGeneration: new(s.GetGeneration())}
	}, all), err
}

// listed returns requests for the sequences in the file. It reads the whole file before the command resumes any sequence.
func (r *resumption) listed() (all []*snowraftv1.ResumeSequenceRequest, err error) {
	file, err := os.Open(r.file)
	if err != nil {
		return nil, cli.Usagef("--file %q: cannot be read (%v); choose a text file", r.file, cli.Innermost(err))
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	seen := make(map[string]int) // line number of each name
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 {
			return nil, cli.Usagef("%s:%d: expected a name and a number, separated by a space", r.file, n)
		}
		after, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return nil, cli.Usagef("%s:%d: %q: expected %s", r.file, n, words[1], cli.WholeNumber)
		}
		if line := seen[words[0]]; line > 0 {
			return nil, cli.Usagef("%s:%d: sequence %q is on line %d too; remove one of the lines", r.file, n, words[0], line)
		}
		seen[words[0]] = n
		all = append(all, &snowraftv1.ResumeSequenceRequest{Sequence: words[0], After: &after, Margin: r.margin})
	}
	if err := lines.Err(); err != nil {
		return nil, cli.Usagef("--file %q: %v", r.file, err)
	}
	if len(all) == 0 {
		return nil, cli.Usagef("--file %q: contains no sequence; write a name and a number per line", r.file)
	}
	return all, nil
}
