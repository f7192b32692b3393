package raftlog

import (
	"bytes"
	"maps"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/snowflake"
)

// Grants is all that the committed log granted, as this build's state machine says.
type Grants struct {
	Layouts map[string]*snowflake.Layout
	Windows map[Lane][]Window  // of each worker, in the order of their tokens
	Blocks  map[string][]Block // of each name of a sequence, in the order of their indexes
}

// Lane is a worker of a layout.
type Lane struct {
	Layout string
	Worker uint64
}

// Window is a window from its acquisition on: the ticks [From, Until) are its holder's.
type Window struct {
	Token       uint64
	Holder      string
	NonceHash   [32]byte
	From, Until int64 // Until is the end as it was at last
	Released    bool
}

// Block is a block of a sequence: First, First + Increment, ..., Count numbers.
type Block struct {
	Index     uint64
	Period    int32
	First     int64
	Count     uint64
	Increment int64
	Returned  uint64 // how many at the end were returned
	RequestID string // if it answers a request with an ID
	Repeated  bool   // it is the answer that an earlier one got
}

// Checkpoint is a checkpoint of the log. It speaks of an earlier one, At, and of the digest that the
// leader's state had there.
type Checkpoint struct {
	Index, At uint64
	Digest    []byte
	// Replayed is the digest that the replayed state had at At, Compared is false if it took no
	// digest there.
	Replayed [32]byte
	Compared bool
}

// Matches is false if the leader's state differed from the replayed one.
func (c *Checkpoint) Matches() bool { return !c.Compared || bytes.Equal(c.Digest, c.Replayed[:]) }

// Grants replays the log and collects what it granted. The error is that of [Log.Replay]; then
// what was collected up to there is returned as well.
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

// NewGrants returns no grants.
func NewGrants() *Grants {
	return &Grants{Layouts: map[string]*snowflake.Layout{}, Windows: map[Lane][]Window{}, Blocks: map[string][]Block{}}
}

// Add adds what the cluster granted that was restored after this one's end.
func (g *Grants) Add(later *Grants) {
	maps.Copy(g.Layouts, later.Layouts)
	for lane, windows := range later.Windows {
		g.Windows[lane] = append(g.Windows[lane], windows...)
	}
	for name, blocks := range later.Blocks {
		g.Blocks[name] = append(g.Blocks[name], blocks...)
	}
}

// CheckpointOf compares a Checkpoint with the replay.
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
	}
}

func (g *Grants) acquire(a *Applied, acquire *commandv1.AcquireWorker) {
	grant := a.Result.Grant
	lane := Lane{acquire.GetLayout(), grant.Worker}
	w := Window{Token: grant.Token, Holder: acquire.GetHolder(), From: grant.From, Until: grant.Until}
	copy(w.NonceHash[:], acquire.GetNonceHash())
	g.Windows[lane] = append(g.Windows[lane], w)
}

// last is a worker's present window, which a command changes.
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

// giveBack finds the block by its token: it is among the last ones, as only repeated answers
// come after it.
func (g *Grants) giveBack(r *commandv1.ReturnBlock) {
	blocks := g.Blocks[r.GetName()]
	for i := len(blocks) - 1; i >= 0; i-- {
		if blocks[i].Index == r.GetToken() {
			blocks[i].Returned += r.GetUnused()
			return
		}
	}
}
