package fsm

import (
	"fmt"

	"github.com/snowraft/snowraft/internal/position"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const maxWitness, maxReason = 256, 1024 // bytes

// Sealed returns the record of the seal; nil unless the cluster was set back in time and sealed. Sealed takes no lock. The
// caller must not change the record.
func (m *Machine) Sealed() *commandv1.Sealed { return m.sealed.Load() }

// Sealed returns the record of the seal; nil unless the cluster was sealed. The caller must not change it.
func (s *State) Sealed() *commandv1.Sealed { return s.sealed }

// seal ends all grants, if the evidence contradicts the history before this command. Evidence was committed before it was
// presented, and a command that commits after that has all committed commands before it. So the log judges: a leader that
// was deposed, or lags, can propose a seal and do no harm. Only an operator seals without evidence. The first seal stays.
func (s *State) seal(e entry) Result {
	c := e.cmd.GetSeal()
	if err := checkSeal(c); err != nil {
		return Result{Err: invalid("%v", err)}
	}
	if s.sealed != nil {
		return Result{}
	}
	if len(c.GetEvidence()) > 0 {
		p, _ := position.Parse(c.GetEvidence())
		if verdict, _ := s.judge(p); verdict != SetBack && verdict != Missing {
			return Result{Err: invalid("the evidence at index %d does not contradict the history of this cluster", p.Index)}
		}
	}
	s.sealed = &commandv1.Sealed{Evidence: c.GetEvidence(), Witness: c.GetWitness(), Reason: c.GetReason(), Index: e.index, SealedAtMs: e.now}
	s.revision++
	return Result{}
}

// checkSeal checks the evidence and the texts of a seal.
func checkSeal(c interface {
	GetEvidence() []byte
	GetWitness() string
	GetReason() string
},
) error {
	if evidence := c.GetEvidence(); len(evidence) > 0 {
		if _, err := position.Parse(evidence); err != nil {
			return fmt.Errorf("evidence of a seal: %w", err)
		}
	}
	if len(c.GetWitness()) > maxWitness || len(c.GetReason()) > maxReason {
		return fmt.Errorf("witness of %d bytes, reason of %d bytes: expected at most %d and %d", len(c.GetWitness()), len(c.GetReason()), maxWitness, maxReason)
	}
	return nil
}

// checkSealed refuses what a sealed cluster no longer does.
func (s *State) checkSealed(k kind) *Refused {
	if s.sealed == nil || k.whileSealed {
		return nil
	}
	return refuse(commandv1.Refusal_REFUSAL_SET_BACK,
		"this cluster was set back in time and is sealed: %s; see \"snowraft restore\"", s.sealed.GetReason())
}
