package cluster

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/snowraft/snowraft/internal/position"
)

// watermarkEvery is the least time between two writes of the watermark.
const watermarkEvery = 100 * time.Millisecond

// keepWatermark raises the watermark as this node applies entries. A node applies an entry after it is committed and on its own
// disk, in the log or in a snapshot.
func (n *Node) keepWatermark() {
	if n.cfg.History == nil {
		return
	}
	tick := time.NewTicker(watermarkEvery)
	defer tick.Stop()
	failed := false
	for {
		err := n.raiseWatermark()
		if err != nil && !failed {
			n.logger.Warn("watermark not written; a disk that is set back may not be noticed", "error", err)
		}
		failed = err != nil
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// raiseWatermark raises the watermark to the last applied point, unless the applied history contradicts it: it moves along one
// history only. So the member of which only the log was set back remains a witness of the entries that it lost.
func (n *Node) raiseWatermark() error {
	now, mark := n.Position(), n.watermark.Mark()
	if !mark.Before(now) {
		return nil
	}
	if setBack, _ := n.cfg.History.Judge(mark); setBack {
		return nil
	}
	return n.watermark.Raise(now)
}

// lost returns the number of committed entries that the log of this node lacks; 0 unless its disk was set back.
func (n *Node) lost() uint64 {
	mark, last := n.watermark.Mark().Index, n.raft.LastIndex()
	return mark - min(mark, last)
}

// noteLost says that this disk was set back.
func (n *Node) noteLost() {
	if n.lostAtStart = n.lost(); n.lostAtStart > 0 {
		n.noteSetBack(fmt.Sprintf("the disk of this member was set back: its log ends at entry %d, and it knew entry %d to be committed",
			n.raft.LastIndex(), n.watermark.Mark().Index))
	}
}

// History is the replicated record of all leaderships and commands. Any goroutine may call its methods.
type History interface {
	// Position returns the last applied point. The node fills in the cluster.
	Position() position.Position
	// Judge reports whether the applied history contradicts p, which then belonged to entries that were set back, and why.
	// It is false for positions that the record does not cover.
	Judge(p position.Position) (setBack bool, why string)
	// JudgeSnapshot is Judge with the history in a snapshot. It is false for a snapshot that cannot be read, which the FSM
	// itself refuses.
	JudgeSnapshot(snapshot io.Reader, p position.Position) (setBack bool, why string)
	// Seal records durably that the history contradicts what witness knows to be committed. It makes a proposal, so this
	// node must lead.
	Seal(ctx context.Context, evidence position.Position, witness, why string) error
	// Sealed reports whether the history is sealed.
	Sealed() bool
}

// Position returns the last applied point of this cluster's history; zero before there is one.
func (n *Node) Position() position.Position {
	cluster, err := uuid.Parse(n.id.Cluster())
	if n.cfg.History == nil || err != nil {
		return position.Position{}
	}
	p := n.cfg.History.Position()
	p.Cluster = cluster
	return p
}
