package fsm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/clock"
	"github.com/snowraft/snowraft/internal/test/breadth"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// Every block: the walk over every life, with the real allocators of two members. They request blocks, also in the
// background, lose answers, return the rest when they end, and crash. Those of the earlier life issue what they
// have in memory. No number of a period is issued twice in all lives.

// everyBlockOrder is an order of actions, as places in everyBlockActions, and the key of the state after it.
type everyBlockOrder struct {
	path []int
	key  uint64
}

// everyProcess is a member's process, and the source of its blocks.
type everyProcess struct {
	play    *everyPlay
	member  int
	life    uint8
	lose    bool // the next answer is lost
	numbers *allocator.Sequence
}

// everyPlay is an order of actions while it is played.
type everyPlay struct {
	*everyNode
	now       [2]*everyProcess
	earlier   [2]*everyProcess // processes of the first life, after a restore
	issued    everyNumbers
	violation error
}

// everySizes are the sizes of the blocks that each member requests. The first block of the first member leaves no next one.
var everySizes = [2]uint64{6, 2}

func (p *everyPlay) start(member int) *everyProcess {
	process := &everyProcess{play: p, member: member, life: p.life}
	process.numbers = allocator.OpenSequence(allocator.SequenceConfig{
		Name: "s", Granter: process, Key: allocator.ReturnKey{byte(member)}, FirstBlock: everySizes[member],
		Clock: func() clock.Reading {
			return clock.Reading{Wall: p.millis(), Mono: p.tick * everyTick}
		},
	})
	return process
}

var errEveryEnded = errors.New("the cluster of this life has ended")

// AllocateBlock implements allocator.BlockGranter.
func (g *everyProcess) AllocateBlock(_ context.Context, _ string, count uint64, _ allocator.ReturnKey) (b allocator.Block, err error) {
	p := g.play
	q, ok := p.fsm.Sequence("s")
	if !ok || g.life != p.life {
		return b, errEveryEnded
	}
	r := p.apply(withKey(allocate("s", q.Generation, count, p.period(q.Spec)), nonceHash(byte(g.member))))
	if r.Err != nil {
		return b, r.Err
	}
	place, err := p.give(r.Block)
	p.violation = errors.Join(p.violation, err)
	if g.lose {
		g.lose = false
		return b, errors.New("the answer was lost")
	}
	b = allocator.Block{Token: r.Block.Token, MinCount: everySizes[g.member], MaxCount: everySizes[g.member], Numbers: allocator.Numbers{
		First: r.Block.First, Count: r.Block.Count, Increment: r.Block.Increment, Generation: r.Block.Generation, Period: r.Block.Period,
	}}
	if place > 0 {
		b.PeriodEnd = epoch + (int64(place)*24-livesZones[q.Spec.GetTimeZone()])*livesHour
	}
	return b, nil
}

// ReturnBlock implements allocator.BlockGranter.
func (g *everyProcess) ReturnBlock(_ context.Context, _ string, token, unused uint64, _ allocator.ReturnKey) error {
	p := g.play
	if g.life != p.life {
		return errEveryEnded
	}
	q, _ := p.fsm.Sequence("s")
	if r := p.apply(withKey(giveBack("s", token, unused), nonceHash(byte(g.member)))); r.Err != nil {
		return r.Err
	}
	after, _ := p.fsm.Sequence("s")
	period := everyPeriod(q.Period)
	for n := after.Next; n <= q.Last; n++ {
		p.given[period] &^= 1 << n
	}
	return nil
}

// issue issues the next number of a process, if it has one or gets one.
func (p *everyPlay) issue(g *everyProcess) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	n, err := g.numbers.Next(ctx, 1)
	synctest.Wait() // the process may request its next block
	if err != nil {
		return
	}
	period, bit := everyPeriod(n.Period), uint8(1)<<n.First
	if p.issued[period]&bit != 0 || p.given[period]&bit == 0 {
		p.violation = errors.Join(p.violation, violated("number", "%+v was issued before, or was not granted: %b of %b", n, p.issued, p.given))
	}
	p.issued[period] |= bit
}

// end ends a process, which returns the rest of its block.
func (g *everyProcess) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_ = g.numbers.Close(ctx)
}

