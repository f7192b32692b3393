package simtest

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/test/depth"
)

// noticed is the time from contact to the seal, at most.
const noticed = 2 * time.Second

// image is a copy of a machine's disk, as of a snapshot of a virtual machine.
type image struct {
	disk *disk
	dir  string
}

func (n *node) image() image {
	n.mu.Lock()
	defer n.mu.Unlock()
	return image{n.disk.clone(), n.copyDir()}
}

// setBackTo kills the process and starts another one on an earlier content of the disk.
func (n *node) setBackTo(i image) {
	n.crash()
	n.mu.Lock()
	n.disk = i.disk.clone()
	if i.dir != "" {
		n.dir = i.dir
		n.dir = n.copyDir()
	}
	n.mu.Unlock()
	n.start()
}

// parting is the way in which the second branch of a history begins.
type parting int

const (
	anotherTerm   parting = iota
	sameTerm              // an election in the second branch gives the term of the first branch's leader again
	withItsMemory         // the leader has the same leadership in both branches, as if its memory was set back too
)

// forked returns a cluster in which all but one member were set back while the one was cut off. The second branch is longer.
func (w *world) forked(how parting) (witness *node, others []*node) {
	w.Helper()
	w.pass(5 * time.Second)
	var images map[*node]image
	if how == anotherTerm {
		images = w.images()
	} else {
		images = w.equalImages()
	}
	w.pass(5 * time.Second)
	term := w.leader().proc().member.Node().Term()
	witness = w.follower()
	others = w.others(witness)
	begin := witness.disk.begin(term)
	if how == withItsMemory {
		for _, n := range others {
			images[n].disk.replay = begin
		}
	}
	w.net.part([]*node{witness}, others, allPlanes...)
	for tries := 0; ; tries++ {
		for _, n := range others {
			n.crash()
		}
		for _, n := range others {
			n.setBackTo(images[n])
		}
		w.untilIssue(recovery, others...)
		leader := w.leaderOf(others)
		again := leader.proc().member.Node().Term()
		if how == anotherTerm && again != term || how == sameTerm && again == term ||
			how == withItsMemory && reflect.DeepEqual(leader.disk.begin(again), begin) {
			break
		}
		if tries == 20 {
			w.Fatalf("the second branch has term %d, the first one %d: %+v, %+v", again, term, begin, leader.disk.begin(again))
		}
	}
	w.pass(20 * time.Second)
	if last := witness.proc().member.Node().LastIndex(); w.leaderOf(others).proc().member.Node().LastIndex() <= last {
		w.Fatalf("the second branch ends before entry %d", last)
	}
	return witness, others
}

// images returns copies of all disks.
func (w *world) images() map[*node]image {
	all := make(map[*node]image)
	for _, n := range w.nodes {
		all[n] = n.image()
	}
	return all
}

// equalImages crashes all members while they have the same log, and restarts them. It returns the copies of the disks.
func (w *world) equalImages() map[*node]image {
	w.Helper()
	for range 20 {
		w.crashAll()
		all := w.images()
		w.startAll()
		w.untilAllIssue(recovery)
		lengths := make(map[uint64]bool)
		for _, i := range all {
			lengths[i.disk.high] = true
		}
		if len(lengths) == 1 {
			return all
		}
	}
	w.Fatal("the members never have the same log")
	return nil
}

// begin returns the first command of a term, without the time at which the disk got it.
func (d *disk) begin(term uint64) (begin *raft.Log) {
	for _, l := range d.entries() {
		if l.Type == raft.LogCommand && l.Term == term && (begin == nil || l.Index < begin.Index) {
			l.AppendedAt = time.Time{}
			begin = &l
		}
	}
	return begin
}

// leaderOf waits for a leader among some nodes.
func (w *world) leaderOf(nodes []*node) (leader *node) {
	w.Helper()
	w.until(recovery, "there is a leader", func() bool {
		for _, n := range nodes {
			if n.proc().member.Node().IsLeader() {
				leader = n
				return true
			}
		}
		return false
	})
	return leader
}

// sealedBy waits until members have sealed the history, and checks that they issue nothing.
func (w *world) sealedBy(limit time.Duration, others []*node) {
	w.Helper()
	took := w.until(limit, "the history is sealed", func() bool {
		for _, n := range others {
			if n.proc().member.State().Sealed() == nil {
				return false
			}
		}
		return true
	})
	for _, n := range others {
		if err := n.proc().issue(1, 0); !errors.Is(err, allocator.ErrSetBack) {
			w.Errorf("%s: %v, want %v", n.name, err, allocator.ErrSetBack)
		}
	}
	w.Logf("noticed after %v: %v", took, others[0].proc().member.State().Sealed().GetReason())
}

// Raft cannot distinguish two branches with equal terms: it appends the entries of the one to the other.
func TestSameTermTwice(t *testing.T) {
	t.Parallel()
	simulate(t, options{unaudited: true}, func(w *world) {
		witness, others := w.forked(sameTerm)
		had := witness.disk.entries()
		w.net.heal()
		w.sealedBy(noticed, others)
		w.falls(witness)
		w.keeps(witness, had)
	})
}

