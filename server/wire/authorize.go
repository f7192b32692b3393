package wire

import (
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// Admit returns the admission of a caller with the right that the rule of a request names, on the resource that the request
// names, or an error. The rule must not be nil. judgedAt is that of [trust.Admission].
func Admit(p *trust.Principal, rule *rpc.Rule, req any, judgedAt uint64) (trust.Admission, error) {
	right, resource := rule.GetRight(), ""
	if trust.TakesResource(right) {
		if resource = trust.Everything; rule.GetResource() != "" {
			resource = rule.Resource(req)
		}
	}
	return p.Admit(right, resource, judgedAt)
}
