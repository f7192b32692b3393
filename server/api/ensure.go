package api

import (
	"context"
	"errors"

	"github.com/snowraft/snowraft/internal/member"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/kernel"
	"github.com/snowraft/snowraft/snowflake"
	"github.com/snowraft/snowraft/trust"
)

// EnsureLayout returns the cluster's layout with the name of spec. If there is no such layout, it creates the layout with the
// rights of this member. An existing layout of that name may differ from spec.
func (s *Services) EnsureLayout(ctx context.Context, spec snowflake.Spec) (*snowflake.Layout, error) {
	found, err := s.Member.Layout(ctx, spec.Name)
	if _, unknown := errors.AsType[*member.UnknownLayoutError](err); !unknown {
		return found, err
	}
	const method = snowraftv1.LayoutService_CreateLayout_FullMethodName
	req := &snowraftv1.CreateLayoutRequest{Layout: rpc.Layout(spec)}
	a, err := trust.Member(s.Member.Node().ID()).Admit(kernel.Needed(rpc.RuleOf(method), req))
	if err != nil {
		return nil, err
	}
	if _, err = lead(trust.WithAdmission(ctx, a), s, method, req, layouts{Services: s}.CreateLayout); err != nil {
		return nil, err
	}
	return s.Member.Layout(ctx, spec.Name)
}
