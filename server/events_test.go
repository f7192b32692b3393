package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func (n *node) events(req *snowraftv1.ListEventsRequest) *snowraftv1.ListEventsResponse {
	n.t.Helper()
	resp, err := n.views().ListEvents(n.t.Context(), req)
	if err != nil {
		n.t.Fatal(err)
	}
	return resp
}

// reachedEvents lists events with the answers of all members, which have a second each.
func (n *node) reachedEvents(req *snowraftv1.ListEventsRequest) (resp *snowraftv1.ListEventsResponse) {
	n.t.Helper()
	until(n.t, "all members answer with their events", func() bool {
		resp = n.events(req)
		return len(resp.GetUnreachedMembers()) == 0
	})
	return resp
}

// has reports whether a member has noted an event of a kind with a text.
func has(resp *snowraftv1.ListEventsResponse, member string, kind snowraftv1.EventKind, text string) bool {
	return slices.ContainsFunc(resp.GetEvents(), func(e *snowraftv1.Event) bool {
		return e.GetMember() == member && e.GetKind() == kind && strings.Contains(e.GetText(), text)
	})
}

// TestEventsOfAllMembers follows a failover in the events of the remaining members.
func TestEventsOfAllMembers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		lead := leader(t, nodes)
		rest := except(nodes, lead)
		asked, other := rest[0], rest[1]
		if _, err := asked.sequences.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "orders"}}); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			_, _ = other.sequences.GetSequence(t.Context(), &snowraftv1.GetSequenceRequest{Name: "none"})
		}
		all := asked.reachedEvents(&snowraftv1.ListEventsRequest{PageSize: 1000})
		for _, want := range []struct {
			member, text string
			kind         snowraftv1.EventKind
		}{
			{lead.cfg.Name, "was elected leader in term", snowraftv1.EventKind_EVENT_KIND_ELECTION},
			{asked.cfg.Name, "create sequence \"orders\"", snowraftv1.EventKind_EVENT_KIND_ADMINISTRATION},
			{other.cfg.Name, "requests failed: UNKNOWN_SEQUENCE", snowraftv1.EventKind_EVENT_KIND_REFUSAL},
			{other.cfg.Name, "acquired with fencing token", snowraftv1.EventKind_EVENT_KIND_WINDOW},
			{lead.cfg.Name, "started, version test", snowraftv1.EventKind_EVENT_KIND_PROCESS},
		} {
			if !has(all, want.member, want.kind, want.text) {
				t.Errorf("%s has no event %q in %v", want.member, want.text, all)
			}
		}
		if has(all, lead.cfg.Name, snowraftv1.EventKind_EVENT_KIND_ADMINISTRATION, "create sequence \"orders\"") {
			t.Errorf("all events: %v", all)
		}
		for _, e := range all.GetEvents() {
			if e.GetReason() == "UNKNOWN_SEQUENCE" && e.GetMember() == other.cfg.Name && e.GetCount() != 5 {
				t.Errorf("five refusals: %v", e)
			}
			if age := time.Since(time.UnixMilli(e.GetAtMs())); age < -time.Second || age > time.Minute || e.GetMemberId() == "" || e.GetSeverity() == 0 || e.GetKind() == 0 {
				t.Errorf("event %v", e)
			}
		}
		if !slices.IsSortedFunc(all.GetEvents(), func(a, b *snowraftv1.Event) int { return int(b.GetAtMs() - a.GetAtMs()) }) {
			t.Error("the events are not in order")
		}
		checkPagesOfEvents(t, asked)

		if _, err := asked.views().ListEvents(t.Context(), &snowraftv1.ListEventsRequest{Kinds: []string{"elections"}}); reason(err) != "INVALID_ARGUMENT" {
			t.Errorf("an unknown kind: %v", err)
		}
		kinds := []string{"election", "membership"}
		until(t, "both survivors have seen the members", func() bool { // otherwise they do not notice the loss
			now := asked.events(&snowraftv1.ListEventsRequest{Kinds: kinds})
			return !slices.ContainsFunc(rest, func(n *node) bool {
				return !has(now, n.cfg.Name, snowraftv1.EventKind_EVENT_KIND_ELECTION, lead.cfg.Name+" leads in term")
			})
		})
		lead.crash()
		until(t, "both survivors have the events", func() bool {
			now := asked.events(&snowraftv1.ListEventsRequest{Kinds: kinds})
			elected := 0
			for _, n := range rest {
				if !has(now, n.cfg.Name, snowraftv1.EventKind_EVENT_KIND_MEMBERSHIP, lead.cfg.Name+" is unreachable") {
					return false
				}
				if has(now, n.cfg.Name, snowraftv1.EventKind_EVENT_KIND_ELECTION, fmt.Sprintf("%s was elected leader", n.cfg.Name)) {
					elected++
				}
			}
			return elected > 0 && slices.Equal(now.GetUnreachedMembers(), []string{lead.cfg.Name})
		})
		if _, err := asked.views().ListEvents(t.Context(), &snowraftv1.ListEventsRequest{Member: "typo"}); reason(err) != rpc.UnknownMember {
			t.Errorf("events of an unknown member: %v", err)
		}
		own := asked.events(&snowraftv1.ListEventsRequest{Local: true})
		named := asked.reachedEvents(&snowraftv1.ListEventsRequest{Member: other.cfg.Name, Kinds: kinds})
		if len(own.GetUnreachedMembers()) > 0 || slices.ContainsFunc(own.GetEvents(), func(e *snowraftv1.Event) bool { return e.GetMember() != asked.cfg.Name }) {
			t.Errorf("local events: %v", own)
		}
		if len(named.GetEvents()) == 0 || slices.ContainsFunc(named.GetEvents(), func(e *snowraftv1.Event) bool {
			return e.GetMember() != other.cfg.Name || !slices.Contains(kinds, apijson.Word(e.GetKind()))
		}) {
			t.Errorf("events of %s: %v", other.cfg.Name, named)
		}
	})
}

// checkPagesOfEvents reads the events page by page, and checks that no event comes twice.
func checkPagesOfEvents(t *testing.T, n *node) {
	t.Helper()
	type id struct {
		member string
		number uint64
	}
	seen, pages := make(map[id]bool), 0
	for req := (&snowraftv1.ListEventsRequest{PageSize: 3, Kinds: []string{"process", "window"}}); ; pages++ {
		resp := n.reachedEvents(req)
		for _, e := range resp.GetEvents() {
			if k := (id{e.GetMemberId(), e.GetNumber()}); seen[k] {
				t.Errorf("twice: %v", e)
			} else {
				seen[k] = true
			}
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if len(seen) < 6 || pages < 1 {
		t.Errorf("%d events on %d pages", len(seen), pages+1)
	}
	for _, token := range []string{"x", "1~2", "a~1~b", "1~-1~b"} {
		if _, err := n.views().ListEvents(t.Context(), &snowraftv1.ListEventsRequest{PageToken: token}); reason(err) != "INVALID_ARGUMENT" {
			t.Errorf("page token %q: %v", token, err)
		}
	}
}
