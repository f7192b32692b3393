package apply

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
)

// result is the outcome of a run. Its fields are those of the JSON.
type result struct {
	ClusterID string    `json:"clusterId"`
	Changes   []*change `json:"changes"`
	Unchanged int       `json:"unchanged"`
	Applied   bool      `json:"applied"`
}

// count returns the number of changes with an action and an outcome.
func (r *result) count(action, outcome string) (n int) {
	for _, c := range r.Changes {
		if (action == "" || c.Action == action) && c.Outcome == outcome {
			n++
		}
	}
	return n
}

// run makes the changes in order. A refusal concerns one object, and the others are still made. After any other failure it stops,
// and returns the error.
func (r *result) run(ctx context.Context, a *cli.App) error {
	r.Applied = true
	progress := a.Progress()
	var unreached []string
	defer func() {
		slices.Sort(unreached)
		a.WarnUnreached(slices.Compact(unreached), "until they learn of the changes, they may follow the previous settings, and issue numbers of the blocks that they hold")
	}()
	for i, c := range r.Changes {
		members, err := c.do(ctx)
		unreached = append(unreached, members...)
		switch {
		case err == nil:
			c.Outcome = outcomeDone
		case refused(err):
			c.Outcome, c.Reason, c.Error = outcomeRefused, rpc.FromError(err).Reason, err.Error()
		default:
			c.Outcome, c.Reason, c.Error = outcomeFailed, rpc.FromError(err).Reason, err.Error()
			for _, rest := range r.Changes[i+1:] {
				rest.Outcome = outcomeNotDone
			}
			return fmt.Errorf("%s: %w; %d of %d changes were made: run the command again for the rest", c.title(), err, r.count("", outcomeDone), len(r.Changes))
		}
		progress.Show("made %d of %d changes", i+1, len(r.Changes))
	}
	return nil
}

// refused reports whether an error concerns one object only.
func refused(err error) bool {
	switch rpc.FromError(err).Code {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.NotFound, codes.AlreadyExists, codes.OutOfRange, codes.Aborted:
		return true
	default:
		return false
	}
}

func (c *change) title() string { return strings.TrimSuffix(c.Kind+" "+c.Name, " ") }

// marks are the beginnings of changes in text.
var marks = map[string]string{actionCreate: "+", actionUpdate: "~", actionDelete: "-"}

// blocks returns a run as text.
func (r *result) blocks() []cli.Block {
	var blocks []cli.Block
	if len(r.Changes) > 0 {
		blocks = append(blocks, func(w io.Writer, s cli.Style) {
			for _, c := range r.Changes {
				c.write(w, s)
			}
		})
	}
	return append(blocks, cli.Line("%s", r.summary()))
}

// write writes a change: its object, and a line for each setting and for an error.
func (c *change) write(w io.Writer, s cli.Style) {
	looks := map[string]func(string) string{actionCreate: s.Green, actionUpdate: s.Bold, actionDelete: s.Red}
	mark, look := marks[c.Action], looks[c.Action]
	if c.Outcome == outcomeRefused || c.Outcome == outcomeFailed {
		mark, look = "!", s.Red
	}
	title := c.title()
	if c.Outcome == outcomeNotDone {
		title += " (not done)"
	}
	fmt.Fprintln(w, look(mark+" "+title))
	for _, d := range c.Settings {
		text := value(d.File)
		if c.Action == actionUpdate {
			text = value(d.Now) + " -> " + text
		}
		cli.Indented("    ", d.Key+": "+text)(w, s)
	}
	if c.Error != "" {
		cli.Indented("    ", c.Outcome+": "+c.Error)(w, s)
	}
}

// value returns the text of a setting for people.
func value(text string) string {
	if text == "" {
		return "(none)"
	}
	return strings.ReplaceAll(text, listSeparator, " ")
}

func (r *result) summary() string {
	refused := ""
	if n := r.count("", outcomeRefused); n > 0 {
		refused = fmt.Sprintf(", refused: %d", n)
	}
	switch {
	case len(r.Changes) == 0:
		return fmt.Sprintf("no differences; unchanged: %d", r.Unchanged)
	case !r.Applied:
		return fmt.Sprintf("to create: %d, to change: %d, to delete: %d, unchanged: %d%s\nNothing was changed.",
			r.count(actionCreate, outcomePlanned), r.count(actionUpdate, outcomePlanned), r.count(actionDelete, outcomePlanned), r.Unchanged, refused)
	default:
		return fmt.Sprintf("created: %d, changed: %d, deleted: %d, unchanged: %d%s",
			r.count(actionCreate, outcomeDone), r.count(actionUpdate, outcomeDone), r.count(actionDelete, outcomeDone), r.Unchanged, refused)
	}
}
