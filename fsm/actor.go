package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// checkActor refuses a command whose actor may have lost a right after it was judged: its token was deleted or disabled,
// has expired, or lost a scope. Anonymous callers can lose scopes too. So no request of a token commits after the
// token's revocation. Members, holders of the secret and callers in an open cluster have no rights to lose.
func (s *State) checkActor(a *commandv1.Actor) *Refused {
	switch a.GetKind() {
	case commandv1.ActorKind_ACTOR_KIND_TOKEN:
		if a.GetToken() == 0 {
			return invalid("actor: a token must have an ID")
		}
	case commandv1.ActorKind_ACTOR_KIND_ANONYMOUS:
		if a.GetToken() != 0 {
			return invalid("actor: anonymous callers have no token")
		}
	default:
		return nil
	}
	r, _, ok := s.tokens.find(a.GetToken())
	switch {
	case !ok:
		return unauthenticated("token %d does not exist; use another token", a.GetToken())
	case r.Disabled:
		return unauthenticated("token %d was disabled by a restore; enable it with \"snowraft token update\"", r.ID)
	case r.ExpiresAtMillis != 0 && s.observed >= r.ExpiresAtMillis:
		return unauthenticated("token %d expired %d ms ago; use another token", r.ID, minus(s.observed, r.ExpiresAtMillis))
	case a.GetJudgedAt() < r.narrowed:
		return unauthenticated("scopes of token %d were removed during the call; send the request again", r.ID)
	}
	return nil
}

// wantOf returns what an acquisition requests. Members may get any worker. So may every caller in a cluster without a secret,
// because members cannot be distinguished from other callers there.
func (s *State) wantOf(e entry, l *layout) (a want, refused *Refused) {
	c, actor := e.cmd.GetAcquireWorker(), e.cmd.GetActor()
	a = want{holding: s.holdingOf(actor, c.GetHolder()), end: l.workers.common, part: l.workers.part(s.Config())}
	switch actor.GetKind() {
	case commandv1.ActorKind_ACTOR_KIND_TOKEN:
	case commandv1.ActorKind_ACTOR_KIND_ANONYMOUS:
		return want{}, unauthenticated("a worker needs a holder that has a token; send one")
	case commandv1.ActorKind_ACTOR_KIND_ADMIN:
	default:
		a.end = l.workers.size
	}
	if below := c.GetBelow(); below != 0 {
		a.end = min(a.end, below)
	}
	return a, nil
}

// holdingOf returns the identity of a holder that was checked before, with the name of its token in front.
func (s *State) holdingOf(actor *commandv1.Actor, holder string) holding {
	if actor.GetKind() != commandv1.ActorKind_ACTOR_KIND_TOKEN {
		return holding{0, holder}
	}
	r, _, _ := s.tokens.find(actor.GetToken())
	return holding{r.ID, r.Name + "/" + holder}
}

// askerOf returns the owner of the answers to requests with an ID: the ID of an API token, 0 for a holder of the secret and in an
// open cluster. It refuses anonymous callers: they cannot be distinguished, so each could fetch the numbers of another. It also
// refuses a command without a caller: the answer would be for every caller.
func askerOf(a *commandv1.Actor) (owner uint64, refused *Refused) {
	switch a.GetKind() {
	case commandv1.ActorKind_ACTOR_KIND_TOKEN:
		return a.GetToken(), nil
	case commandv1.ActorKind_ACTOR_KIND_ANONYMOUS:
		return 0, unauthenticated("a request with an ID needs a caller that has a token; send one, or leave the ID out")
	case commandv1.ActorKind_ACTOR_KIND_ADMIN, commandv1.ActorKind_ACTOR_KIND_OPEN:
		return 0, nil
	default:
		return 0, invalid("a request with an ID needs a caller, and the command names none")
	}
}

func unauthenticated(format string, args ...any) *Refused {
	return refuse(commandv1.Refusal_REFUSAL_UNAUTHENTICATED, format, args...)
}
