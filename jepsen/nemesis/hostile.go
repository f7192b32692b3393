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
	"strings"
	"syscall"
	"time"

	"github.com/snowraft/snowraft/jepsen/attacks"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/schedule"
)

func hostileKinds() []Kind {
	return []Kind{{
		Name: "hostile", Family: Hostile, About: "a stranger attacks all ports of all members",
		Draw: func(r *rand.Rand) schedule.Event {
			return schedule.Event{On: All, For: between(r, 5*time.Second, 30*time.Second)}
		},
		Begin: besiege,
	}}
}

// captureFor is the time that the stranger listens to members' gossip first.
const captureFor = time.Second

// besiege starts a process on a host of its own that attacks until it is stopped.
func besiege(ctx context.Context, w *World, e schedule.Event) (Made, error) {
	hit, err := w.targets(e)
	if err != nil {
		return Made{}, err
	}
	host, err := w.Lab.Outsider(ctx)
	if err != nil {
		return Made{}, err
	}
	siege := attacks.Siege{Seed: e.Seed, Captured: network.Capture(ctx, lab.PortGossip, captureFor), Secured: w.Lab.Powerless() != "", Token: w.Lab.Powerless()}
	for _, m := range hit {
		siege.Targets = append(siege.Targets, attacks.Target{
			API: m.Address(lab.PortAPI), HTTP: m.Address(lab.PortHTTP), Raft: m.Address(lab.PortRaft),
			Gossip: m.Address(lab.PortGossip), Redis: m.Address(lab.PortRedis),
		})
	}
	orders, err := json.Marshal(siege)
	if err != nil {
		return Made{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return Made{}, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), self, "hostile")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var acts, failure bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(orders), &acts, &failure
	if err := host.Do(cmd.Start); err != nil {
		return Made{}, err
	}
	return Made{
		Hosts: names(hit), Detail: fmt.Sprintf("%d datagrams to repeat", len(siege.Captured)),
		Undo: func(context.Context) error {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			err := cmd.Wait()
			if made := strings.TrimSpace(acts.String()); err != nil || made == "" || made == "0" {
				return fmt.Errorf("the stranger made %q acts: %w, %s", made, err, failure.String())
			}
			return nil
		},
	}, nil
}
