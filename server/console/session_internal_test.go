package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestSessionExpires(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	s := newSessions()
	s.now = func() time.Time { return now }
	have := func(id string) bool {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(cookie(r, id))
		return s.token(r) == "secret"
	}
	idle, err := s.begin("secret", 1)
	if err != nil {
		t.Fatal(err)
	}
	used, _ := s.begin("secret", 2)
	for range 11 {
		now = now.Add(sessionIdle - time.Second)
		if !have(used) {
			t.Fatalf("a used session ended after %v", now)
		}
	}
	if have(idle) {
		t.Error("an idle session lasts")
	}
	now = now.Add(sessionIdle - time.Second)
	if now = now.Add(time.Minute); have(used) {
		t.Error("a session lasts for longer than a day's work")
	}
	if len(s.all) != 0 {
		t.Errorf("%d sessions are left", len(s.all))
	}
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSessions()
	var err error
	for i := range maxSessions + 5 {
		if _, err = s.begin("secret", uint64(i)); err != nil && i < maxSessions {
			t.Fatal(fmt.Errorf("session %d: %w", i, err))
		}
	}
	if err == nil || len(s.all) != maxSessions {
		t.Errorf("%d sessions, error %v", len(s.all), err)
	}
}
