package api

import (
	"context"

	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// GetUpgrade implements snowraftv1.OperationsServiceServer.
func (o *operations) GetUpgrade(ctx context.Context, _ *snowraftv1.GetUpgradeRequest) (*snowraftv1.GetUpgradeResponse, error) {
	u, err := o.Member.UpgradeAtLeader(ctx)
	if err != nil {
		return nil, err
	}
	resp := &snowraftv1.GetUpgradeResponse{Upgrade: o.upgradeMessage(u)}
	for _, m := range o.Member.Node().Members() {
		resp.Members = append(resp.Members, memberMessage(m))
	}
	return resp, nil
}

// FinalizeUpgrade implements snowraftv1.OperationsServiceServer.
func (o *operations) FinalizeUpgrade(ctx context.Context, req *snowraftv1.FinalizeUpgradeRequest) (*snowraftv1.FinalizeUpgradeResponse, error) {
	from, to, err := o.Member.FinalizeUpgrade(ctx, req.GetWithout())
	if err != nil {
		return nil, err
	}
	return &snowraftv1.FinalizeUpgradeResponse{From: from, To: to}, nil
}

// upgradeMessage returns the state of an upgrade as a message of the API.
func (s *Services) upgradeMessage(u member.Upgrade) *snowraftv1.Upgrade {
	m := &snowraftv1.Upgrade{
		FsmVersion: u.Used, NextFsmVersion: u.Next, DueAtMs: u.DueAtMillis,
		Upgrades: snowraftv1.Upgrades(s.Member.State().ConfigValue().GetUpgrades()),
	}
	for _, b := range u.Blockers {
		m.Blockers = append(m.Blockers, &snowraftv1.UpgradeBlocker{MemberId: b.ID, MemberName: b.Name, Problem: b.Problem})
	}
	return m
}
