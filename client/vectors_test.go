package client

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/test/vectors"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// outcome holds the decisions of a client after an error.
type outcome struct {
	Again   bool `json:"again"`
	Retry   bool `json:"retry"`
	Unknown bool `json:"unknown"`
}

// repeats names the kinds of methods, by their rules.
var repeats = map[snowraftv1.MethodRule_Repeat]string{
	snowraftv1.MethodRule_REPEAT_HARMLESS: "harmless",
	snowraftv1.MethodRule_REPEAT_UNDONE:   "undone",
	snowraftv1.MethodRule_REPEAT_NEVER:    "never",
}

// outcomes returns what the client does after an error, by the kind of the method. sent is false if nothing was sent.
func outcomes(e Error, sent, unknown bool) map[string]outcome {
	all := make(map[string]outcome)
	for repeat, kind := range repeats {
		rule := &rpc.Rule{MethodRule: &snowraftv1.MethodRule{Repeat: repeat}}
		p := policy{rule: rule, harmless: rule.Harmless(nil)}
		e.careful, e.Unsent = !p.harmless, !sent
		all[kind] = outcome{p.again(&e, sent), e.Repeatable(), unknown}
	}
	return all
}

func TestErrorVectors(t *testing.T) {
	type reason struct {
		Reason     string             `json:"reason"`
		Code       codes.Code         `json:"code"`
		Repeat     rpc.Repeat         `json:"repeat"`
		RetryAfter int64              `json:"retryAfterMs,string"`
		Outcomes   map[string]outcome `json:"outcomes"`
	}
	var reasons []reason
	for _, r := range rpc.Reasons() {
		e := Error{Reason: r.Name, code: r.Code}
		reasons = append(reasons, reason{r.Name, r.Code, r.Repeat, r.RetryAfter.Milliseconds(), outcomes(e, true, r.MayBeDone())})
	}
	later := Error{Reason: "A_LATER_REASON", code: codes.FailedPrecondition}
	reasons = append(reasons, reason{later.Reason, later.code, rpc.RepeatNo, 0, outcomes(later, true, false)})

	type failure struct {
		About    string             `json:"about"`
		Outcomes map[string]outcome `json:"outcomes"`
	}
	failures := []failure{
		{"no connection: nothing was sent", outcomes(Error{code: codes.Unavailable}, false, false)},
		{"the connection broke, or the time ended, after the request was sent in part or whole", outcomes(Error{code: codes.Unavailable}, true, true)},
		{"code 4 (DEADLINE_EXCEEDED, status 504) or 1 (CANCELLED, status 499) of a member, without a reason", outcomes(Error{code: codes.DeadlineExceeded}, true, true)},
		{"status 502, 503 or 504 without the JSON of a member: a proxy answered", outcomes(Error{code: codes.Unavailable, foreign: true}, true, true)},
		{"code 12 (UNIMPLEMENTED) without a reason", outcomes(Error{code: codes.Unimplemented}, true, false)},
	}

	vectors.Check(t, "..", "errors.json", map[string]any{
		"about":    "Reasons and failures without a reason: what a client does, by the kind of the method; and the kind of each method; see README.md",
		"reasons":  reasons,
		"failures": failures,
		"methods":  methods(t),
	})
}

type method struct {
	Method string `json:"method"`
	HTTP   string `json:"http"`
	Path   string `json:"path"`
	Repeat string `json:"repeat"`
	Unless string `json:"unless,omitempty"`
	Leader bool   `json:"leader"`
	Right  string `json:"right"`
}

// methods returns the methods that have a path over HTTP.
func methods(t *testing.T) (all []method) {
	for rule := range rpc.Rules() {
		if rule.HTTP == nil {
			continue
		}
		verb, path := "", ""
		switch p := rule.HTTP.GetPattern().(type) {
		case *annotations.HttpRule_Get:
			verb, path = "GET", p.Get
		case *annotations.HttpRule_Post:
			verb, path = "POST", p.Post
		case *annotations.HttpRule_Patch:
			verb, path = "PATCH", p.Patch
		case *annotations.HttpRule_Delete:
			verb, path = "DELETE", p.Delete
		default:
			t.Errorf("%s: %T", rule.Method, p)
		}
		_, name, _ := strings.Cut(rule.Method[1:], "/")
		all = append(all, method{name, verb, path, repeats[rule.GetRepeat()], rule.GetUnless(),
			rule.GetWhere() == snowraftv1.MethodRule_WHERE_LEADER, rule.GetRight()})
	}
	slices.SortFunc(all, func(a, b method) int { return cmp.Compare(a.Method, b.Method) })
	return all
}
