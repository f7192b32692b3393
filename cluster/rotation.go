package cluster

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/gossip"
)

// chooseSecret returns the fingerprint of the secret with which a member signs and encrypts: the first secret in its file that all
// other servers report to know. While some servers have reported nothing, the present secret stays if all reporting servers
// know it. Therefore the order in which hosts get a new file does not matter.
func chooseSecret(own []string, present string, reports [][]string, complete bool) string {
	common := func(fingerprint string) bool {
		return !slices.ContainsFunc(reports, func(known []string) bool { return !slices.Contains(known, fingerprint) })
	}
	if !complete && slices.Contains(own, present) && common(present) {
		return present
	}
	if i := slices.IndexFunc(own, common); i >= 0 {
		return own[i]
	}
	if slices.Contains(own, present) {
		return present
	}
	return own[0]
}

// rotate announces the secrets of this node to the other nodes, and selects the secret to sign with.
func (n *Node) rotate() {
	if n.cfg.Keys == nil {
		return
	}
	tick := time.NewTicker(min(time.Second, n.cfg.Timing.GossipProbe))
	defer tick.Stop()
	reported := n.cfg.Keys.Fingerprints()
	for {
		changed := n.cfg.Keys.Changed()
		if own := n.cfg.Keys.Fingerprints(); !slices.Equal(own, reported) {
			n.logger.Info("secrets changed", "fingerprints", own)
			n.gossip.Announce()
			reported = own
		}
		n.chooseSigningSecret()
		select {
		case <-n.ctx.Done():
			return
		case <-changed:
		case <-tick.C:
		}
	}
}

// chooseSigningSecret selects the secret with which this node signs.
func (n *Node) chooseSigningSecret() {
	var reports [][]string
	servers := n.servers()
	complete := len(servers) > 0
	heard := func(p gossip.Peer) { reports = append(reports, p.Claim.Fingerprints()) }
	for _, s := range servers {
		p, known := n.gossip.Peer(string(s.ID))
		switch {
		case s.ID == raft.ServerID(n.ID()):
		case known && p.Claim.Keys != "":
			heard(p)
		default:
			complete = false
		}
	}
	if len(servers) == 0 { // this node waits for a cluster, as the others do
		for _, p := range n.gossip.Peers() {
			if p.Alive && p.Claim.Keys != "" {
				heard(p)
			}
		}
	}
	present := n.cfg.Keys.Signing().Fingerprint()
	if chosen := chooseSecret(n.cfg.Keys.Fingerprints(), present, reports, complete); chosen != present && n.cfg.Keys.Sign(chosen) {
		n.logger.Info("signing with another secret", "fingerprint", chosen)
	}
}
