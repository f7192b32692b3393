package fsm

import (
	"fmt"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The past in every life: the layout has one, which ends where the first tick of the clock does, and its two workers have two
// backfill jobs. Members whose clocks are back in the past acquire workers too.

func newEveryPast(t *testing.T) *everyNode {
	t.Helper()
	n := newEveryLife(t)
	n.fsm = NewState()
	spec := everyLayout
	spec.Past = true
	for _, cmd := range []*commandv1.Command{
		raise(Version), at(epoch+everyTick, observe(false)), at(epoch+everyTick, createLayout(spec)),
		setConfig(&commandv1.Config{
			MaxWindowMs: everyTick, WaitThresholdMs: 1, MaxClockOffsetMs: 1, Rollback: commandv1.RollbackPolicy_ROLLBACK_POLICY_SWAP,
			RedisCreate: commandv1.AutoCreate_AUTO_CREATE_OFF, Upgrades: commandv1.Upgrades_UPGRADES_AUTO,
		}, 0),
	} {
		if r := n.fsm.Apply(n.fsm.index+1, 1, cmd); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return n
}

// everyPast are the facts about the past.
type everyPast struct {
	started  uint64            // numbers of backfill jobs below it were used
	extended [2]everyExtension // last extension of each job
}

// everyExtension is the last extension of a job.
type everyExtension struct {
	life        uint8
	from, until int64
}

// everyJobs is the state machine's knowledge of the past.
type everyJobs struct {
	border int64
	next   uint64
	closed bool
	jobs   [2]struct {
		number, place, from int64
		ended               bool
		digest              byte
	}
}

func everyJobsOf(s *State) (r everyJobs) {
	p := s.layouts["small"].past
	if p == nil {
		return r
	}
	r.border, r.next, r.closed = p.border, p.next, p.closed
	for i, j := range p.jobs {
		r.jobs[i].number, r.jobs[i].place, r.jobs[i].from = int64(j.number)+1, j.place, j.extension.from
		r.jobs[i].ended, r.jobs[i].digest = j.ended, j.extension.digest[0]
	}
	return r
}

// everyBackfill starts, extends and ends jobs, repeats their last extensions, and opens the past.
var everyBackfill = func() (all []everyAction) {
	all = append(all,
		everyAction{"start", func(n *everyNode) (*everyNode, error) {
			next, r := n.propose(&commandv1.Command{Version: Version, Body: &commandv1.Command_StartBackfill{
				StartBackfill: &commandv1.StartBackfill{Layout: "small", Holder: "import"},
			}})
			if next == nil {
				return nil, nil
			}
			if r.Backfill.Job < next.started {
				return next, violated("job", "job %d was started again", r.Backfill.Job)
			}
			next.started = r.Backfill.Job + 1
			return next, nil
		}},
		everyAction{"open the past", func(n *everyNode) (*everyNode, error) {
			c := &commandv1.ResumeBackfill{Layout: "small"}
			if n.started > 0 {
				c.After = new(n.started - 1)
			}
			next, _ := n.propose(&commandv1.Command{Version: Version, Body: &commandv1.Command_ResumeBackfill{ResumeBackfill: c}})
			return next, nil
		}},
		everyAction{"acquire in the past", func(n *everyNode) (*everyNode, error) {
			back := *n
			back.tick = 0
			next, err := back.acquire(0)
			if next != nil {
				next.tick = n.tick
			}
			return next, err
		}})
	for job := range uint64(2) {
		all = append(all,
			everyAction{fmt.Sprint("extend ", job), func(n *everyNode) (*everyNode, error) { return n.extendJob(job, 2) }},
			everyAction{fmt.Sprint("extend to the end ", job), func(n *everyNode) (*everyNode, error) { return n.extendJob(job, 24) }},
			everyAction{fmt.Sprint("extend beyond ", job), func(n *everyNode) (*everyNode, error) { return n.extendJob(job, 26) }},
			everyAction{fmt.Sprint("repeat ", job), func(n *everyNode) (*everyNode, error) { return n.repeatJob(job) }},
			everyAction{fmt.Sprint("end ", job), func(n *everyNode) (*everyNode, error) {
				next, _ := n.propose(&commandv1.Command{Version: Version, Body: &commandv1.Command_EndBackfill{
					EndBackfill: &commandv1.EndBackfill{Layout: "small", Job: job},
				}})
				return next, nil
			}})
	}
	return all
}()

func (n *everyNode) extension(job uint64, x everyExtension) (*everyNode, Result) {
	return n.propose(&commandv1.Command{Version: Version, Body: &commandv1.Command_ExtendBackfill{ExtendBackfill: &commandv1.ExtendBackfill{
		Layout: "small", Job: job, FromPlace: x.from, UntilPlace: x.until, Digest: nonceHash(x.life),
	}}})
}

// extendJob takes the places of a job up to an even one, by a request of this life.
func (n *everyNode) extendJob(job uint64, until int64) (*everyNode, error) {
	j, ok := n.fsm.layouts["small"].past.job(job)
	if !ok {
		return nil, nil
	}
	x := everyExtension{n.life, j.place, until}
	next, _ := n.extension(job, x)
	if next == nil {
		return nil, nil
	}
	next.extended[job] = x
	return next, next.cover(everyLane{life: n.life, worker: job, until: until / 2}, x.from/2)
}

// repeatJob repeats the last extension of a job, which another life may have granted.
func (n *everyNode) repeatJob(job uint64) (*everyNode, error) {
	x := n.extended[job]
	if x.life == 0 {
		return nil, nil
	}
	next, _ := n.extension(job, x)
	if next != nil && x.life != n.life {
		return next, violated("claim", "life %d repeated %+v of job %d", n.life, x, job)
	}
	return nil, nil
}
