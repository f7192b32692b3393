package cluster

import (
	"encoding/json"
	"fmt"

	"github.com/snowraft/snowraft/cluster/gossip"
	"github.com/snowraft/snowraft/cluster/peer"
)

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
	raw, err := json.Marshal(programRefusal{Process: p.Claim.Process, Used: used})
	if err == nil { // always
		n.gossip.SendTo(p.GossipAddress(), append([]byte{programRefused}, raw...))
	}
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
