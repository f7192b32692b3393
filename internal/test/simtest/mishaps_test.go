package simtest

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/trust"
)

// shuffle draws the order of the mishaps of a world.
func (i *innocents) shuffle() {
	anyone := func(do func(*node)) func() {
		return func() { do(i.nodes[i.rng.IntN(len(i.nodes))]) }
	}
	for _, m := range []struct {
		times int
		do    func()
	}{
		{10, i.succeed}, {8, i.depose}, {3, i.sever}, {2, i.rotate}, {3, i.replace}, {3, i.upgrade}, {1, i.lag}, {1, i.drill}, {1, i.renew},
		{2, anyone((*node).crash)}, {1, anyone(i.forget)}, {2, anyone(i.restart)}, {2, anyone(i.snapshot)}, {1, i.crashAll},
	} {
		for range m.times {
			i.deck = append(i.deck, m.do)
		}
	}
	i.rng.Shuffle(len(i.deck), func(a, b int) { i.deck[a], i.deck[b] = i.deck[b], i.deck[a] })
}

// quiet heals the network and starts all members.
func (i *innocents) quiet() {
	i.Helper()
	i.net.heal()
	i.startAll()
	i.untilVoters(len(i.nodes))
}

// restart stops a member gracefully. Without a leader, it cannot release its worker.
func (i *innocents) restart(n *node) {
	if n.proc() != nil {
		_ = n.stop()
	}
	n.start()
}

// forget cuts a machine's power, which loses the last writes of the watermark.
func (i *innocents) forget(n *node) {
	n.unplug()
	n.mu.Lock()
	err := os.Remove(filepath.Join(n.dir, "watermark"))
	n.mu.Unlock()
	if err != nil {
		i.Error(err)
	}
	n.start()
}

// snapshot makes a member compact its log. A busy one refuses.
func (i *innocents) snapshot(n *node) {
	if p := n.proc(); p != nil {
		_ = p.member.Node().Snapshot()
	}
}

// lag cuts a follower off until the others have compacted the entries that it lacks.
func (i *innocents) lag() {
	i.Helper()
	i.quiet()
	behind := i.follower()
	had := i.counts.snapshots.Load()
	i.net.part([]*node{behind}, i.others(behind), raftPlane)
	const most = 64 // at the same time
	for from := i.leader().proc().member.Node().LastIndex(); ; {
		leader := i.leader().proc().member
		last := leader.Node().LastIndex()
		if last > from+2300 { // more than the log keeps behind a snapshot
			break
		}
		var running sync.WaitGroup
		for range most {
			running.Go(func() { _, _ = leader.ObserveClock(i.Context(), false) })
		}
		running.Wait()
		if leader.Node().LastIndex() == last { // a leader that hands its leadership over refuses at once
			i.pass(50 * time.Millisecond)
		}
	}
	for _, n := range i.others(behind) {
		i.snapshot(n)
	}
	i.visit(i.clients[0], i.leader())
	i.visit(i.clients[0], behind)
	i.net.heal()
	i.until(2*recovery, behind.name+" got a snapshot", func() bool { return i.counts.snapshots.Load() > had })
}

// succeed transfers leadership while the old leader hears nothing of it. Two members lead for up to the time of a lease, and clients
// of the new one connect to the old one.
func (i *innocents) succeed() {
	i.Helper()
	i.quiet()
	old := i.leader()
	i.net.block(i.others(old), []*node{old}, raftPlane)
	ctx, cancel := context.WithTimeout(i.Context(), time.Second)
	var moving sync.WaitGroup
	moving.Go(func() { _, _ = old.proc().member.Node().TransferLeadership(ctx, "") })
	defer func() { cancel(); moving.Wait() }()
	for began := time.Now(); time.Since(began) < time.Second; i.pass(5 * time.Millisecond) {
		if now := i.leaderNow(); now != nil && now != old {
			c := i.clients[i.rng.IntN(len(i.clients))]
			i.visit(c, now)
			if old.proc().member.Node().IsLeader() {
				i.counts.rivals.Add(1)
			}
			i.visit(c, old)
			break
		}
	}
	i.pass(i.between(0, 400*time.Millisecond))
	i.check(i.nodes...)
	i.net.heal()
}

// depose cuts off a leader with commands that are never committed, and with clients of its own.
func (i *innocents) depose() {
	i.Helper()
	i.quiet()
	old := i.leader()
	others := i.others(old)
	i.net.part([]*node{old}, others, raftPlane, gossipPlane)
	var lost sync.WaitGroup
	for range 1 + i.rng.IntN(5) {
		lost.Go(func() {
			ctx, cancel := context.WithTimeout(i.Context(), time.Second)
			defer cancel()
			_, _ = old.proc().member.ObserveClock(ctx, false)
		})
	}
	i.visit(i.clients[0], old)
	i.until(recovery, "there is another leader", func() bool { now := i.leaderNow(); return now != nil && now != old })
	i.visit(i.clients[0], i.leaderNow())
	i.visit(i.clients[0], old)
	lost.Wait()
	i.net.heal()
}

