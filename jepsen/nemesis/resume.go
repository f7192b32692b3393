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
	// outcomesWithin is the time until clients know all that the members of the old cluster answered.
	outcomesWithin = 3 * time.Second
	// heldAtMost is more than the blocks that live on in clients have, and more than any sequence moved after a backup.
	heldAtMost = "1000000"
)

// Resume does what operators do after a restore, by what clients saw: it resumes all sequences, creates those that the
// backup lacks beyond their last numbers, and lets Redis clients create others again.
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
		known, err := w.resume(ctx, name, seen[name])
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
	for _, name := range missing {
		s := seen[name]
		args := []string{"seq", "create", name, "--start", fmt.Sprint(s.Last() + s.Increment), "--increment", fmt.Sprint(s.Increment)}
		if s.Relaxed {
			return fmt.Errorf("sequence %q is relaxed and not in the backup: clients may hold any numbers of it", name)
		}
		if err := w.command(ctx, "SEQUENCE_EXISTS", args...); err != nil {
			return err
		}
	}
	return w.command(ctx, "", "config", "set", "--redis-create", "strict")
}

// wouldRepeat finds the number that a refusal names.
var wouldRepeat = regexp.MustCompile(`numbers up to (-?\d+) were granted before the backup`)

// resume resumes one sequence; it reports false if the cluster does not know it.
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
		// It was granted and not issued, or not to a client that is known here.
		number, notOne := strconv.ParseInt(given[1], 10, 64)
		if notOne != nil {
			return false, notOne
		}
		after = number
	}
	return false, err
}

// final are the reasons for which a command is not repeated.
var final = []string{"UNKNOWN_SEQUENCE", "WOULD_REPEAT"}

// command runs a command until it succeeds; done is part of an error that says that an earlier try did.
func (w *World) command(ctx context.Context, done string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, operateWithin)
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