// A leader that was set back with its memory continues its leadership: both branches have its term and its nonce. Only their
// commands differ.
func TestMemorySetBack(t *testing.T) {
	t.Parallel()
	simulate(t, options{unaudited: true}, func(w *world) {
		witness, others := w.forked(withItsMemory)
		had, knows := witness.disk.entries(), witness.proc().member.Node().Position()
		if p := w.leaderOf(others).proc().member.Node().Position(); p.Nonce != knows.Nonce || p.Index <= knows.Index {
			t.Fatalf("the branches have the positions %+v and %+v, want one leadership", knows, p)
		}
		w.net.heal()
		w.sealedBy(noticed, others)
		w.falls(witness)
		w.keeps(witness, had)
	})
}

// A witness that restarts does not forget what it knows.
func TestRestartedWitness(t *testing.T) {
	t.Parallel()
	simulate(t, options{unaudited: true}, func(w *world) {
		witness, others := w.forked(anotherTerm)
		had := witness.disk.entries()
		witness.crash()
		w.net.heal()
		witness.start()
		w.sealedBy(2*noticed, others)
		w.testifies(witness, had)
	})
}

// The second branch has compacted its log beyond the entries of the witness, so its leader sends a snapshot.
func TestOutrunWitness(t *testing.T) {
	t.Parallel()
	simulate(t, options{unaudited: true, timing: eager}, func(w *world) {
		witness, others := w.forked(sameTerm)
		w.commit(depth.Of(4000, 20_000))
		w.until(2*time.Minute, "the log of the leader is compacted", func() bool {
			first, _ := w.leaderOf(others).disk.FirstIndex()
			return first > witness.proc().member.Node().LastIndex()
		})
		had, snapshots := witness.disk.entries(), len(witness.disk.clone().snapshots)
		w.net.heal()
		w.sealedBy(noticed, others)
		w.testifies(witness, had)
		if now := len(witness.disk.clone().snapshots); now != snapshots || witness.installed.Load() > 0 {
			w.Errorf("the witness has %d snapshots and had %d", now, snapshots)
		}
	})
}

// Two voters that know different entries to be committed find no majority for either branch, and both stop. The one of the first
// branch wins the election, because a later election has given its entries a later term.
func TestTwoBranchesWithoutMajority(t *testing.T) {
	t.Parallel()
	simulate(t, options{unaudited: true}, func(w *world) {
		w.pass(5 * time.Second)
		images := w.images()
		for range 3 {
			w.leader().crash()
			w.pass(time.Second)
			w.startAll()
			w.untilAllIssue(recovery)
		}
		witness := w.follower()
		others := w.others(witness)
		witness.crash()
		for _, n := range others {
			n.crash()
		}
		for _, n := range others {
			n.setBackTo(images[n])
		}
		w.untilIssue(recovery, others...)
		w.pass(5 * time.Second)
		for _, n := range others {
			n.crash()
		}
		both := []*node{witness.start(), others[0].start()}
		w.until(recovery, "both stop", func() bool {
			for _, n := range both {
				if !errors.Is(n.proc().issue(1, 0), allocator.ErrContradicted) {
					return false
				}
			}
			return true
		})
	})
}

// A leader that a majority accepted, and that loses this majority as the witness returns, cannot judge the witness's claim any
// longer. It stops too, long before its window ends.
func TestLeaderWithoutMajorityMeetsWitness(t *testing.T) {
	t.Parallel()
	simulate(t, options{unaudited: true}, func(w *world) {
		witness, others := w.forked(anotherTerm)
		leader := w.leaderOf(others)
		w.pass(time.Minute) // windows grow
		for _, n := range others {
			if n != leader {
				n.crash()
			}
		}
		w.net.heal()
		w.until(recovery, "both stop", func() bool {
			return errors.Is(witness.proc().issue(1, 0), allocator.ErrContradicted) && errors.Is(leader.proc().issue(1, 0), allocator.ErrContradicted)
		})
	})
}

// Members of which only the log was set back are witnesses themselves.
func TestLogsSetBackWithoutTheWatermark(t *testing.T) {
	t.Parallel()
	simulate(t, options{unaudited: true}, func(w *world) {
		w.pass(5 * time.Second)
		images := make(map[*node]image)
		for _, n := range w.nodes {
			images[n] = image{disk: n.image().disk}
		}
		w.pass(10 * time.Second)
		for _, n := range w.nodes {
			n.crash()
		}
		for _, n := range w.nodes {
			n.setBackTo(images[n])
		}
		w.sealedBy(recovery, w.nodes)
	})
}

// One member of which the disk was set back, among members that were not, harms nothing and is named.
func TestOneDiskSetBack(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(w *world) {
		n := w.follower()
		was := n.image()
		w.pass(10 * time.Second)
		n.setBackTo(was)
		w.untilAllIssue(recovery)
		w.pass(5 * time.Second)
		said := 0
		for _, e := range w.leader().proc().member.Events().List() {
			if strings.Contains(e.Text, "the disk of member "+n.name+" was set back") {
				said++
			}
		}
		if said != 1 {
			w.Errorf("the leader said %d times that the disk was set back, want once", said)
		}
	})
}
