//go:build linux

package nemesis

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
)

const (
	// outcomesWithin is the time until clients have received every answer of the old cluster.
	outcomesWithin = 3 * time.Second
	// heldAtMost exceeds the numbers in the blocks that clients still hold, and the progress of any sequence after a backup.
	heldAtMost = "1000000"
)

// Resume acts as an operator after a restore, on the basis of the numbers that clients saw. It resumes all sequences with
// their earlier periods, and creates those that the backup lacks, starting after their last numbers. It resumes the sequences of
// templates together, and each template with a start after the numbers of all of them. It opens
// the past of each layout that has one. Then it lets Redis clients create sequences again.
func (w *World) Resume(ctx context.Context) error {
	if !history.Sleep(ctx, outcomesWithin) {
		return ctx.Err()
	}
	if err := w.command(ctx, "", "config", "set", "--redis-create", "off"); err != nil {
		return err
	}
	seen := w.Lab.Seen()
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if seen[name].Template != "" {
			continue // too many to resume one by one
		}
		known, err := w.resume(ctx, name, seen[name])
		if err == nil && known {
			err = w.resumeEnded(ctx, name, seen[name])
		}
		if err != nil {
			return err
		}
		if !known {
			missing = append(missing, name)
		}
	}
	if err := w.command(ctx, "", "seq", "resume", "--all", "--skip", heldAtMost); err != nil {
		return err
	}
	if err := w.command(ctx, "", "restore", "acknowledge"); err != nil {
		return err
	}
	for layout, last := range w.Lab.Jobs() {
		if err := w.resumePast(ctx, layout, last); err != nil {
			return err
		}
	}
	for pattern, start := range startsOf(seen) {
		if err := w.command(ctx, "is not suspended", "template", "resume", pattern, "--start", strconv.FormatInt(start, 10)); err != nil {
			return err
		}
	}
	for _, name := range missing {
		s := seen[name]
		args := []string{"seq", "create", name, "--start", fmt.Sprint(s.Last() + s.Increment), "--increment", fmt.Sprint(s.Increment)}
		if s.Relaxed {
			return fmt.Errorf("relaxed sequence %q is not in the backup, and clients may hold any of its numbers", name)
		}
		if err := w.command(ctx, "SEQUENCE_EXISTS", args...); err != nil {
			return err
		}
	}
	return w.command(ctx, "", "config", "set", "--redis-create", "strict")
}

// wouldRepeat matches the number in a WOULD_REPEAT refusal.
var wouldRepeat = regexp.MustCompile(`numbers up to (-?\d+) were granted before the backup`)

// resume resumes one sequence. It reports false if the cluster does not know the sequence.
func (w *World) resume(ctx context.Context, name string, s history.Seen) (known bool, err error) {
	after := s.Last()
	for range 2 {
		args := []string{"seq", "resume", name, "--after", strconv.FormatInt(after, 10)}
		if s.Relaxed {
			args = append(args, "--margin", heldAtMost)
		} else {
			args = append(args, "--holders-stopped")
		}
		err = w.command(ctx, "is not frozen", args...)
		if err == nil {
			return true, nil
		}
		if strings.Contains(err.Error(), "UNKNOWN_SEQUENCE") {
			return false, nil
		}
		given := wouldRepeat.FindStringSubmatch(err.Error())
		if given == nil {
			return false, err
		}
		// The number was granted but not issued, or was issued to a client unknown to the harness.
		number, notOne := strconv.ParseInt(given[1], 10, 64)
		if notOne != nil {
			return false, notOne
		}
		after = number
	}
	return false, err
}

// resumeEnded resumes the earlier periods of a sequence that clients got late numbers of.
func (w *World) resumeEnded(ctx context.Context, name string, s history.Seen) error {
	for period, last := range s.Ended {
		err := w.command(ctx, "is not closed by a restore", "seq", "resume", name, "--period", period, "--after", strconv.FormatInt(last, 10))
		if err != nil && !strings.Contains(err.Error(), "PERIOD_CLOSED") {
			return err
		}
	}
	return nil
}

// jobsBefore matches the number in the WOULD_REPEAT refusal of a job.
var jobsBefore = regexp.MustCompile(`jobs up to (\d+) were started before the backup`)

// resumePast opens the past of a layout after the last backfill job that clients started, or after the one that a refusal names: no
// client knows a job whose start had no answer.
func (w *World) resumePast(ctx context.Context, layout string, last int64) error {
	after := "none"
	if last >= 0 {
		after = strconv.FormatInt(last, 10)
	}
	resume := func(after string) error {
		return w.command(ctx, "there is nothing to resume", "backfill", "resume", layout, "--after", after)
	}
	err := resume(after)
	if err == nil {
		return nil
	}
	if before := jobsBefore.FindStringSubmatch(err.Error()); before != nil {
		return resume(before[1])
	}
	return err
}

// startsOf returns a start for each template, beyond the numbers of all its sequences.
func startsOf(seen map[string]history.Seen) map[string]int64 {
	starts := make(map[string]int64)
	for _, s := range seen {
		if s.Template != "" {
			starts[s.Template] = max(starts[s.Template], s.Last()+1)
		}
	}
	return starts
}

// final lists the error reasons after which a command is not retried.
var final = []string{"UNKNOWN_SEQUENCE", "WOULD_REPEAT", "PERIOD_CLOSED"}

// command runs a command until it succeeds, for at most operateWithin. An error that contains done, unless done is empty,
// means that an earlier attempt succeeded.
func (w *World) command(ctx context.Context, done string, args ...string) error {
	ctx, cancel := w.patient(ctx, operateWithin)
	defer cancel()
	for {
		_, err := w.Lab.Command(ctx, args...)
		if err == nil || done != "" && strings.Contains(err.Error(), done) {
			return nil
		}
		if slices.ContainsFunc(final, func(reason string) bool { return strings.Contains(err.Error(), reason) }) {
			return err
		}
		if !history.Sleep(ctx, 500*time.Millisecond) {
			return err
		}
	}
}
