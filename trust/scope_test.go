package trust

import (
	"slices"
	"strings"
	"testing"
)

func TestParseScope(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 128)
	for text, want := range map[string]string{
		"ids:issue:default":     "",
		"ids:issue:*":           "",
		"seq:next:orders/*":     "",
		"seq:read:a:b":          "",
		"seq:admin:" + long:     "",
		"worker:lease:default":  "",
		"metrics:read":          "",
		"cluster:read":          "",
		"cluster:admin":         "",
		"tokens:admin":          "",
		"tokens:verify":         "",
		"":                      "expected one of",
		"ids":                   "expected one of",
		"any":                   "expected one of",
		"member":                "expected one of",
		"ids:issue":             "expected a name",
		"ids:issue:":            "expected a name",
		"seq:next:**":           "at most one *",
		"seq:next:*a":           "at most one *",
		"seq:next:\xff":         "expected UTF-8",
		"seq:write:a":           "expected one of",
		" seq:next:a":           "expected one of",
		"SEQ:next:a":            "expected one of",
		"cluster:read:":         "takes no name",
		"cluster:read:*":        "takes no name",
		"seq:admin:x" + long:    "at most 128",
		"ids:issue\x00:default": "expected one of",
	} {
		got, err := ParseScope(text)
		if want == "" && (err != nil || string(got) != text) {
			t.Errorf("ParseScope(%q) = %q, %v, want the scope", text, got, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("ParseScope(%q) = %v, want an error with %q", text, err, want)
		}
	}
}

func TestScopeCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope           Scope
		right, resource string
		want            bool
	}{
		{"ids:issue:default", RightIssueIDs, "default", true},
		{"ids:issue:default", RightIssueIDs, "default2", false},
		{"ids:issue:default", RightIssueIDs, "", false},
		{"ids:issue:default", RightLeaseWorker, "default", false},
		{"ids:issue:*", RightIssueIDs, "default", true},
		{"ids:issue:*", RightIssueIDs, "", false},
		{"seq:next:orders/*", RightNextNumbers, "orders/2025", true},
		{"seq:next:orders/*", RightNextNumbers, "orders/", true},
		{"seq:next:orders/*", RightNextNumbers, "orders", false},
		{"seq:next:orders/*", RightReadSequence, "orders/2025", false},
		{"seq:next:a", RightNextNumbers, "a:b", false},
		{"seq:read:*", RightReadSequence, Everything, true},
		{"seq:read:orders*", RightReadSequence, Everything, false},
		{"seq:decode:vouchers/*", RightDecodeText, "vouchers/1", true},
		{"seq:read:*", RightDecodeText, "vouchers/1", false},
		{"seq:admin:*", RightDecodeText, "vouchers/1", false},
		{"cluster:read", RightReadCluster, "", true},
		{"cluster:read", RightReadCluster, "x", false},
		{"cluster:read", RightAdminCluster, "", false},
		{"cluster:admin", RightReadCluster, "", false},
		{"tokens:admin", RightAdminCluster, "", false},
		{"tokens:admin", RightMember, "", false},
		{"tokens:admin", RightAny, "", false},
		{"member", RightMember, "", false},
		{"", "", "", false},
		{"ids:issue:a", "ids", "issue:a", false},
		{"ids:issue:a", "ids:issue:a", "", false},
	} {
		if got := c.scope.Covers(c.right, c.resource); got != c.want {
			t.Errorf("Scope(%q).Covers(%q, %q) = %t, want %t", c.scope, c.right, c.resource, got, c.want)
		}
	}
}

func FuzzParseScope(f *testing.F) {
	f.Add("seq:next:orders/*", RightNextNumbers, "orders/1")
	f.Add("cluster:read", RightReadCluster, "")
	f.Fuzz(func(t *testing.T, text, right, resource string) {
		scope, err := ParseScope(text)
		if err != nil {
			return
		}
		if string(scope) != text {
			t.Fatalf("ParseScope(%q) = %q", text, scope)
		}
		if !scope.Covers(right, resource) {
			return
		}
		if !strings.HasPrefix(text, right) || !slices.Contains(slices.Concat(namedRights, plainRights), right) {
			t.Fatalf("%q covers %q", text, right)
		}
	})
}
