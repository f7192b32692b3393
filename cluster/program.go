package cluster

import (
	"encoding/json"
	"fmt"
)

// A program that does not know the commands that its cluster uses cannot apply the log. A leader does not add a node with such
// a program, and reports that to the node, which halts; otherwise the node would stay in the Raft configuration after it had
// halted over the log.

const programRefused = 'v' // the kind of the user message of memberlist's

// programRefusal is the leader's word to a node that it does not add because of its program. As with names, it is of use to
// one process only.
type programRefusal struct {
	Process string `json:"p"` // of the node
	Used    uint32 `json:"u"` // the fsm_version of the cluster
}

// tooOld reports whether a node's program does not know the commands that the cluster uses.
func (n *Node) tooOld(m meta) (used uint32, ok bool) {
	if n.cfg.Used != nil {
		used = n.cfg.Used()
	}
	return used, m.Commands < used
}

// programRefused reports whether a node is not added because of its program, and then reports that to it. Only the leader's
// reconcile calls it.
func (n *Node) programRefused(p peerInfo) bool {
	used, refused := n.tooOld(p.meta)
	if !refused {
		return false
	}
	if n.gossip.first("program of " + p.meta.gossipName()) {
		n.logger.Warn("member not added: its program does not know the commands that the cluster uses; start the newer program there",
			"peer", p.meta.Name, "peer_id", p.meta.ID, "address", p.meta.Raft, "used", used, "known", p.meta.Commands)
	}
	raw, err := json.Marshal(programRefusal{Process: p.meta.Process, Used: used})
	if err == nil { // always
		n.gossip.tell(p.address(), append([]byte{programRefused}, raw...))
	}
	return true
}

// onProgramRefused takes such a word. Only a node of no cluster heeds it.
func (n *Node) onProgramRefused(said []byte) {
	var r programRefusal
	if json.Unmarshal(said, &r) != nil || r.Process != n.process || n.ClusterID() != "" || r.Used <= n.cfg.Commands {
		return
	}
	n.Fail(fmt.Errorf("%w: the cluster uses commands of fsm_version %d, and this program knows them up to fsm_version %d; start the newer program",
		ErrTooOld, r.Used, n.cfg.Commands))
}
