package trust

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/snowraft/snowraft/internal/limits"
)

// Rights of tokens.
const (
	RightIssueIDs      = "ids:issue"    // issue IDs and UUIDs; resource: layout
	RightBackfill      = "ids:backfill" // issue IDs of the past, and manage the jobs for it; resource: layout
	RightNextNumbers   = "seq:next"     // issue numbers; resource: sequence
	RightReadSequence  = "seq:read"     // read and list sequences; resource: sequence
	RightDecodeText    = "seq:decode"   // decode texts, codes too; resource: sequence
	RightAdminSequence = "seq:admin"    // create, update, delete; resource: sequence
	RightLeaseWorker   = "worker:lease" // acquire, extend and release workers; resource: layout
	RightReadMetrics   = "metrics:read"
	RightReadCluster   = "cluster:read"  // read status, configuration, events and grants
	RightAdminCluster  = "cluster:admin" // change members, configuration and layouts; back up
	RightAdminTokens   = "tokens:admin"  // full power: can create tokens with any right
	RightVerifyTokens  = "tokens:verify" // needed by gateways
)

// Rights that no scope contains.
const (
	RightAny    = "any"    // any valid token
	RightMember = "member" // a member's certificate
)

// Everything is the resource of a right over all names, such as the right to list them.
const Everything = "*"

// namedRights and plainRights are the rights with and without a resource.
var (
	namedRights = []string{RightIssueIDs, RightNextNumbers, RightReadSequence, RightDecodeText, RightAdminSequence, RightLeaseWorker, RightBackfill}
	plainRights = []string{RightReadMetrics, RightReadCluster, RightAdminCluster, RightAdminTokens, RightVerifyTokens}
)

// Rights returns the beginnings of all scopes: the rights, those with a resource with a colon.
func Rights() []string {
	all := slices.Clone(plainRights)
	for _, right := range namedRights {
		all = append(all, right+":")
	}
	return all
}

// Scope is a right and its resources: a name, or a prefix and *. Examples: ids:issue:default,
// seq:next:orders/*, cluster:read.
type Scope string

// ParseScope returns the scope of a text: a right without a resource, or a right, a colon and a name of at most 128 bytes
// or a prefix and *. The error states the expected form.
func ParseScope(text string) (Scope, error) {
	right, resource := Scope(text).parts()
	switch {
	case slices.Contains(plainRights, right):
		if right != text {
			return "", fmt.Errorf("scope %q: %s takes no name; use %q", text, right, right)
		}
		return Scope(text), nil
	case !slices.Contains(namedRights, right):
		return "", fmt.Errorf("scope %q: expected one of %s, or %s", text,
			strings.Join(namedRights, ":NAME, ")+":NAME", strings.Join(plainRights, ", "))
	case resource == "":
		return "", fmt.Errorf("scope %q: expected a name, a prefix and *, or *, as in %q", text, right+":*")
	case len(resource) > limits.NameBytes:
		return "", fmt.Errorf("scope of %d bytes after %q: expected at most %d", len(resource), right+":", limits.NameBytes)
	case !utf8.ValidString(resource):
		return "", fmt.Errorf("scope %q: expected UTF-8", text)
	case strings.Contains(strings.TrimSuffix(resource, "*"), "*"):
		return "", fmt.Errorf("scope %q: expected at most one *, at the end", text)
	}
	return Scope(text), nil
}

// parts returns the right of a scope, which is its first two words, and the rest.
func (s Scope) parts() (right, resource string) {
	first, rest, _ := strings.Cut(string(s), ":")
	second, resource, found := strings.Cut(rest, ":")
	if !found && rest == "" {
		return string(s), ""
	}
	return first + ":" + second, resource
}

// Covers reports whether the scope has a right on a resource. The resource is empty for a right without one.
func (s Scope) Covers(right, resource string) bool {
	rest, found := strings.CutPrefix(string(s), right)
	if !found {
		return false
	}
	if rest == "" {
		return resource == "" && slices.Contains(plainRights, right)
	}
	pattern, found := strings.CutPrefix(rest, ":")
	if !found || resource == "" || !slices.Contains(namedRights, right) {
		return false
	}
	if prefix, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(resource, prefix)
	}
	return pattern == resource
}

// TakesResource reports whether the scopes of a right name resources.
func TakesResource(right string) bool { return slices.Contains(namedRights, right) }
