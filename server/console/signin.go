package console

import (
	"net/http"
	"strings"

	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	sessionPath = root + "/session"
	// maxToken is the largest size of a token in a form, in bytes.
	maxToken = 1 << 10
	// maxForm is the largest size of a form, in bytes.
	maxForm = 8 << 10
)

// session serves the forms for signing in and out.
func (c *Console) session(w http.ResponseWriter, r *http.Request) (method string, err error) {
	if r.Method != http.MethodPost {
		return other, wrongMethod(w, r, "POST")
	}
	method = "POST " + sessionPath
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		err = rpc.NewError(rpc.InvalidArgument, "body: expected a form")
		refuse(w, http.StatusBadRequest, err)
		return method, err
	}
	// Only the body counts, because a token in a URL would appear in logs.
	to := c.pages[r.PostForm.Get("to")]
	if to == nil {
		to = nowPage
	}
	if r.PostForm.Has("out") {
		c.sessions.end(r)
		http.SetCookie(w, cookie(r, ""))
		redirect(w, r, to.path)
		return method, nil
	}
	id, err := c.signIn(r, strings.TrimSpace(r.PostForm.Get("token")))
	if err != nil {
		shown := r.Clone(r.Context())
		shown.Method, shown.URL.RawQuery = http.MethodGet, ""
		_ = c.show(w, shown, to, message(err))
		return method, err
	}
	http.SetCookie(w, cookie(r, id))
	redirect(w, r, to.path)
	return method, nil
}

// signIn starts a session with a token that the cluster accepts. An open cluster needs none.
func (c *Console) signIn(r *http.Request, token string) (id string, err error) {
	switch {
	case token == "":
		return "", rpc.NewError(rpc.Unauthenticated, "enter a token")
	case len(token) > maxToken:
		return "", rpc.NewError(rpc.Unauthenticated, "too long for a token; paste only the line that \"snowraft token create\" printed")
	}
	bare := r.Clone(r.Context())
	bare.Header.Del("Authorization") // would take precedence over the form
	p, err := c.cfg.Authenticate(bare, token)
	if err != nil {
		return "", err
	}
	c.sessions.end(r)
	if p.IsOpen() {
		return "", nil
	}
	return c.sessions.begin(token, p.TokenID())
}
