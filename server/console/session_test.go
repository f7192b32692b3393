package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/trust"
)

// signIn returns the cookie of a new session.
func signIn(t *testing.T, r *rig, token string, headers ...string) *http.Cookie {
	t.Helper()
	w := r.ask("POST", "/console/session", form("token", token), headers...)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusSeeOther || len(cookies) != 1 {
		t.Fatalf("sign in: %d %v %s", w.Code, w.Header(), w.Body)
	}
	return cookies[0]
}

func with(c *http.Cookie) string { return "Cookie: " + c.Name + "=" + c.Value }

func TestStrangersSeeTheFormOnly(t *testing.T) {
	t.Parallel()
	r, _, _, _ := secured(t)
	page := r.ask("GET", "/", "").Body.String()
	r.wants(page, "Sign in to see this page", "<code>cluster:read</code>", "snowraft token create console --scope cluster:read",
		`method="post" action="./console/session"`, `name="token" type="password"`, "!are issuing", "!data-again", "!id=\"member-a\"", "!http-equiv")
}

func TestSessionShowsAndEnds(t *testing.T) {
	t.Parallel()
	r, _, reader, _ := secured(t)
	c := signIn(t, r, " "+reader+"\n")
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.Name != "snowraft-7701" || len(c.Value) != 43 {
		t.Errorf("cookie %+v", c)
	}
	page := r.ask("GET", "/", "", with(c)).Body.String()
	r.wants(page, "3 of 3 members are issuing", "Token reader", "Sign out", "!"+reader, "!"+c.Value)
	if other := signIn(t, r, reader); other.Value == c.Value {
		t.Error("two sessions have one ID")
	}
	w := r.ask("POST", "/console/session", form("out", "1"), with(c))
	if gone := w.Result().Cookies(); len(gone) != 1 || gone[0].MaxAge >= 0 {
		t.Errorf("sign out: %v", gone)
	}
	r.wants(r.ask("GET", "/", "", with(c)).Body.String(), "Sign in to see this page")
}

func TestSessionOverTLSIsSecure(t *testing.T) {
	t.Parallel()
	r, _, reader, _ := secured(t)
	c := signIn(t, r, reader, "TLS: on")
	if !c.Secure || c.Name != "__Host-snowraft-7701" {
		t.Errorf("cookie %+v", c)
	}
	r.wants(r.ask("GET", "/", "", with(c), "TLS: on").Body.String(), "3 of 3 members are issuing")
}

func TestSessionFollowsItsToken(t *testing.T) {
	t.Parallel()
	r, tokens, reader, issuer := secured(t)
	c := signIn(t, r, reader)
	record, _ := tokens.Token(1)
	poorer := *record
	poorer.Scopes = []trust.Scope{trust.RightReadMetrics}
	tokens.change(1, &poorer)
	r.wants(r.ask("GET", "/", "", with(c)).Body.String(), "Your token does not show this page", "lacks the scope cluster:read", "!3 of 3")
	tokens.change(1, record)
	r.wants(r.ask("GET", "/", "", with(c)).Body.String(), "3 of 3 members are issuing")
	tokens.change(1, nil)
	r.wants(r.ask("GET", "/", "", with(c)).Body.String(), "Your session ended", "Sign in to see this page", "!3 of 3")
	tokens.change(1, record) // the session is gone
	r.wants(r.ask("GET", "/", "", with(c)).Body.String(), "Sign in to see this page")
	r.wants(r.ask("GET", "/", "", with(signIn(t, r, issuer))).Body.String(), "Your token does not show this page", "cluster:read")
}

func TestSignInRefusesInvalidTokens(t *testing.T) {
	t.Parallel()
	r, _, reader, _ := secured(t)
	wrong := reader[:len(reader)-1] + "x"
	for _, body := range []string{form("token", ""), form(), form("token", wrong), form("token", strings.Repeat("x", 2000)), form("token", "<script>")} {
		w := r.ask("POST", "/console/session", body)
		if len(w.Result().Cookies()) != 0 {
			t.Errorf("%.60s: %v", body, w.Header())
		}
		r.wants(w.Body.String(), `role="alert"`, "!3 of 3", "!"+wrong, "!<script>")
	}
	// A token in a URL does not count.
	if w := r.ask("POST", "/console/session?token="+reader, ""); len(w.Result().Cookies()) != 0 {
		t.Error("a token in a URL signs in")
	}
	// Neither does the header of another caller.
	if w := r.ask("POST", "/console/session", form("token", "x"), "Authorization: Bearer "+reader); len(w.Result().Cookies()) != 0 {
		t.Error("a header signs in")
	}
	if w := r.ask("POST", "/console/session", strings.Repeat("a", 1<<20)); w.Code != http.StatusBadRequest {
		t.Errorf("a long form: %d", w.Code)
	}
}

func TestSignInReturnsToPagesOnly(t *testing.T) {
	t.Parallel()
	r, _, reader, _ := secured(t)
	for to, want := range map[string]string{
		"/console/runbook": "../console/runbook", "https://evil.example/": "../", "//evil.example": "../", "/metrics": "../", "": "../",
	} {
		if w := r.ask("POST", "/console/session", form("token", reader, "to", to)); w.Header().Get("Location") != want {
			t.Errorf("to %q: %v", to, w.Header())
		}
	}
}

func TestSessionsOfOneTokenMakeWay(t *testing.T) {
	t.Parallel()
	r, _, reader, _ := secured(t)
	first := signIn(t, r, reader)
	var last *http.Cookie
	for range 16 {
		last = signIn(t, r, reader)
	}
	r.wants(r.ask("GET", "/", "", with(first)).Body.String(), "Sign in to see this page")
	r.wants(r.ask("GET", "/", "", with(last)).Body.String(), "3 of 3 members are issuing")
}

func TestOpenClusterHasNoSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := r.ask("POST", "/console/session", form("token", "x"))
	if c := w.Result().Cookies(); w.Code != http.StatusSeeOther || len(c) != 1 || c[0].Value != "" {
		t.Errorf("%d %v", w.Code, c)
	}
}

// form returns the body of a form with names and values.
func form(fields ...string) string {
	v := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		v.Set(fields[i], fields[i+1])
	}
	return v.Encode()
}