// crash ends a process without a word to the cluster.
func (g *everyProcess) crash() {
	g.life = 0
	g.end()
}

type everyBlockAction struct {
	name string
	do   func(p *everyPlay)
}

var everyBlockActions = func() (all []everyBlockAction) {
	for _, act := range slices.Concat(everyClock, everyChanges, everyRestores) {
		all = append(all, everyBlockAction{act.name, func(p *everyPlay) {
			life := p.life
			if next, err := act.do(p.everyNode); next != nil {
				p.everyNode, p.violation = next, errors.Join(p.violation, err)
			}
			if p.life > life {
				for m := range 2 {
					p.earlier[m], p.now[m] = p.now[m], p.start(m)
				}
			}
		}})
	}
	for m := range 2 {
		all = append(all,
			everyBlockAction{fmt.Sprint("number of ", m), func(p *everyPlay) { p.issue(p.now[m]) }},
			everyBlockAction{fmt.Sprint("number of ", m, " of the life before"), func(p *everyPlay) {
				if p.earlier[m] != nil {
					p.issue(p.earlier[m])
				}
			}},
			everyBlockAction{fmt.Sprint("lost answer of ", m), func(p *everyPlay) { p.now[m].lose = true }},
			everyBlockAction{fmt.Sprint("end of ", m), func(p *everyPlay) { p.now[m].end(); p.now[m] = p.start(m) }},
			everyBlockAction{fmt.Sprint("crash of ", m), func(p *everyPlay) { p.now[m].crash(); p.now[m] = p.start(m) }})
	}
	return all
}()

// playBlocks plays an order of actions in a bubble and returns the key of the state after it.
func playBlocks(root *everyNode, path []int) (uint64, error) {
	first := *root
	first.fsm = cloneState(root.fsm)
	p := &everyPlay{everyNode: &first}
	for m := range 2 {
		p.now[m] = p.start(m)
	}
	for _, act := range path {
		everyBlockActions[act].do(p)
		synctest.Wait()
	}
	key := p.key()
	for _, g := range append(p.now[:], p.earlier[:]...) {
		if g != nil {
			g.crash()
		}
	}
	return key, p.violation
}

// everyMemory is the memory of a process.
type everyMemory struct {
	some, lose bool
	stats      allocator.SequenceStats
	last       int64
	known      bool
}

func (p *everyPlay) key() uint64 {
	k := struct {
		facts    everyFacts
		fsm, old everyRecord
		memories [4]everyMemory
		issued   everyNumbers
	}{p.everyFacts, p.record(p.fsm), p.record(p.backup), [4]everyMemory{}, p.issued}
	for i, g := range append(p.now[:], p.earlier[:]...) {
		if g != nil {
			last, known := g.numbers.Last()
			k.memories[i] = everyMemory{true, g.lose, g.numbers.Stats(), last, known}
		}
	}
	return maphash.Comparable(everySeed, k)
}

var everyBlockDepth = flag.Int("fsm.blocks", depth.Walk(depth.Little(3, 4), 6, 8), "how many steps the walk over every block takes")

func TestEveryBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := newEveryLife(t)
		key, err := playBlocks(root, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := breadth.World[everyBlockOrder]{
			Root: everyBlockOrder{key: key}, Key: func(o everyBlockOrder) uint64 { return o.key },
			Steps: func(o everyBlockOrder) iter.Seq[breadth.Step[everyBlockOrder]] {
				return func(yield func(breadth.Step[everyBlockOrder]) bool) {
					for i, act := range everyBlockActions {
						next := everyBlockOrder{path: append(slices.Clip(o.path), i)}
						var err error
						if next.key, err = playBlocks(root, next.path); !yield(breadth.Step[everyBlockOrder]{Name: act.name, Next: next, Err: err}) {
							return
						}
					}
				}
			},
		}.Walk(*everyBlockDepth)
		t.Logf("%d states, %d steps within depth %d", seen.States, seen.Steps, *everyBlockDepth)
		if err != nil {
			t.Fatal(err)
		}
		if *everyBlockDepth >= 4 && seen.States < 1500 {
			t.Errorf("%d states, want at least 1500", seen.States)
		}
	})
}
