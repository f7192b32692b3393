package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Use is the use of a token by one host at all members, or its refusal.
type Use struct {
	Host     string `json:"host"`
	Token    uint64 `json:"token,string"` // ID in the text of the token; 0 for a text without one
	Name     string `json:"name"`         // name of the token
	Secret   string `json:"secretFingerprint"`
	Refused  string `json:"refused"` // empty if the token was accepted
	Count    uint64 `json:"count,string"`
	Open     uint32 `json:"open"`
	LastAtMs int64  `json:"lastAtMs,string"`
}

// Uses returns who used tokens at the members, the latest use first, and the status of each member that answers. It warns of the
// other members.
func (a *App) Uses(ctx context.Context, r *Remote, members []*snowraftv1.Member) (uses []Use, statuses []*snowraftv1.GetStatusResponse, err error) {
	first, err := r.Cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{Uses: true})
	if err != nil {
		return nil, nil, err
	}
	statuses = append(statuses, first)
	var silent []string
	for _, m := range members {
		if m.GetId() == first.GetMemberId() {
			continue
		}
		s, err := r.status(ctx, m)
		if err != nil {
			silent = append(silent, cmp.Or(m.GetName(), m.GetId()))
			continue
		}
		statuses = append(statuses, s)
	}
	if len(silent) > 0 {
		a.Warn("uses at these members are unknown, because they do not answer: %s", strings.Join(silent, ", "))
	}
	for _, s := range statuses {
		for _, u := range s.GetUses() {
			uses = merge(uses, Use{u.GetHost(), u.GetTokenId(), u.GetTokenName(), u.GetSecretFingerprint(), u.GetFault(), u.GetCount(), u.GetOpen(), u.GetLastAtMs()})
		}
	}
	slices.SortStableFunc(uses, func(a, b Use) int { return cmp.Compare(b.LastAtMs, a.LastAtMs) })
	return uses, statuses, nil
}

// status returns the status of a member with its uses.
func (r *Remote) status(ctx context.Context, m *snowraftv1.Member) (*snowraftv1.GetStatusResponse, error) {
	one, err := r.At(m.GetApiAddress())
	if err != nil {
		return nil, err
	}
	defer one.Close()
	return one.Cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{Uses: true})
}

// merge adds a use at one member to the uses at others.
func merge(uses []Use, u Use) []Use {
	i := slices.IndexFunc(uses, func(o Use) bool {
		return o.Host == u.Host && o.Token == u.Token && o.Secret == u.Secret && o.Refused == u.Refused
	})
	if i < 0 {
		return append(uses, u)
	}
	o := &uses[i]
	o.Count += u.Count
	o.Open += u.Open
	o.LastAtMs = max(o.LastAtMs, u.LastAtMs)
	return uses
}

// Last returns when the use was last seen.
func (u Use) Last() string {
	if u.Open > 0 {
		return "now"
	}
	return StampKnown(u.LastAtMs)
}
