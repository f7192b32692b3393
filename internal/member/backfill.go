package member

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/internal/backfill"
)

// StartBackfill starts a backfill job of a layout; only the leader can.
func (m *Member) StartBackfill(ctx context.Context, layout, holder string) (fsm.Backfill, error) {
	now, err := m.comparedNow()
	if err != nil {
		return fsm.Backfill{}, err
	}
	result, err := m.propose(ctx, now, &commandv1.Command{Body: &commandv1.Command_StartBackfill{
		StartBackfill: &commandv1.StartBackfill{Layout: layout, Holder: holder},
	}})
	return result.Backfill, err
}

// BackfillRequest is a batch of rows that need IDs of the past.
type BackfillRequest struct {
	Layout string
	Job    uint64
	Place  int64   // position of the job before the batch
	Times  []int64 // Unix ms, in order
	Within time.Duration
	ID     string // drawn at random for each batch
}

// digest identifies the request among all requests of all callers. A repetition gets the same IDs only if it is the same request of
// the same caller.
func (r BackfillRequest) digest(actor *commandv1.Actor) []byte {
	data := fmt.Appendf(nil, "%d %d %d %q ", actor.GetKind(), actor.GetToken(), r.Within.Milliseconds(), r.ID)
	for _, at := range r.Times {
		data = binary.BigEndian.AppendUint64(data, uint64(at)) //nolint:gosec // all bits count
	}
	sum := sha256.Sum256(data)
	return sum[:]
}

// BackfillIDs issues an ID for each row, and returns them with the next position of the job; only the leader can. Nothing is issued
// before the position is committed. The error is a [backfill.RowError] if a row gets no ID.
func (m *Member) BackfillIDs(ctx context.Context, r BackfillRequest) (ids []uint64, next int64, err error) {
	l, err := m.LayoutAtLeader(ctx, r.Layout)
	if err != nil {
		return nil, 0, err
	}
	var past fsm.Past
	m.fsm.View(func(s *fsm.State) { past, _ = s.Past(l.Name()) })
	cmd := &commandv1.Command{}
	actor, err := actorOf(ctx, cmd)
	if err != nil {
		return nil, 0, err
	}
	c := &commandv1.ExtendBackfill{Layout: l.Name(), Job: r.Job, FromPlace: r.Place, UntilPlace: r.Place + 1, Digest: r.digest(actor)}
	if past.Border > 0 { // else the state machine refuses
		ids, next, err = backfill.Job{Layout: l, Worker: r.Job, Place: r.Place, Border: past.Border}.Assign(r.Times, r.Within)
		if err != nil {
			return nil, 0, err
		}
		c.UntilPlace = next
	}
	cmd.Body = &commandv1.Command_ExtendBackfill{ExtendBackfill: c}
	if _, err := m.propose(ctx, m.clock.Now().Wall, cmd); err != nil {
		return nil, 0, err
	}
	return ids, next, nil
}

// EndBackfill ends a backfill job for good; only the leader can.
func (m *Member) EndBackfill(ctx context.Context, layout string, job uint64) (fsm.Backfill, error) {
	result, err := m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_EndBackfill{
		EndBackfill: &commandv1.EndBackfill{Layout: layout, Job: job},
	}})
	return result.Backfill, err
}

// ResumeBackfills opens the past of a layout that a restore closed; only the leader can. after is the greatest number of a job that
// the earlier cluster started; nil if it started none after the backup. It returns the number of the next job.
func (m *Member) ResumeBackfills(ctx context.Context, layout string, after *uint64) (next uint64, err error) {
	_, err = m.propose(ctx, m.clock.Now().Wall, &commandv1.Command{Body: &commandv1.Command_ResumeBackfill{
		ResumeBackfill: &commandv1.ResumeBackfill{Layout: layout, After: after},
	}})
	m.fsm.View(func(s *fsm.State) {
		past, _ := s.Past(layout)
		next = past.NextJob
	})
	return next, err
}
