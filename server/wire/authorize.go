package wire

import (
	"context"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// Authorize returns an error unless the principal of a context has the right that the rule of a request names,
// on the resource that the request names. The rule must not be nil.
func Authorize(ctx context.Context, rule *rpc.Rule, req any) error {
	right, resource := rule.GetRight(), ""
	if trust.TakesResource(right) {
		if resource = trust.Everything; rule.GetResource() != "" {
			resource = rule.Resource(req)
		}
	}
	return trust.PrincipalOf(ctx).Authorize(right, resource)
}
