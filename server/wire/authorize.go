package wire

import (
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// Admit returns the admission of a caller with the right that the rule of a request names, on the resource that the request
// names, or an error. The rule must not be nil.
func Admit(p *trust.Principal, rule *rpc.Rule, req any) (trust.Admission, error) {
	right, resource := rule.GetRight(), ""
	if trust.TakesResource(right) {
		if resource = trust.Everything; rule.GetResource() != "" {
			resource = rule.Resource(req)
		}
	}
	return p.Admit(right, resource)
}
