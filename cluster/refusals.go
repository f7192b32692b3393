package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/snowraft/snowraft/cluster/gossip"
	"github.com/snowraft/snowraft/cluster/peer"
)

// Two members with one name are usually a mistake: a copied setting, or another data directory than before. A leader adds no
// node whose name another member of the Raft configuration has. It reports that to the node, which halts.

const (
	nameRefused = 'n' // kind of memberlist's user message
	// namesWithin is the time for which a new leader waits for names that it does not know before it adds a node.
	namesWithin = 5 * time.Second
	// namesApart is the time for which two nodes with one name wait before the node with the greater ID halts instead of
	// starting a cluster. They wait because one of them may have just stopped.
	namesApart = 10 * time.Second
	// refusedFor is the time for which a process that was refused for its name is not added, even if the name becomes free:
	// the process halts, and gossip takes some seconds to notice.
	refusedFor = 30 * time.Second
)

// refusedName is the last refusal of a process for its name.
type refusedName struct {
	taken Member
	at    time.Duration // on the monotonic clock
}

// nameRefusal is the leader's message to a node that it does not add because of its name. It is valid for one process only,
// so a replayed message has no effect.
type nameRefusal struct {
	Process string `json:"p"` // process of the node
	ID      string `json:"i"` // ID of the member that has the name
	Raft    string `json:"r"`
	Alive   bool   `json:"l,omitempty"`
}

// nameTaken returns another member that has a node's name, unless the node has set ForceName.
func (n *Node) nameTaken(m peer.Meta) (taken Member, ok bool) {
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

// twins are two members with one name: a member was restarted under the name of another member, or will replace it. The
// value is zero if each member has its own name.
type twins struct{ name, ids string }

// twinsOf returns the first twins among members, which are sorted by name.
func twinsOf(members []Member) twins {
	for i := 1; i < len(members); i++ {
		if first, second := members[i-1], members[i]; first.Name != "" && first.Name == second.Name {
			return twins{first.Name, first.ID + " and " + second.ID}
		}
	}
	return twins{}
}

// namesOpen reports whether a name of a member is unknown and this leader was elected at most namesWithin ago, so that it may
// still learn that name.
func (n *Node) namesOpen() bool {
	if n.mono()-n.ledSince > namesWithin {
		return false
	}
	for _, m := range n.Members() {
		if m.Name == "" {
			return true
		}
	}
	return false
}

// nameRefused reports whether a node is not added because of its name. If so, it sends the refusal to the node. Only the
// leader's reconcile calls it.
func (n *Node) nameRefused(p gossip.Peer) bool {
	now := n.mono()
	maps.DeleteFunc(n.refusedNames, func(_ string, r refusedName) bool { return now-r.at > refusedFor })
	if taken, ok := n.nameTaken(p.Claim); ok {
		n.refusedNames[p.Claim.Process] = refusedName{taken, now}
	}
	r, refused := n.refusedNames[p.Claim.Process]
	if refused {
		n.refuseName(p, r.taken)
	}
	return refused
}

// refuseName sends a node the refusal because of its name, and logs the first one.
func (n *Node) refuseName(p gossip.Peer, taken Member) {
	if n.logged.Allow("name of " + p.Claim.GossipName()) {
		n.logger.Warn("member not added: its name is taken; remove the member that has the name, or start the new one with another --name or with --force-name",
			"peer", p.Claim.Name, "peer_id", p.Claim.ID, "address", p.Claim.Raft, "taken_by", taken.ID, "taken_by_address", taken.Address, "taken_by_alive", taken.Alive)
	}
	n.sendRefusal(p, nameRefused, nameRefusal{Process: p.Claim.Process, ID: taken.ID, Raft: taken.Address, Alive: taken.Alive})
}

// sendRefusal sends a node the message that it is not added. The message may get lost, so the leader repeats it.
func (n *Node) sendRefusal(p gossip.Peer, kind byte, refusal any) {
	if raw, err := json.Marshal(refusal); err == nil { // always
		n.gossip.SendTo(p.GossipAddress(), append([]byte{kind}, raw...))
	}
}

// onNameRefused handles a nameRefusal. A node that has joined a cluster ignores it.
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
	n.Fail(fmt.Errorf("%w: %q is the name of member %q at %q (%s), and this is the new member %s with the data directory %s. "+
		"If --data-dir is wrong, correct it. To replace that member, run \"snowraft member remove %s\" first, or start with --force-name. Otherwise, choose another --name",
		ErrNameTaken, n.cfg.Name, r.ID, r.Raft, state, n.ID(), n.cfg.DataDir, r.ID))
}

// haveSameNames reports whether two of the nodes that would start a cluster have one name. If that lasts for namesApart, this node
// halts if it is the one with the greater ID.
func (n *Node) haveSameNames(set []peer.Meta) bool {
	own, names, mine := n.meta(), make(map[string]peer.Meta), false
	same := false
	for _, m := range set { // sorted by ID
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
			n.sameSince = n.mono()
		}
		if n.mono()-n.sameSince >= namesApart {
			n.Fail(fmt.Errorf("%w: %q is also the name of the new member %s at %q, and this is member %s; new members that start a cluster "+
				"together need different names: choose another --name", ErrNameTaken, n.cfg.Name, first.ID, first.Raft, own.ID))
		}
	}
	if !mine {
		n.sameSince = 0
	}
	return same
}

// A program that does not know the commands of its cluster cannot apply the log. A leader does not add a node with such a
// program, and reports that to the node, which halts. If the leader added it, the node would halt over the log and stay in
// the Raft configuration.

const programRefused = 'v' // kind of memberlist's user message

// programRefusal is the leader's message to a node that it does not add because of its program. Like nameRefusal, it is valid
// for one process only.
type programRefusal struct {
	Process string `json:"p"` // process of the node
	Used    uint32 `json:"u"` // fsm_version of the cluster
}

// isTooOld reports whether a node's program does not know the commands that the cluster uses.
func (n *Node) isTooOld(m peer.Meta) (used uint32, ok bool) {
	if n.cfg.Used != nil {
		used = n.cfg.Used()
	}
	return used, m.Commands < used
}

// programRefused reports whether a node is not added because of its program. If so, it sends the refusal to the node. Only the
// leader's reconcile calls it.
func (n *Node) programRefused(p gossip.Peer) bool {
	used, refused := n.isTooOld(p.Claim)
	if !refused {
		return false
	}
	if n.logged.Allow("program of " + p.Claim.GossipName()) {
		n.logger.Warn("member not added: its program does not know the commands that the cluster uses; start the newer program there",
			"peer", p.Claim.Name, "peer_id", p.Claim.ID, "address", p.Claim.Raft, "used", used, "known", p.Claim.Commands)
	}
	n.sendRefusal(p, programRefused, programRefusal{Process: p.Claim.Process, Used: used})
	return true
}

// onProgramRefused handles a programRefusal. A node that has joined a cluster ignores it.
func (n *Node) onProgramRefused(said []byte) {
	var r programRefusal
	if json.Unmarshal(said, &r) != nil || r.Process != n.process || n.ClusterID() != "" || r.Used <= n.cfg.Commands {
		return
	}
	n.Fail(fmt.Errorf("%w: the cluster uses commands of fsm_version %d, and this program knows them up to fsm_version %d; start the newer program",
		ErrTooOld, r.Used, n.cfg.Commands))
}
