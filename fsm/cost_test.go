package fsm

import (
	"flag"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/internal/test/race"
	"github.com/snowraft/snowraft/snowflake"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

var costLarge = flag.Int("cost.large", 100_000, "how many workers and sequences the large state has")

// TestCommandsCostTheSameInALargeState compares a state of 1,000 workers and sequences with one of 100,000 of each. They
// take turns, and the fastest turn of each counts.
func TestCommandsCostTheSameInALargeState(t *testing.T) {
	const small, rounds, most = 1000, 15, 6
	if race.Enabled {
		t.Skip("the test measures time")
	}
	states := []*costly{newCostly(t, small), newCostly(t, *costLarge)}
	for _, kind := range costKinds {
		best := []time.Duration{math.MaxInt64, math.MaxInt64}
		// Other processes fill the processor's cache, which slows only the large state.
		for round := 0; round < rounds || round < 5*rounds && best[1] > most*best[0]; round++ {
			for i, c := range states {
				best[i] = min(best[i], c.batch(kind.make))
			}
		}
		times := float64(best[1]) / float64(best[0])
		t.Logf("%s: %d ns with %d workers and sequences, %d ns with %d, %.2f times", kind.name, best[0], small, best[1], *costLarge, times)
		if times > most {
			t.Errorf("%s takes %.1f times as long with %d workers and sequences as with %d", kind.name, times, *costLarge, small)
		}
	}
}

// costKinds make the command for one of the workers, or one of the sequences.
var costKinds = []struct {
	name string
	make func(c *costly, n int) *commandv1.Command
}{
	{"extending a window", func(c *costly, n int) *commandv1.Command {
		g := c.m.state.layouts["crowd"].workers.granted(n)
		cmd := extend(g, nonceHash('x'), g.Until, 600_000)
		cmd.GetExtendWindow().Layout = "crowd"
		return at(c.now, cmd)
	}},
	{"acquiring a worker", func(c *costly, _ int) *commandv1.Command {
		return at(c.now, acquireCrowd(fmt.Sprint("new-", c.index)))
	}},
	{"granting a block", func(c *costly, n int) *commandv1.Command {
		name := costlyName(n)
		q, _ := c.m.state.Sequence(name)
		return at(c.now, allocate(name, q.Generation, 1000, 0))
	}},
	{"creating a sequence", func(c *costly, n int) *commandv1.Command {
		return at(c.now, create(plain(fmt.Sprint(costlyName(n), "/", c.index)), 0))
	}},
	{"observing the clock", func(c *costly, _ int) *commandv1.Command { return at(c.now, observe(false)) }},
}

// crowded is a layout with many workers.
var crowded = snowflake.Spec{
	Name: "crowd", UnitMillis: 1, EpochMillis: epoch,
	Fields: []snowflake.FieldBits{{Field: snowflake.FieldTime, Bits: 38}, {Field: snowflake.FieldWorker, Bits: 22}, {Field: snowflake.FieldSequence, Bits: 3}},
}

// costly is a machine with many workers and sequences.
type costly struct {
	*testing.T
	m     *Machine
	size  int
	index uint64
	now   int64
	step  int
}

func newCostly(t *testing.T, size int) *costly {
	l := newLog(t, crowded)
	for i := range size {
		l.must(at(epoch+int64(i), acquireCrowd(fmt.Sprint("holder-", i))))
		l.must(at(epoch, create(plain(costlyName(i)), 0)))
	}
	c := &costly{T: t, m: New(Options{}), size: size, index: l.index, now: epoch + int64(size)}
	c.m.install(l.State)
	return c
}

func acquireCrowd(holder string) *commandv1.Command {
	cmd := acquire(holder, 600_000)
	cmd.GetAcquireWorker().Layout, cmd.GetAcquireWorker().NonceHash = "crowd", nonceHash('x')
	return cmd
}

func costlyName(i int) string { return fmt.Sprintf("shop/%d/orders", i) }

// batch returns the time that one of many commands takes, decoding included.
func (c *costly) batch(command func(*costly, int) *commandv1.Command) time.Duration {
	const commands = 200
	var entries []*raft.Log
	for range commands {
		c.index++
		c.now++
		c.step = (c.step + 7919) % c.size
		entries = append(entries, entryAt(c, c.index, command(c, c.step)))
	}
	started := time.Now()
	for _, entry := range entries {
		if r := c.m.Apply(entry).(Result); r.Failure() != nil {
			c.Fatal(r.Failure())
		}
	}
	return time.Since(started) / commands
}
