package console_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/internal/test/bubble"
	"github.com/snowraft/snowraft/trust"
)

// shows requests a page like its script until it contains a text.
func (r *rig) shows(path, text string, headers ...string) {
	r.t.Helper()
	var page string
	for began := time.Now(); time.Since(began) < 10*time.Second; <-time.After(20 * time.Millisecond) {
		if page = r.visit("GET", path, "", headers...).Body.String(); strings.Contains(page, text) {
			return
		}
	}
	r.t.Fatalf("%s never shows %q, but:\n%s", path, text, page)
}

func TestPagesFollowTheCluster(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.shows("/", "3 of 3 members are issuing")
		o := healthy()
		o.Verdict.Sentence = "2 of 3 members are issuing IDs."
		r.cluster.set(o, nil)
		r.shows("/", "2 of 3 members are issuing")
		r.cluster.set(nil, nil) // an answer without an overview
		r.shows("/", "The overview is empty.")
		r.cluster.set(nil, rpc.NewError(rpc.NoLeader, "no member answers this gateway"))
		r.shows("/", "No member answers this gateway.")
		r.cluster.set(healthy(), nil)
		r.shows("/", "3 of 3 members are issuing")
		r.cluster.fail(rpc.NewError(rpc.NoLeader, "no leader"))
		r.shows("/console/sequences", "No leader.")
		r.cluster.fail(nil)
		r.shows("/console/sequences", `id="sequences-list" data-live`)
	})
}

// The script requests an open page again, without a query that only selects what never changes.
func TestPagesNameTheirNextRequest(t *testing.T) {
	t.Parallel()
	r, _, reader, issuer := secured(t)
	rights := "Authorization: Bearer " + reader
	for path, want := range map[string]string{
		"/":                             `data-again="./" data-every="400"`,
		"/console/events?kind=election": `data-again="../console/events?kind=election" data-every="1000"`,
		"/console/id?encoding=hex":      `data-again="../console/id" data-every="400"`,
		"/console/runbook":              "!data-again",
	} {
		r.wants(r.ask("GET", path, "", rights).Body.String(), want)
	}
	r.wants(r.ask("GET", "/", "", "Authorization: Bearer "+issuer).Body.String(), "!data-again", "!data-live")
}

func TestPagesFollowTheRightsOfTheirViewer(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r, tokens, reader, issuer := secured(t)
		c := with(signIn(t, r, reader))
		r.shows("/", "3 of 3", c)
		tokens.change(1, nil)
		r.wants(r.visit("GET", "/", "", c).Body.String(), "Sign in to see this page", "!3 of 3")
		record, _ := tokens.Token(2)
		reads := *record
		reads.Scopes = []trust.Scope{trust.RightReadCluster}
		tokens.change(2, &reads)
		c = with(signIn(t, r, issuer))
		r.shows("/", "3 of 3", c)
		tokens.change(2, record)
		r.wants(r.visit("GET", "/", "", c).Body.String(), "Your token does not show this page", "!3 of 3")
		r.ask("POST", "/console/session", form("out", "1"), c)
		r.wants(r.visit("GET", "/", "", c).Body.String(), "Sign in to see this page", "!3 of 3")
	})
}

// Viewers with the same rights share the requests of the process, which end after the last viewer has left.
func TestViewersShareAWatch(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t)
		for range 20 {
			r.shows("/", "3 of 3")
			r.shows("/console/events", "3 of 3")
			<-time.After(400 * time.Millisecond)
		}
		if n := r.cluster.calls(); n != 1 {
			t.Errorf("%d watches for viewers with the same rights, want 1", n)
		}
		for began := time.Now(); r.cluster.watching() > 0; <-time.After(100 * time.Millisecond) {
			if time.Since(began) > 5*time.Second {
				t.Fatal("the watch stays without viewers")
			}
		}
		r.shows("/", "3 of 3")
		r.console.Close()
		for r.cluster.watching() > 0 {
			<-time.After(100 * time.Millisecond)
		}
	})
}

// Viewers with the same rights share a list.
func TestViewersShareAList(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cluster.hold(time.Second)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if w := r.visit("GET", "/console/events", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "c leads in term 4") {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			})
		}
		all.Wait()
		r.cluster.mu.Lock()
		defer r.cluster.mu.Unlock()
		if r.cluster.listed != 1 {
			t.Errorf("the list of 10 viewers was loaded %d times", r.cluster.listed)
		}
	})
}

// Viewers with different rights never share a page, however soon one comes after the other.
func TestViewersWithOtherRightsShareNothing(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r, tokens, reader, other := secured(t)
		record, _ := tokens.Token(2)
		changed := *record
		changed.Scopes = []trust.Scope{trust.RightReadCluster, trust.RightReadSequence + ":*"}
		tokens.change(2, &changed)
		for range 2 {
			r.wants(r.visit("GET", "/console/sequences", "", "Authorization: Bearer "+other).Body.String(), "sequences-list", "o&#39;r&lt;b&gt;ders")
			r.wants(r.visit("GET", "/console/sequences", "", "Authorization: Bearer "+reader).Body.String(), "seq:read", "!sequences-list", "!ders")
		}
	})
}
