package check

import (
	"bytes"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/jepsen/raftlog"
)

// jobModel is a backfill job, over all lives.
type jobModel struct {
	from, until int64 // all its places, in [from, until); 0 and 0 if it has none
	digest      []byte
	begun       int64 // the first place of the last extension
	earlier     bool  // an earlier cluster started it
}

// startJob checks that no job had the number before. A job of an earlier cluster that was granted no place has issued no ID. If no
// client knows it, the operator does not count it.
func (m *windowModel) startJob(e *raftlog.Applied, c *commandv1.StartBackfill) {
	if e.Result.Failure() != nil {
		return
	}
	lane := raftlog.Lane{Layout: c.GetLayout(), Worker: e.Result.Backfill.Job}
	if had := m.jobs[lane]; had != nil && (!had.earlier || had.until > 0) {
		m.v.fail("index %d starts backfill job %d of layout %q, which was started before", e.Index, lane.Worker, lane.Layout)
		return
	}
	m.jobs[lane] = &jobModel{}
}

// extendJob checks that a job gets places after all that it has, or repeats its last extension.
func (m *windowModel) extendJob(e *raftlog.Applied, c *commandv1.ExtendBackfill) {
	if e.Result.Failure() != nil {
		return
	}
	from, until := c.GetFromPlace(), c.GetUntilPlace()
	j := m.jobs[raftlog.Lane{Layout: c.GetLayout(), Worker: c.GetJob()}]
	switch {
	case j == nil || j.earlier:
		m.v.fail("index %d grants places to backfill job %d of layout %q, which this cluster did not start", e.Index, c.GetJob(), c.GetLayout())
		return
	case j.until > 0 && until == j.until && from == j.begun && bytes.Equal(j.digest, c.GetDigest()):
		return
	case from < j.until || until <= from:
		m.v.fail("index %d grants the places %d to %d to backfill job %d of layout %q, which has the places up to %d",
			e.Index, from, until, c.GetJob(), c.GetLayout(), j.until)
	}
	if j.until == 0 {
		j.from = from
	}
	j.until, j.begun, j.digest = max(j.until, until), from, c.GetDigest()
}

// checkPast compares the windows of each worker with the places of the backfill job of its number.
func (m *windowModel) checkPast() {
	for lane, j := range m.jobs {
		w, sequences := m.workers[lane], m.layouts[lane.Layout].sequences
		if w == nil || j.until == 0 {
			continue
		}
		for _, window := range w.windows {
			if window[0] < window[1] && window[0]*sequences < j.until && j.from < window[1]*sequences {
				m.v.fail("worker %d of layout %q has a window of ticks %d to %d, and the backfill job of its number the places %d to %d",
					lane.Worker, lane.Layout, window[0], window[1], j.from, j.until)
			}
		}
	}
}
