package cluster

import (
	"fmt"

	"github.com/snowraft/snowraft/cluster/peer"
)

// A copied data directory makes two processes of one member. Their numbers of starts look like those of a member that was
// restarted. So a node that meets a new process of a member checks whether the earlier process is still alive. An answer
// proves that it is: after a restart, the earlier process has stopped before a node can meet its successor. The node refuses
// the later process before any Raft message is exchanged, because two voters of one identity could vote twice.
//
// A process that does not answer, for example behind a partition, counts as stopped. When a node hears it again, it is the
// later process.

// onDuplicate logs once per process m that two processes of one member are alive.
func (n *Node) onDuplicate(m, earlier peer.Meta) {
	if n.logged.Allow(m.GossipName()) {
		n.logger.Error("second process of a member rejected, because its data directory was copied; stop the second process and delete the copy",
			"name", m.Name, "id", m.ID, "first", earlier.Raft, "second", m.Raft)
	}
}

// failDuplicate halts this node because a member refused it as a duplicate.
func (n *Node) failDuplicate(err error) {
	n.Fail(fmt.Errorf("%w; the data directory %s of member %s was copied, or is the copy: two processes must not run with one identity. "+
		"Delete the copy; a new member starts with an empty directory", err, n.cfg.DataDir, n.ID()))
}
