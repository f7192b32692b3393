package cluster

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
)

// answerWithin is the time after which a member that has not answered a handshake counts as silent. The handshake may still
// succeed later.
const answerWithin = time.Second

// outage is the time without a leader as one node sees it.
type outage struct {
	lasts  time.Duration
	voters int
	silent []silentVoter
}

// silentVoter is a voter that does not answer.
type silentVoter struct{ name, reason string }

// NoLeader returns the reason that this node knows no leader: it has not joined a cluster, or voters do not answer. It returns
// an empty text if a leader is known and ready.
func (n *Node) NoLeader() string {
	if n.id.Cluster() == "" {
		return "this member is not part of a cluster: " + n.searchState().String()
	}
	if err := n.Contradiction(); err != nil {
		return "this member follows no leader: " + err.Error()
	}
	_, leader := n.raft.LeaderWithID()
	switch {
	case leader == "":
		return n.outage().String()
	case string(leader) == n.ID() && !n.IsLeader():
		return "this member was elected, and is not ready to lead yet"
	}
	return ""
}

func (n *Node) outage() outage {
	o := outage{}
	if since := n.leaderless.Load(); since != 0 {
		o.lasts = n.mono() - time.Duration(since)
	}
	for _, m := range n.Members() {
		if !m.Voter {
			continue
		}
		o.voters++
		reason, tried := n.peerContacts.lastFailure(m.ID)
		early := m.NotAliveSince == n.gossip.Began && o.lasts < answerWithin // just after the start; the voter may be alive
		if m.ID != n.ID() && (reason != "" || !tried && !m.Alive && !early) {
			o.silent = append(o.silent, silentVoter{m.label(), reason})
		}
	}
	return o
}

func (o outage) String() string {
	text := "no leader"
	if o.lasts >= time.Second {
		text += fmt.Sprintf(" for %v", o.lasts.Truncate(time.Second))
	}
	answering, needed := o.voters-len(o.silent), Quorum{Voters: o.voters}.Needed()
	switch {
	case o.voters == 0:
		return text + ": this member has not received the configuration of its cluster"
	case answering < needed:
		return fmt.Sprintf("%s: %s; quorum needs %d of %d voters", text, o.listSilent(), needed, o.voters)
	case len(o.silent) > 0:
		return fmt.Sprintf("%s: election in progress; %s", text, o.listSilent())
	}
	return text + ": election in progress"
}

// listSilent lists the voters that do not answer, with the reasons.
func (o outage) listSilent() string {
	var names, reasons []string
	for _, v := range o.silent {
		names = append(names, v.name)
		if v.reason != "" && !slices.Contains(reasons, v.reason) {
			reasons = append(reasons, v.reason)
		}
	}
	verb := "does"
	if len(names) > 1 {
		verb = "do"
	}
	text := fmt.Sprintf("%s %s not answer", enumerate(names), verb)
	if len(reasons) > 0 {
		text += " (" + strings.Join(reasons, ", ") + ")"
	}
	return text
}

// enumerate joins names in the form "a, b and c".
func enumerate(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// noteLeader records the time since which a leader is known, or none is. At each change it forgets the outcomes of attempts to
// reach members: an attempt may fail after a leader is known.
func (n *Node) noteLeader(known bool) {
	begun, ended := &n.leaderless, &n.ledFrom
	if known {
		begun, ended = ended, begun
	}
	if begun.CompareAndSwap(0, int64(max(n.mono(), 1))) {
		ended.Store(0)
		n.peerContacts.reset()
	}
}

// greetWhileLeaderless shakes hands with all other members while no leader is known. This way, the node can report the members that do not
// answer, and learns of its own removal. A member that was removed while it was down then does not stand for election.
func (n *Node) greetWhileLeaderless() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-tick.C:
		}
		if n.ctx.Err() != nil { // both channels were ready
			return
		}
		if _, leader := n.raft.LeaderWithID(); leader == "" && n.greeter != nil && n.id.Cluster() != "" {
			n.greetMembers()
		}
	}
}

// greetMembers shakes hands with all other members, and with live nodes of this cluster that this node does not know as members.
func (n *Node) greetMembers() {
	address := make(map[raft.ServerID]string)
	for _, p := range n.gossip.Peers() {
		if p.Alive && p.Claim.Cluster == n.id.Cluster() {
			address[raft.ServerID(p.Claim.ID)] = p.Claim.Raft
		}
	}
	for _, s := range n.servers() {
		if string(s.ID) != n.ID() {
			address[s.ID] = cmp.Or(address[s.ID], peer.HostPort(s.Address))
		}
	}
	greeted := make(chan struct{})
	for id, at := range address {
		go func() {
			defer func() { greeted <- struct{}{} }()
			late := time.AfterFunc(answerWithin, func() { n.peerContacts.record(string(id), os.ErrDeadlineExceeded) })
			err := n.greeter.Greet(id, raft.ServerAddress(at))
			late.Stop()
			n.peerContacts.record(string(id), err)
			if err != nil {
				n.logger.Debug("handshake with member failed", "peer", n.label(id), "error", err)
			}
		}()
	}
	for range address {
		<-greeted
	}
}

// greeter shakes hands with a node and sends nothing more. A simulated Transport may implement it.
type greeter interface {
	// Greet returns an error unless the node at the address has the ID and accepts this node.
	Greet(id raft.ServerID, address raft.ServerAddress) error
}

// contactOutcomes remembers the outcome of the last attempt to reach each of several nodes. Its zero value is ready for use.
type contactOutcomes struct {
	mu       sync.Mutex
	outcomes map[string]string // the reason of a failure; empty: answered
}

// record records the outcome of an attempt; err is nil if the attempt succeeded.
func (c *contactOutcomes) record(to string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outcomes == nil {
		c.outcomes = make(map[string]string)
	}
	c.outcomes[to] = ""
	if err != nil {
		c.outcomes[to] = peer.Reason(err)
	}
}

// lastFailure returns the reason if the last attempt failed, and reports whether there was any attempt.
func (c *contactOutcomes) lastFailure(to string) (reason string, tried bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reason, tried = c.outcomes[to]
	return reason, tried
}

// reset forgets all outcomes.
func (c *contactOutcomes) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.outcomes)
}
