package fsm

import (
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Backfill jobs in the lives: no place of a layout is granted twice in all lives, to jobs or to windows, and only a repetition of
// a job's last extension in its own life is answered again. After a restore, the operator names the last job of all lives.

// livesPastSpec has few jobs, and ticks in which two IDs have places.
var livesPastSpec = snowflake.Spec{Name: "past", UnitMillis: 1000, EpochMillis: epoch, Past: true, Fields: []snowflake.FieldBits{
	{Field: snowflake.FieldTime, Bits: 40}, {Field: snowflake.FieldWorker, Bits: 3}, {Field: snowflake.FieldSequence, Bits: 1},
}}

// places returns a window in places.
func places(g Grant) Grant {
	n := int64(1) << livesPastSpec.Fields[2].Bits
	g.From, g.Until = g.From*n, g.Until*n
	return g
}

// backfill starts, extends or ends a job, or, rarely, repeats an extension of any life.
func (w *lives) backfill(s *State) *commandv1.Command {
	if s.FSMVersion() < DocumentVersion {
		return raise(DocumentVersion)
	}
	l, ok := s.layouts["past"]
	if !ok || l.past == nil {
		return createLayout(livesPastSpec)
	}
	kind := w.choose("backfill", 16)
	if kind == 0 && len(w.extensions) > 0 {
		x := w.extensions[w.choose("extension", len(w.extensions))]
		return &commandv1.Command{Body: &commandv1.Command_ExtendBackfill{ExtendBackfill: x}}
	}
	if kind < 3 || len(l.past.jobs) == 0 {
		return &commandv1.Command{Body: &commandv1.Command_StartBackfill{StartBackfill: &commandv1.StartBackfill{Layout: "past", Holder: "import"}}}
	}
	j := l.past.jobs[w.choose("job", len(l.past.jobs))]
	if kind == 3 {
		return &commandv1.Command{Body: &commandv1.Command_EndBackfill{EndBackfill: &commandv1.EndBackfill{Layout: "past", Job: j.number}}}
	}
	border := l.placeOf(l.past.border)
	c := &commandv1.ExtendBackfill{
		Layout: "past", Job: j.number, FromPlace: j.place + int64(w.choose("stale", 8)/7), Digest: nonceHash(byte('a' + w.choose("digest", 3))),
		UntilPlace: []int64{j.place + 1, j.place + 3, j.place + 20, border - 1, border, border + 1, border + 7200}[w.choose("until", 7)],
	}
	w.extensions = append(w.extensions, c)
	return &commandv1.Command{Body: &commandv1.Command_ExtendBackfill{ExtendBackfill: c}}
}

// place returns the position of the job that a command extends.
func (w *lives) place(cmd *commandv1.Command) int64 {
	if l := w.s.layouts["past"]; l != nil && l.past != nil {
		if j, ok := l.past.job(cmd.GetExtendBackfill().GetJob()); ok {
			return j.place
		}
	}
	return 0
}

// livesPlaces identifies an extension, whose places one request takes.
type livesPlaces struct {
	life   int
	job    uint64
	from   int64
	until  int64
	digest string
}

// extended notes the places of an extension.
func (w *lives) extended(c *commandv1.ExtendBackfill, before int64) error {
	is := livesPlaces{w.life, c.GetJob(), c.GetFromPlace(), c.GetUntilPlace(), string(c.GetDigest())}
	if before == c.GetUntilPlace() {
		if !w.placed[is] {
			return violated("place", "%+v was answered again, and never granted", is)
		}
		return nil
	}
	w.placed[is] = true
	return w.take("past", Grant{Worker: c.GetJob(), From: c.GetFromPlace(), Until: c.GetUntilPlace(), Token: uint64(len(w.placed)) << 32})
}

// started keeps the last number of a job.
func (w *lives) started(b Backfill) error {
	if int64(b.Job) <= w.lastJob {
		return violated("job", "job %d was started again in life %d", b.Job, w.life)
	}
	w.lastJob = int64(b.Job)
	return nil
}

// resumePast makes the operator's statement about the jobs of the earlier lives; nil if no past is closed.
func (w *lives) resumePast() *commandv1.Command {
	p, ok := w.s.Past("past")
	if !ok || !p.Closed {
		return nil
	}
	c := &commandv1.ResumeBackfill{Layout: "past"}
	if w.lastJob >= int64(p.NextJob) {
		c.After = new(uint64(w.lastJob))
	}
	return &commandv1.Command{Version: DocumentVersion, Body: &commandv1.Command_ResumeBackfill{ResumeBackfill: c}}
}
