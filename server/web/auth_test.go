package web_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/server/web"
	"github.com/snowraft/snowraft/trust"
)

// judge is a backend that serves only administrators.
type judge struct{ web.Backend }

func (judge) judge(ctx context.Context) error {
	if trust.PrincipalOf(ctx).IsAdmin() {
		return nil
	}
	return rpc.NewError(rpc.Unauthenticated, "no token")
}

func (j judge) Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error) {
	if err := j.judge(ctx); err != nil {
		return 0, 0, err
	}
	return j.Backend.Next(ctx, sequence, count)
}

func (j judge) AppendNext(ctx context.Context, dst []byte, w io.Writer, sequence string, count uint64, requestID string) ([]byte, error) {
	if err := j.judge(ctx); err != nil {
		return dst, err
	}
	return j.Backend.AppendNext(ctx, dst, w, sequence, count, requestID)
}

func (j judge) AppendIDs(ctx context.Context, dst []byte, w io.Writer, layout string, count uint32) ([]byte, error) {
	if err := j.judge(ctx); err != nil {
		return dst, err
	}
	return j.Backend.AppendIDs(ctx, dst, w, layout, count)
}

// securedRig returns a rig that accepts one token, which has every right. A caller without a token is authenticated and has no
// right.
func securedRig(t *testing.T) *rig {
	t.Helper()
	return newRig(t, func(cfg *web.Config) {
		cfg.Backend = judge{cfg.Backend}
		cfg.Authenticate = func(r *http.Request, token string) (*trust.Principal, error) {
			if header := r.Header.Get("Authorization"); header != "" {
				token = strings.TrimPrefix(header, "Bearer ")
			}
			switch token {
			case "":
				return trust.Member("nobody"), nil
			case "good":
				return trust.Admin(), nil
			}
			return nil, rpc.NewError(rpc.Unauthenticated, "unknown token")
		}
	})
}

// Each path takes a token in its own place, and reports errors in its own form.
func TestTokens(t *testing.T) {
	t.Parallel()
	const (
		springNone  = `"status":401,"error":"Unauthorized","message":"no token"`
		springWrong = `"status":401,"error":"Unauthorized","message":"unknown token"`
		tinyid      = `{"data":null,"code":5,"message":"token is error"}`
	)
	for _, tc := range []struct {
		method, path string
		none, wrong  int
		noneBody     string
		wrongBody    string
	}{
		{"GET", "/id", 401, 401, "UNAUTHENTICATED: no token\n", "UNAUTHENTICATED: unknown token\n"},
		{"POST", "/seq/a", 401, 401, "UNAUTHENTICATED: no token\n", "UNAUTHENTICATED: unknown token\n"},
		{"GET", "/api/segment/get/a", 401, 401, springNone, springWrong},
		{"GET", "/api/snowflake/get/x", 401, 401, springNone, springWrong},
		{"GET", "/tinyid/id/nextId?bizType=a", 200, 200, tinyid, tinyid},
		{"GET", "/tinyid/id/nextIdSimple?bizType=a", 200, 200, "", ""},
		{"GET", "/ids/x", 401, 401, `"code":"UNAUTHENTICATED","msg":"no token"`, `"code":"UNAUTHENTICATED","msg":"unknown token"`},
		{"PATCH", "/segments/shop/orders?step=10000", 200, 401, "", `"code":"UNAUTHENTICATED"`}, // behind Conn, calls are judged
		{"GET", "/v1/sequences/a", 200, 401, "", `"reason":"UNAUTHENTICATED"`},                  // behind Conn, calls are judged
		{"GET", "/docs", 200, 200, "", ""},
		{"GET", "/openapi.json", 200, 200, "", ""},
	} {
		r := securedRig(t)
		for _, ask := range []struct {
			header string
			status int
			body   string
		}{{"", tc.none, tc.noneBody}, {"Bearer wrong", tc.wrong, tc.wrongBody}, {"Bearer good", 200, ""}} {
			var headers []string
			if ask.header != "" {
				headers = []string{"Authorization: " + ask.header}
			}
			w := r.ask(tc.method, tc.path, "", headers...)
			if w.Code != ask.status || !strings.Contains(w.Body.String(), ask.body) {
				t.Errorf("%s %s with %q: %d %s", tc.method, tc.path, ask.header, w.Code, w.Body)
			}
			if challenge := w.Header().Get("WWW-Authenticate"); ask.status == 401 && challenge != "Bearer" || ask.status == 200 && ask.header == "Bearer good" && challenge != "" {
				t.Errorf("%s %s with %q: WWW-Authenticate = %q", tc.method, tc.path, ask.header, challenge)
			}
			if ask.header == "Bearer good" && r.backend.taken == 0 && strings.Contains(tc.path, "id/") {
				t.Errorf("%s %s took nothing", tc.method, tc.path)
			}
		}
	}
}

// A request for 0 numbers requires the right to numbers too.
func TestTinyidJudgesEmptyBatch(t *testing.T) {
	t.Parallel()
	r := securedRig(t)
	want(t, r.ask("GET", "/tinyid/id/nextId?bizType=a&batchSize=0&token=good", ""), 200, `{"data":[],"code":200,"message":""}`)
	for _, size := range []string{"0", "-1"} {
		want(t, r.ask("GET", "/tinyid/id/nextId?bizType=a&batchSize="+size, ""), 200, `{"data":null,"code":5,"message":"token is error"}`)
	}
}

// Only the paths of tinyid take a token from the query and the form. A token in the header takes precedence.
func TestTokenParameter(t *testing.T) {
	t.Parallel()
	r := securedRig(t)
	want(t, r.ask("GET", "/tinyid/id/nextIdSimple?bizType=a&token=good", ""), 200, "1")
	want(t, r.ask("POST", "/tinyid/id/nextIdSimple", "bizType=a&token=good", "Content-Type: application/x-www-form-urlencoded"), 200, "2")
	want(t, r.ask("GET", "/tinyid/id/nextIdSimple?bizType=a&token=wrong", ""), 200, "")
	want(t, r.ask("GET", "/tinyid/id/nextIdSimple?bizType=a&token=good", "", "Authorization: Bearer wrong"), 200, "")
	if w := r.ask("GET", "/api/segment/get/a?token=good", ""); w.Code != 401 {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
	if w := r.ask("GET", "/id?token=good", ""); w.Code == 200 {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
	if w := r.ask("POST", "/v1/ids:generate?token=good", "{}"); w.Code == 200 {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
	for _, line := range r.served {
		if strings.Contains(line, "good") || strings.Contains(line, "wrong") {
			t.Errorf("log line %q contains a token", line)
		}
	}
}
