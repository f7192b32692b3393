//go:build linux

package nemesis

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/snowraft/snowraft/jepsen/attacks"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

func hostileKinds() []Kind {
	return []Kind{{
		Name: "hostile", Family: Hostile, About: "strangers attack all ports of all members",
		Draw: func(r *rand.Rand) schedule.Event {
			return schedule.Event{On: All, For: between(r, 5*time.Second, 30*time.Second)}
		},
		Begin: func(ctx context.Context, w *World, e schedule.Event) (Made, error) {
			hit, err := w.targets(e)
			if err != nil {
				return Made{}, err
			}
			host, err := w.Lab.Outsider(ctx)
			if err != nil {
				return Made{}, err
			}
			s, err := Besiege(ctx, w.Lab, hit, host, e.Seed, nil)
			if err != nil {
				return Made{}, err
			}
			return Made{
				Hosts: names(hit), Detail: fmt.Sprintf("%d datagrams captured for replay", len(s.siege.Captured)),
				Undo: func(context.Context) error {
					_, err := s.End()
					return err
				},
			}, nil
		},
	}}
}

// captureFor is the time for which the stranger first records the members' gossip.
const captureFor = time.Second

// Siege is a process that attacks members.
type Siege struct {
	siege         attacks.Siege
	cmd           *exec.Cmd
	acts, failure bytes.Buffer
}

// Besieged is the outcome of a siege.
type Besieged struct {
	// Acts counts the acts of each kind; 0 for a kind without an act.
	Acts map[string]uint64
	// Processor is the processor time that the strangers took.
	Processor time.Duration
}

// Besiege starts a process on a host. The process attacks the members from all addresses of the host until [Siege.End] is
// called. It uses the kinds of acts in only, or all kinds if only is empty.
func Besiege(ctx context.Context, l *lab.Lab, members []*lab.Member, host *network.Host, seed uint64, only []string) (*Siege, error) {
	s := &Siege{siege: attacks.Siege{
		Seed: seed, Only: only, Sources: host.Addresses(), Captured: network.Capture(ctx, lab.PortGossip, captureFor),
		Secured: l.Powerless() != "", Token: l.Powerless(),
	}}
	for _, m := range members {
		s.siege.Targets = append(s.siege.Targets, attacks.Target{
			API: m.Address(lab.PortAPI), HTTP: m.Address(lab.PortHTTP), Raft: m.Address(lab.PortRaft),
			Gossip: m.Address(lab.PortGossip), Redis: m.Address(lab.PortRedis),
		})
	}
	if len(s.siege.Kinds()) == 0 {
		return nil, fmt.Errorf("no act of %v fits the members", only)
	}
	orders, err := json.Marshal(s.siege)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s.cmd = exec.CommandContext(context.WithoutCancel(ctx), self, "hostile")
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = bytes.NewReader(orders), &s.acts, &s.failure
	if err := host.Do(s.cmd.Start); err != nil {
		return nil, err
	}
	return s, nil
}

// End stops the siege and returns its outcome. It returns an error if the process failed or committed no act.
func (s *Siege) End() (Besieged, error) {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	err := s.cmd.Wait()
	made := Besieged{Processor: s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()}
	if err == nil {
		err = json.Unmarshal(s.acts.Bytes(), &made.Acts)
	}
	var sum uint64
	for _, n := range made.Acts {
		sum += n
	}
	if err != nil {
		return Besieged{}, fmt.Errorf("siege failed after %d acts: %w: %s", sum, err, s.failure.String())
	}
	if sum == 0 {
		return Besieged{}, fmt.Errorf("siege without an act: %s", s.failure.String())
	}
	for _, kind := range s.siege.Kinds() {
		made.Acts[kind] += 0
	}
	return made, nil
}