// add starts a machine of the newest program.
func (i *innocents) add() *node {
	n := i.addNode(0)
	n.supported = i.newest
	return n
}

// replace removes a member, and adds one on the same machine or on another one. The new one needs a snapshot if the log was compacted.
func (i *innocents) replace() {
	i.Helper()
	i.quiet()
	gone, size := i.follower(), len(i.nodes)
	id := gone.proc().member.Node().ID()
	i.until(2*recovery, "the member is removed", func() bool {
		ctx, cancel := context.WithTimeout(i.Context(), 5*time.Second)
		defer cancel()
		const force = true // the leader may still count another voter as failed
		return i.tryRemove(ctx, id, force)
	})
	i.until(recovery, "the removed member halts", func() bool { return gone.proc() == nil })
	if i.rng.IntN(2) == 0 {
		gone.empty()
		gone.supported = i.newest
		gone.start()
	} else {
		i.retire(gone)
		i.add().start()
	}
	i.untilVoters(size)
}

// empty gives a machine a new disk.
func (n *node) empty() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disk, n.dir, n.failure = n.newDisk(), n.newDir(), nil
}

// retire takes a machine out of the world.
func (i *innocents) retire(gone *node) {
	gone.crash()
	i.roster.Lock()
	defer i.roster.Unlock()
	i.nodes = slices.DeleteFunc(slices.Clone(i.nodes), func(n *node) bool { return n == gone })
}

// keysOf returns the secrets of a machine.
func (i *innocents) keysOf(n *node) *trust.Keys {
	if i.keys[n] == nil {
		i.setKeys(n, i.secret)
	}
	return i.keys[n]
}

func (i *innocents) setKeys(n *node, secrets ...trust.Secret) {
	keys, err := trust.NewKeys(secrets...)
	if err != nil {
		i.Fatal(err)
	}
	i.keys[n] = keys
}

// rotate replaces the secret, member by member in each of three steps. Clients come meanwhile.
func (i *innocents) rotate() {
	old := i.secret
	i.secret = trust.NewSecret()
	for _, step := range []func(n *node){
		func(n *node) { i.setKeys(n, old, i.secret) },
		func(n *node) { i.keysOf(n).Sign(i.secret.Fingerprint()) },
		func(n *node) { i.setKeys(n, i.secret) },
	} {
		for _, n := range i.nodes {
			step(n)
			i.visits(1)
		}
	}
}

// sever starts all members and causes a random fault of the network.
func (i *innocents) sever() {
	i.startAll()
	i.partition()
}

// upgrade restarts the member with the oldest program with a newer one.
func (i *innocents) upgrade() {
	n := slices.MinFunc(i.nodes, func(a, b *node) int { return cmp.Compare(a.supported, b.supported) })
	if n.supported < next {
		n.supported++
		i.newest = max(i.newest, n.supported)
		i.restart(n)
	}
}

// backup takes a backup of the leader, which has applied every command.
func (i *innocents) backup() *backup.Backup {
	i.Helper()
	b, err := i.leader().backup()
	if err != nil {
		i.Fatal(err)
	}
	return b
}

// begin starts a new machine with a restored backup.
func (i *innocents) begin(n *node, b *backup.Backup) {
	i.Helper()
	if err := n.restore(b); err != nil {
		i.Fatal(err)
	}
	n.start()
}

// renew ends the cluster and restores it from a backup of earlier. Clients keep the receipts of the earlier cluster.
func (i *innocents) renew() {
	i.Helper()
	i.quiet()
	b, size := i.backup(), len(i.nodes)
	i.pass(i.between(0, 2*time.Second))
	i.visits(3)
	for _, n := range slices.Clone(i.nodes) {
		i.retire(n)
	}
	first := i.add()
	i.begin(first, b)
	for len(i.nodes) < size {
		i.add().start()
	}
	i.visits(3)
	i.untilVoters(size)
}

// drill restores a backup next to the cluster, which stays undisturbed. Clients of each call the other.
func (i *innocents) drill() {
	i.Helper()
	i.quiet()
	b := i.backup()
	restored := i.add()
	i.retire(restored) // no member knows it
	defer restored.crash()
	i.begin(restored, b)
	i.until(recovery, "the drill hears the cluster", func() bool { return restored.proc().member.OldLife().Member != "" })
	other := &holder{name: "client of the drill"}
	for _, n := range i.nodes {
		i.visit(other, restored)
		i.visit(other, n)
		i.visits(1)
		i.visit(i.clients[i.rng.IntN(len(i.clients))], restored)
	}
	i.pass(i.between(0, 5*time.Second))
	i.check(append([]*node{restored}, i.nodes...)...)
}
