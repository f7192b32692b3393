package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/events"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/wire"
	"github.com/snowraft/snowraft/trust"
)

// eventsTimeout bounds the wait for the events of other members, because people wait for the page.
const eventsTimeout = time.Second

// ListEvents implements snowraftv1.ViewServiceServer. Requests to other members have the rights of the caller.
func (v views) ListEvents(ctx context.Context, req *snowraftv1.ListEventsRequest) (*snowraftv1.ListEventsResponse, error) {
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	after, err := parsePlace(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	kinds, err := parseKinds(req.GetKinds())
	if err != nil {
		return nil, err
	}
	resp := &snowraftv1.ListEventsResponse{}
	if self := v.Member.Node().ID(); isOneOf(req.GetMember(), v.Name, self) {
		resp.Events = v.ownEvents(trust.PrincipalOf(ctx), self, kinds)
	} else if _, err := v.Member.Node().Member(req.GetMember()); errors.Is(err, cluster.ErrUnknownMember) {
		return nil, err
	}
	if !req.GetLocal() && trust.RelayOf(ctx) == "" {
		others, unreached := v.eventsOfOthers(ctx, req, size)
		resp.Events, resp.UnreachedMembers = append(resp.Events, others...), unreached
	}
	slices.SortFunc(resp.Events, func(a, b *snowraftv1.Event) int { return placeOf(a).compare(placeOf(b)) })
	if after != nil {
		resp.Events = slices.DeleteFunc(resp.Events, func(e *snowraftv1.Event) bool { return placeOf(e).compare(*after) <= 0 })
	}
	if len(resp.Events) > size {
		resp.Events = resp.Events[:size]
		resp.NextPageToken = placeOf(resp.Events[size-1]).String()
	}
	return resp, nil
}

// parseKinds returns the kinds that words name.
func parseKinds(words []string) (kinds []snowraftv1.EventKind, err error) {
	all := apijson.Words[snowraftv1.EventKind]()
	if len(words) > len(all) {
		return nil, wire.Invalid(fmt.Sprintf("kinds: %d words; there are only %d kinds", len(words), len(all)))
	}
	for _, word := range words {
		kind, ok := apijson.Parse[snowraftv1.EventKind](word)
		if !ok || kind == 0 {
			return nil, wire.Invalid(fmt.Sprintf("kinds: unknown kind %.40q; expected one of %s", word, strings.Join(all, ", ")))
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// isOneOf reports whether asked is a member's name or ID, or is empty and so means all members.
func isOneOf(asked, name, id string) bool { return asked == "" || asked == name || asked == id }

// ownEvents returns the events of this member without the names of sequences that the caller may not see.
func (v views) ownEvents(caller *trust.Principal, self string, kinds []snowraftv1.EventKind) []*snowraftv1.Event {
	var all []*snowraftv1.Event
	for _, e := range v.Member.Events().List() {
		kind := eventKind(e.Kind)
		if len(kinds) > 0 && !slices.Contains(kinds, kind) {
			continue
		}
		if e.Named != "" && !caller.Sees(e.Named) {
			e.Text = strings.ReplaceAll(e.Text, " "+strconv.Quote(e.Named), "")
		}
		all = append(all, &snowraftv1.Event{
			AtMs: e.LastMillis, FirstAtMs: e.FirstMillis, Member: v.Name, MemberId: self, Kind: kind, Severity: eventSeverity(e.Level),
			Text: e.Text, Actor: e.Actor, Address: e.Address, Reason: e.Reason, Count: e.Count, Number: e.Sequence, Index: e.Index,
		})
	}
	return all
}

// eventsOfOthers requests the events of all other members in parallel. It returns the events, and the names of the members that
// failed, are not alive, or did not answer in time.
func (v views) eventsOfOthers(ctx context.Context, req *snowraftv1.ListEventsRequest, size int) (all []*snowraftv1.Event, unreached []string) {
	ctx, cancel := context.WithTimeout(ctx, eventsTimeout)
	defer cancel()
	ask := &snowraftv1.ListEventsRequest{Kinds: req.GetKinds(), Local: true, PageToken: req.GetPageToken(), PageSize: int32(min(size+1, 1000))} //nolint:gosec // small
	members := slices.DeleteFunc(v.Member.Node().Members(), func(m cluster.Member) bool { return !isOneOf(req.GetMember(), m.Name, m.ID) })
	var mu sync.Mutex // guards all
	unreached = v.callOthers(members, func(m cluster.Member) error {
		resp := new(snowraftv1.ListEventsResponse)
		err := v.Invoker.Invoke(ctx, m, snowraftv1.ViewService_ListEvents_FullMethodName, ask, resp)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, resp.GetEvents()...) // none after an error
		return err
	})
	return all, unreached
}

// place is the position of an event in a list of the events of all members.
type place struct {
	at     int64
	member string // ID
	number uint64
}

func placeOf(e *snowraftv1.Event) place { return place{e.GetAtMs(), e.GetMemberId(), e.GetNumber()} }

// compare orders places by time, newest first, then by member, and then by number.
func (p place) compare(other place) int {
	return cmp.Or(cmp.Compare(other.at, p.at), cmp.Compare(p.member, other.member), cmp.Compare(other.number, p.number))
}

// String returns the place as a token of a page.
func (p place) String() string { return fmt.Sprintf("%d~%d~%s", p.at, p.number, p.member) }

// parsePlace returns the place after which a page begins; nil for the first page.
func parsePlace(token string) (*place, error) {
	if token == "" {
		return nil, nil
	}
	if parts := strings.SplitN(token, "~", 3); len(parts) == 3 {
		at, err := strconv.ParseInt(parts[0], 10, 64)
		number, err2 := strconv.ParseUint(parts[1], 10, 64)
		if err == nil && err2 == nil {
			return &place{at, parts[2], number}, nil
		}
	}
	return nil, wire.Invalid("page_token: expected the next_page_token of an earlier answer")
}

// eventKind returns the API's kind for a kind of package events. Both have the same words.
func eventKind(k events.Kind) snowraftv1.EventKind {
	return snowraftv1.EventKind(snowraftv1.EventKind_value["EVENT_KIND_"+strings.ToUpper(string(k))])
}

func eventSeverity(l slog.Level) snowraftv1.EventSeverity {
	switch {
	case l >= slog.LevelError:
		return snowraftv1.EventSeverity_EVENT_SEVERITY_ERROR
	case l >= slog.LevelWarn:
		return snowraftv1.EventSeverity_EVENT_SEVERITY_WARNING
	default:
		return snowraftv1.EventSeverity_EVENT_SEVERITY_INFO
	}
}
