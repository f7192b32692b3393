package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The actions of changes.
const (
	actionCreate = "create"
	actionUpdate = "update"
	actionDelete = "delete"
)

// The outcomes of changes.
const (
	outcomePlanned = "planned"
	outcomeDone    = "done"
	outcomeRefused = "refused"  // without effect; the others are made
	outcomeFailed  = "failed"   // outcome unknown; the others were not tried
	outcomeNotDone = "not-done" // not tried
)

// change is one call that makes an object of the cluster as the file says. Its fields are those of the JSON.
type change struct {
	Action   string       `json:"action"`
	Kind     string       `json:"kind"`
	Name     string       `json:"name"` // empty for the configuration
	Settings []difference `json:"settings"`
	Outcome  string       `json:"outcome"`
	Reason   string       `json:"reason"` // reason of an error of a member
	Error    string       `json:"error"`  // empty without one

	do func(context.Context) (unreached []string, err error)
}

// difference is a setting that differs. Both texts are as in the file; a list has one text per line.
type difference struct {
	Key  string `json:"key"`
	Now  string `json:"now"`
	File string `json:"file"`
}

// planner collects the changes that make a cluster as a file says. It changes nothing.
type planner struct {
	file      *file
	cluster   string           // ID of the cluster
	starts    map[string]int64 // --start
	prune     bool
	dry       bool
	now       time.Time
	changes   []*change
	deletions []*change // made after all others
	unchanged int
}

func (p *planner) add(c *change) {
	c.Outcome = outcomePlanned
	if c.Error != "" {
		c.Outcome = outcomeRefused
	}
	p.changes = append(p.changes, c)
}

// elsewhere reports whether the file describes another cluster.
func (p *planner) elsewhere() bool { return p.file.cluster != "" && p.file.cluster != p.cluster }

// decideStart sets the first number of a sequence, or of the sequences of a template. A new one needs an explicit start, unless
// the file describes this cluster: another cluster may have issued numbers under the name. The starts of a file that describes
// another cluster do not count, because that cluster began with them too. was is nil for a new sequence.
func (p *planner) decideStart(o object, asked, was *snowraftv1.Sequence, exists bool) (refusal string) {
	_, given := o.given[startKey]
	start, stated := p.starts[o.name]
	switch {
	case exists && stated && was.GetStart() != start:
		return fmt.Sprintf("--start %s=%d: it exists with the start %d; see \"snowraft seq set\"", o.name, start, was.GetStart())
	case exists && (!given || p.elsewhere()):
		asked.Start = was.Start
	case exists:
	case stated:
		asked.Start = &start
	case p.elsewhere():
		return fmt.Sprintf("the file describes the cluster %s, which may have issued its numbers; set --start %s=N beyond the last one", p.file.cluster, o.name)
	case !given && p.file.cluster == "":
		return "start: must be given, because the file does not say which cluster it describes; set it to 1 if nothing was issued under the name before"
	}
	return ""
}

// unknown reports whether an object does not exist.
func unknown(err error) bool { return rpc.FromError(err).Code == codes.NotFound }

// plan collects all changes.
func (p *planner) plan(ctx context.Context, r *cli.Remote, t tokens) error {
	for _, of := range []func() error{
		func() error { return plan(ctx, p, layouts{r}) },
		func() error { return plan(ctx, p, sequences{r}) },
		func() error { return plan(ctx, p, templates{r}) },
		func() error { return planConfig(ctx, p, r) },
		func() error { return plan(ctx, p, t) },
	} {
		if err := of(); err != nil {
			return err
		}
	}
	for _, c := range p.deletions {
		p.add(c)
	}
	return nil
}

// checkStarts returns an error if --start names something that the file does not have.
func (p *planner) checkStarts() error {
	for name := range p.starts {
		named := func(o object) bool { return o.name == name }
		if !slices.ContainsFunc(p.file.objects["sequences"], named) && !slices.ContainsFunc(p.file.objects["templates"], named) {
			return cli.Usagef("--start %s: %s has no sequence and no template of that name", name, p.file.path)
		}
	}
	if len(p.starts) > 0 && !p.elsewhere() {
		return cli.Usagef("--start: is for a cluster that the file does not describe; set start in the file")
	}
	return nil
}
