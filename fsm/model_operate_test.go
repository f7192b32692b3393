package fsm

import (
	"fmt"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// operate proposes commands of leaders and operators.
func (w *world) operate(p *process) error {
	switch w.choose("operate", 12) {
	case 0:
		return w.setConfig()
	case 1:
		return w.propose(&commandv1.Command{ClockAtMs: w.clock(p), Body: &commandv1.Command_ObserveClock{
			ObserveClock: &commandv1.ObserveClock{Force: w.choose("force", 4) == 0},
		}})
	case 2:
		return w.checkpoint()
	case 5, 6:
		return w.revoke(w.processes[1+w.choose("application", 2)])
	case 3:
		return w.propose(&commandv1.Command{ClockAtMs: w.clock(p), Body: &commandv1.Command_RemoveMember{
			RemoveMember: &commandv1.RemoveMember{Id: fmt.Sprint("member-", w.choose("member", 5))},
		}})
	case 7, 8, 9:
		return w.leap()
	case 10:
		return w.lead()
	case 4: // the same layout again
		return w.propose(&commandv1.Command{ClockAtMs: w.clock(p), Body: &commandv1.Command_CreateLayout{
			CreateLayout: &commandv1.CreateLayout{Spec: LayoutSpec(modelSpecs[0])},
		}})
	}
	return w.propose(&commandv1.Command{ClockAtMs: w.now, Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{}}})
}

// leap has an operator move the observed clock up and down by half lives of an answer, further up than down, while a process
// sends requests, and set it right again. Each leap begins where all earlier answers have expired.
func (w *world) leap() error {
	p, name := w.processes[w.choose("process", len(w.processes))], w.name()
	w.level += 4
	if err := w.refill(name); err != nil {
		return err
	}
	for range 1 + w.choose("levels", 30) {
		w.level += []int64{-1, 1, 2}[w.choose("level", 3)]
		if err := w.observe(w.now + w.level*(answerMillis/2+1)); err != nil {
			return err
		}
		for range 1 + w.choose("requests", 3) {
			w.request(p, name)
			if err := w.applyAndAnswer(); err != nil {
				return err
			}
		}
	}
	return w.observe(w.now)
}

// refill gives a sequence numbers for the requests of a leap, by force.
func (w *world) refill(name string) error {
	cmd, spec := &commandv1.Command{ClockAtMs: w.now}, plain(name, numbers(1, 1, 1, 100))
	if q, ok := w.machines[0].Sequence(name); ok {
		cmd.Body = &commandv1.Command_UpdateSequence{UpdateSequence: &commandv1.UpdateSequence{Spec: spec, Generation: q.Generation, Force: true, Next: new(int64(1))}}
	} else {
		cmd.Body = &commandv1.Command_CreateSequence{CreateSequence: &commandv1.CreateSequence{Spec: spec, Force: true}}
	}
	return w.propose(cmd)
}

// observe forces the observed clock.
func (w *world) observe(at int64) error {
	return w.propose(&commandv1.Command{ClockAtMs: at, Body: &commandv1.Command_ObserveClock{ObserveClock: &commandv1.ObserveClock{Force: true}}})
}

func (w *world) setConfig() error {
	c := &commandv1.Config{
		MaxWindowMs:      []int64{1000, 2000}[w.choose("max window", 2)],
		WaitThresholdMs:  []int64{1, 250, 1000}[w.choose("threshold", 3)],
		MaxClockOffsetMs: 500,
		Rollback:         commandv1.RollbackPolicy(1 + w.choose("rollback", 2)),
		RedisCreate:      commandv1.AutoCreate(1 + w.choose("create", 3)),
		Upgrades:         commandv1.Upgrades_UPGRADES_AUTO,
	}
	if w.leases {
		c.TokenWorkersPercent = w.share()
	}
	generation := []uint64{w.machines[0].ConfigValue().GetGeneration(), 0}[w.choose("generation", 2)]
	return w.propose(&commandv1.Command{ClockAtMs: w.now, Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{
		Config: c, Generation: generation,
	}}})
}

func (w *world) checkpoint() error {
	c := &commandv1.Checkpoint{Index: w.check.index, Digest: w.check.digest}
	err := w.propose(&commandv1.Command{ClockAtMs: w.now, Body: &commandv1.Command_Checkpoint{Checkpoint: c}})
	if err == nil {
		leader := w.machines[w.choose("leader", len(w.machines))]
		leader.View(func(s *State) {
			index, digest := s.LastCheckpoint()
			w.check.index, w.check.digest = index, digest[:]
		})
	}
	return err
}
