package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// Two members of one name are usually a mistake: a setting that was copied, or another data directory than before. A leader
// adds no node whose name another member of the Raft configuration has, and reports that to the node, which halts.

const (
	nameRefused = 'n' // the kind of the user message of memberlist's
	// namesWithin is for how long a new leader waits for names that it does not know before it adds a node.
	namesWithin = 5 * time.Second
	// namesApart is for how long two nodes of one name wait for each other before the later one, by ID, halts instead of
	// starting a cluster: one of them may have ended just now.
	namesApart = 10 * time.Second
	// refusedFor is for how long a process that was refused for its name is not added after the name has become free: it halts,
	// and gossip takes some seconds to notice.
	refusedFor = 30 * time.Second
)

// refusedName is the last refusal of a process for its name.
type refusedName struct {
	taken Member
	at    time.Duration // on the monotonic clock
}

// nameRefusal is the leader's word to a node that it does not add. It is of use to one process only, so that a recorded one
// is of none.
type nameRefusal struct {
	Process string `json:"p"` // of the node
	ID      string `json:"i"` // of the member that has the name
	Raft    string `json:"r"`
	Alive   bool   `json:"l,omitempty"`
}

// nameTaken returns the other member that has a node's name, unless the node insists on it.
func (n *Node) nameTaken(m meta) (taken Member, ok bool) {
	if m.ForceName || m.Name == "" {
		return Member{}, false
	}
	for _, other := range n.Members() {
		if other.Name == m.Name && other.ID != m.ID {
			return other, true
		}
	}
	return Member{}, false
}

// twins are members with one name: a member was restarted under the name of another one, or is to replace it. They are zero
// if each member has its own name.
type twins struct{ name, ids string }

// twinsOf returns the first of them. The members are sorted by name.
func twinsOf(members []Member) twins {
	for i := 1; i < len(members); i++ {
		if first, second := members[i-1], members[i]; first.Name != "" && first.Name == second.Name {
			return twins{first.Name, first.ID + " and " + second.ID}
		}
	}
	return twins{}
}

// namesOpen reports whether a leader that has just been elected may still learn the name of a member.
func (n *Node) namesOpen() bool {
	if n.gossip.mono()-n.ledSince > namesWithin {
		return false
	}
	for _, m := range n.Members() {
		if m.Name == "" {
			return true
		}
	}
	return false
}

// nameRefused reports whether a node is not added because of its name, and then reports that to it. Only the leader's reconcile
// calls it.
func (n *Node) nameRefused(p peerInfo) bool {
	now := n.gossip.mono()
	maps.DeleteFunc(n.refusedNames, func(_ string, r refusedName) bool { return now-r.at > refusedFor })
	if taken, ok := n.nameTaken(p.meta); ok {
		n.refusedNames[p.meta.Process] = refusedName{taken, now}
	}
	r, refused := n.refusedNames[p.meta.Process]
	if refused {
		n.refuseName(p, r.taken)
	}
	return refused
}

// refuseName reports to a node that it is not added.
func (n *Node) refuseName(p peerInfo, taken Member) {
	if n.gossip.first("name of " + p.meta.gossipName()) {
		n.logger.Warn("member not added: its name is taken; remove the member that has the name, or start the new one with another --name or with --force-name",
			"peer", p.meta.Name, "peer_id", p.meta.ID, "address", p.meta.Raft, "taken_by", taken.ID, "taken_by_address", taken.Address, "taken_by_alive", taken.Alive)
	}
	raw, err := json.Marshal(nameRefusal{Process: p.meta.Process, ID: taken.ID, Raft: taken.Address, Alive: taken.Alive})
	if err == nil { // always
		n.gossip.tell(p.address(), append([]byte{nameRefused}, raw...))
	}
}

// onNameRefused takes such a word. Only a node of no cluster heeds it.
func (n *Node) onNameRefused(said []byte) {
	var r nameRefusal
	if json.Unmarshal(said, &r) != nil || r.Process != n.process || n.ClusterID() != "" {
		return
	}
	n.failName(r)
}

// failName stops this node because its name is taken.
func (n *Node) failName(r nameRefusal) {
	state := "not alive"
	if r.Alive {
		state = "alive"
	}
	n.Fail(fmt.Errorf("%w: %q is member %q at %q (%s), and this one is %s, new, with the data directory %s. "+
		"If --data-dir is wrong, correct it. To replace that member, run \"snowraft member remove %s\" first, or start with --force-name. Else choose another --name",
		ErrNameTaken, n.cfg.Name, r.ID, r.Raft, state, n.ID(), n.cfg.DataDir, r.ID))
}

// sameNames reports whether two of the nodes that would start a cluster have one name. When that lasts, this node halts if it
// is the later one of two.
func (n *Node) sameNames(set []meta) bool {
	own, names, mine := n.meta(), make(map[string]meta), false
	same := false
	for _, m := range set { // in the order of their IDs
		first, taken := names[m.Name]
		if !taken || m.Name == "" {
			names[m.Name] = m
			continue
		}
		same = true
		if m.ID != own.ID {
			continue
		}
		mine = true
		if n.sameSince == 0 {
			n.sameSince = n.gossip.mono()
		}
		if n.gossip.mono()-n.sameSince >= namesApart {
			n.failName(nameRefusal{ID: first.ID, Raft: first.Raft, Alive: true})
		}
	}
	if !mine {
		n.sameSince = 0
	}
	return same
}
