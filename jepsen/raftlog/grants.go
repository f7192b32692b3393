package raftlog

import (
	"bytes"
	"maps"
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/snowflake"
)

// Grants holds all windows and blocks that the committed log granted, and all layouts, according to the state machine of
// this build.
type Grants struct {
	Layouts map[string]*snowflake.Layout
	Windows map[Lane][]Window  // windows of each worker, ascending by token
	Blocks  map[string][]Block // blocks keyed by the sequence's name, ascending by index
	Places  map[Lane][]Places  // places of each backfill job, which is a worker of the past; ascending
}

// Lane identifies a worker of a layout.
type Lane struct {
	Layout string
	Worker uint64
}

// Window is a window, from its acquisition to its last extension or release. The ticks [From, Until) belong to its holder.
type Window struct {
	Token       uint64
	Holder      string
	NonceHash   [32]byte
	From, Until int64 // ticks; Until is the last end
	Released    bool
}

// Places are the places [From, Until) of the past of a layout, each a tick and a sequence; see [commandv1.ExtendBackfill].
type Places struct{ From, Until int64 }

// Holds reports whether an ID of the past of a layout is in places that were granted to its job.
func (g *Grants) Holds(l *snowflake.Layout, p snowflake.Parts) bool {
	place := p.Tick*int64(l.Sequences()) + int64(p.Sequence) //nolint:gosec // G115: at most 63 bits together
	return slices.ContainsFunc(g.Places[Lane{l.Name(), p.Worker}], func(s Places) bool { return s.From <= place && place < s.Until })
}

// Block is a block of a sequence with the Count numbers First, First + Increment, ...
type Block struct {
	Index     uint64
	Period    int32
	First     int64
	Count     uint64
	Increment int64
	Returned  uint64 // count of numbers returned from the end of the block
	RequestID string // ID of the request; empty if it had none
	Repeated  bool   // true if it repeats the answer to an earlier request
}

// Checkpoint is a checkpoint of the log. It has the index At of an earlier checkpoint and the digest of the leader's
// state there.
type Checkpoint struct {
	Index, At uint64
	Digest    []byte
	// Replayed is the digest of the replayed state at At. Compared is false if the replay took no digest there.
	Replayed [32]byte
	Compared bool
}

// Matches returns false if the leader's state differed from the replayed state.
func (c *Checkpoint) Matches() bool { return !c.Compared || bytes.Equal(c.Digest, c.Replayed[:]) }

// Grants replays the log and collects its grants. With an error of [Log.Replay] it also returns the grants up to the
// error.
func (l *Log) Grants() (*Grants, error) {
	g := NewGrants()
	for a, err := range l.Replay() {
		if err != nil {
			return g, err
		}
		if a.Command != nil && a.Undecoded == nil && a.Result.Failure() == nil {
			g.take(&a)
		}
	}
	return g, nil
}

// NewGrants returns empty Grants.
func NewGrants() *Grants {
	return &Grants{
		Layouts: map[string]*snowflake.Layout{}, Windows: map[Lane][]Window{}, Blocks: map[string][]Block{}, Places: map[Lane][]Places{},
	}
}

// Add adds the grants of the restored cluster that followed this one.
func (g *Grants) Add(later *Grants) {
	maps.Copy(g.Layouts, later.Layouts)
	for lane, windows := range later.Windows {
		g.Windows[lane] = append(g.Windows[lane], windows...)
	}
	for name, blocks := range later.Blocks {
		g.Blocks[name] = append(g.Blocks[name], blocks...)
	}
	for lane, places := range later.Places {
		g.Places[lane] = append(g.Places[lane], places...)
	}
}

// CheckpointOf returns the Checkpoint of an applied command, compared with the replay.
func CheckpointOf(a *Applied, check *commandv1.Checkpoint) Checkpoint {
	return Checkpoint{
		Index: a.Index, At: check.GetIndex(), Digest: check.GetDigest(), Replayed: a.CheckpointDigest,
		Compared: check.GetIndex() != 0 && check.GetIndex() == a.CheckpointIndex,
	}
}

func (g *Grants) take(a *Applied) {
	switch body := a.Command.GetBody().(type) {
	case *commandv1.Command_CreateLayout:
		g.Layouts[a.Result.Layout.Name()] = a.Result.Layout
	case *commandv1.Command_AcquireWorker:
		g.acquire(a, body.AcquireWorker)
	case *commandv1.Command_ExtendWindow:
		g.last(body.ExtendWindow).Until = a.Result.Grant.Until
	case *commandv1.Command_ReleaseWorker:
		w := g.last(body.ReleaseWorker)
		w.Until, w.Released = body.ReleaseWorker.GetNextTick(), true
	case *commandv1.Command_AllocateBlock:
		g.block(a, body.AllocateBlock)
	case *commandv1.Command_ReturnBlock:
		g.giveBack(body.ReturnBlock)
	case *commandv1.Command_ExtendBackfill:
		extend := body.ExtendBackfill
		lane := Lane{extend.GetLayout(), extend.GetJob()}
		g.Places[lane] = append(g.Places[lane], Places{extend.GetFromPlace(), extend.GetUntilPlace()})
	}
}

func (g *Grants) acquire(a *Applied, acquire *commandv1.AcquireWorker) {
	grant := a.Result.Grant
	lane := Lane{acquire.GetLayout(), grant.Worker}
	w := Window{Token: grant.Token, Holder: acquire.GetHolder(), From: grant.From, Until: grant.Until}
	copy(w.NonceHash[:], acquire.GetNonceHash())
	g.Windows[lane] = append(g.Windows[lane], w)
}

// last returns the present window of the worker that a command changes.
func (g *Grants) last(of interface {
	GetLayout() string
	GetWorker() uint64
}) *Window {
	windows := g.Windows[Lane{of.GetLayout(), of.GetWorker()}]
	return &windows[len(windows)-1] // the state machine accepted the command, so there is one
}

func (g *Grants) block(a *Applied, allocate *commandv1.AllocateBlock) {
	b := a.Result.Block
	name := allocate.GetName()
	g.Blocks[name] = append(g.Blocks[name], Block{
		Index: a.Index, Period: b.Period,
		First: b.First, Count: b.Count, Increment: b.Increment,
		RequestID: string(allocate.GetRequestId()), Repeated: b.Repeated,
	})
}

// giveBack adds the returned numbers to the Returned of their block. It finds the block by its token, from the end, because
// only repeated answers come after the block.
func (g *Grants) giveBack(r *commandv1.ReturnBlock) {
	blocks := g.Blocks[r.GetName()]
	for i := len(blocks) - 1; i >= 0; i-- {
		if blocks[i].Index == r.GetToken() {
			blocks[i].Returned += r.GetUnused()
			return
		}
	}
}
