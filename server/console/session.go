package console

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	// sessionAge is the longest duration of a session. sessionIdle is the longest time between its requests.
	sessionAge  = 12 * time.Hour
	sessionIdle = time.Hour
	// maxSessions is the largest number of sessions of the process, and maxSessionsOf that of one token. The oldest session
	// of a token makes way for a new one.
	maxSessions   = 1000
	maxSessionsOf = 16
)

// sessions keeps the tokens of signed-in viewers, only in memory. A browser has the random ID of its session in a cookie;
// this process keeps only a hash of the ID. Each request authenticates the token again, so a session ends when the cluster no
// longer accepts its token.
type sessions struct {
	now func() time.Time

	mu  sync.Mutex
	all map[[sha256.Size]byte]*session
}

type session struct {
	token        string
	of           uint64 // ID of the token
	began, asked time.Time
}

func newSessions() *sessions {
	return &sessions{now: time.Now, all: make(map[[sha256.Size]byte]*session)}
}

// over reports whether a session has expired.
func (s *session) over(now time.Time) bool {
	return now.Sub(s.began) >= sessionAge || now.Sub(s.asked) >= sessionIdle
}

// begin adds a session and returns the ID for its cookie.
func (s *sessions) begin(token string, of uint64) (id string, err error) {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails
	id = base64.RawURLEncoding.EncodeToString(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var oldest [sha256.Size]byte
	same := 0
	for key, have := range s.all {
		switch {
		case have.over(now):
			delete(s.all, key)
		case have.of == of:
			if same == 0 || have.began.Before(s.all[oldest].began) {
				oldest = key
			}
			same++
		}
	}
	if same >= maxSessionsOf {
		delete(s.all, oldest)
	}
	if len(s.all) >= maxSessions {
		return "", rpc.NewError(rpc.Overloaded, "too many sessions are open here; try again later, or try another member")
	}
	s.all[sha256.Sum256([]byte(id))] = &session{token: token, of: of, began: now, asked: now}
	return id, nil
}

// token returns the token of a request's session; empty without a session.
func (s *sessions) token(r *http.Request) string {
	id := cookieOf(r)
	if id == "" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(id))
	have, now := s.all[key], s.now()
	switch {
	case have == nil:
		return ""
	case have.over(now):
		delete(s.all, key)
		return ""
	}
	have.asked = now
	return have.token
}

// end removes the session of a request.
func (s *sessions) end(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(cookieOf(r))))
}

// cookieName returns the cookie's name, which includes the port. Browsers send the cookies of one port of a host to all its
// ports.
func cookieName(r *http.Request) string {
	name := "snowraft"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "-" + port
	}
	if r.TLS != nil {
		return "__Host-" + name
	}
	return name
}

func cookieOf(r *http.Request) string {
	c, err := r.Cookie(cookieName(r))
	if err != nil {
		return ""
	}
	return c.Value
}

// cookie returns a cookie with the ID of a session. An empty ID removes the cookie.
func cookie(r *http.Request, id string) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // Secure is set with TLS
		Name: cookieName(r), Value: id, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
		MaxAge: int(sessionAge.Seconds()),
	}
	if id == "" {
		c.MaxAge = -1
	}
	return c
}
