package worker

import (
	"math/bits"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/snowraft/snowraft/client"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/snowflake"
)

// numbers hold the configuration of a command.
type numbers struct {
	worker, datacenter uint64
	layout             string
	split              uint64 // workers in each datacenter of the library; 0 if the layout has the datacenter
}

func numbersOf(h *client.HeldWorker) numbers {
	spec := h.Layout().Spec()
	n := numbers{worker: h.Worker(), datacenter: spec.Datacenter, layout: spec.Name}
	if !slices.ContainsFunc(spec.Fields, func(f snowflake.FieldBits) bool { return f.Field == snowflake.FieldDatacenter }) {
		n.split = 1 << (bits.Len64(h.Layout().Workers()) / 2)
	}
	return n
}

// places are the variables and arguments with the numbers of a command.
type places struct {
	envWorker, envDC string
	args             []string
}

// environment returns the variables for the command, after those of this process.
func (p places) environment(n numbers) []string {
	all := os.Environ()
	n = p.fit(n)
	if p.envWorker != "" {
		all = append(all, p.envWorker+"="+cli.Decimal(n.worker))
	}
	if p.envDC != "" {
		all = append(all, p.envDC+"="+cli.Decimal(n.datacenter))
	}
	return all
}

// arguments returns the command with its arguments and those of --arg.
func (p places) arguments(command []string, n numbers) []string {
	n = p.fit(n)
	replace := strings.NewReplacer("{worker}", cli.Decimal(n.worker), "{datacenter}", cli.Decimal(n.datacenter), "{layout}", n.layout)
	return append(slices.Clone(command), cli.Map(replace.Replace, p.args)...)
}

// fit returns the numbers for the library of the command. If the command gets a datacenter and its layout has none, that is the
// upper half of the bits of the worker.
func (p places) fit(n numbers) numbers {
	datacenter := p.envDC != "" || slices.ContainsFunc(p.args, func(arg string) bool { return strings.Contains(arg, "{datacenter}") })
	if datacenter && n.split > 0 {
		n.datacenter, n.worker = n.worker/n.split, n.worker%n.split
	}
	return n
}

// none reports whether the command gets its numbers in none of these places.
func (p places) none() bool { return p.envWorker == "" && p.envDC == "" && len(p.args) == 0 }

// pause returns the time after which the clock has passed all IDs of a process that has ended: its library may have run
// ahead, and the clock may have moved back since.
func (s settings) pause(tick time.Duration) time.Duration { return s.back + s.lead + 2*tick }

// tick returns the length of a tick.
func tick(l *snowflake.Layout) time.Duration {
	return time.Duration(l.Spec().UnitMillis) * time.Millisecond
}
