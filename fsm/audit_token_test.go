package fsm

import (
	"slices"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// auditToken is the audit's record of a token.
type auditToken struct {
	name     string
	changed  uint64
	narrowed uint64
	scopes   []string
	expires  int64
	rate     uint64
	burst    uint64
	limit    uint64
}

// checkActor reports whether a command must be refused because its actor lost the rights that it was judged by.
func (a *audit) checkActor(cmd *commandv1.Command, observed int64, r Result) (done bool, err error) {
	actor, block := cmd.GetActor(), cmd.GetAllocateBlock()
	if actor == nil && len(block.GetRequestId()) > 0 && a.sequences[block.GetName()].live {
		if reason := reasonOf(r); reason != invalidArgument {
			return true, violated("rules", "a request with an ID of no caller: %v, %+v", reason, r.Block)
		}
		return true, nil
	}
	if actor.GetKind() != commandv1.ActorKind_ACTOR_KIND_TOKEN {
		return false, nil
	}
	token := a.tokens[actor.GetToken()]
	lost := token == nil || token.expires != 0 && token.expires <= observed || token.narrowed > actor.GetJudgedAt()
	if lost != (reasonOf(r) == unauthenticatedReason) {
		return true, violated("revoked", "%v of a token that is %+v returned %v", cmd, token, r.Err)
	}
	return lost, nil
}

// checkTokens is check for the commands of tokens, which nothing but an outdated generation refuses.
func (a *audit) checkTokens(index uint64, cmd *commandv1.Command, r Result) (mine bool, err error) {
	want := commandv1.Refusal(0)
	switch body := cmd.GetBody().(type) {
	case *commandv1.Command_CreateToken:
		c := body.CreateToken
		for id, t := range a.tokens {
			if t.name == c.GetName() { // again: all have the same secret
				if r.Err != nil || r.Token.ID != id {
					return true, violated("rules", "%v again returned %+v, %v", c, r.Token, r.Err)
				}
				return true, nil
			}
		}
		a.tokens[index] = &auditToken{c.GetName(), index, index, c.GetScopes(), c.GetExpiresAtMs(), c.GetRate(), c.GetBurst(), c.GetSequences()}
	case *commandv1.Command_UpdateToken:
		c := body.UpdateToken
		switch t := a.tokens[c.GetId()]; {
		case t == nil:
			want = unknownTokenReason
		case t.changed != c.GetGeneration():
			want = mismatchedGen
		default:
			for _, s := range t.scopes {
				if !slices.Contains(c.GetScopes(), s) {
					t.narrowed = index
				}
			}
			t.changed, t.scopes, t.expires, t.rate, t.burst = index, c.GetScopes(), c.GetExpiresAtMs(), c.GetRate(), c.GetBurst()
			t.limit = c.GetSequences()
		}
	case *commandv1.Command_DeleteToken:
		c := body.DeleteToken
		switch t := a.tokens[c.GetId()]; {
		case t == nil:
			want = unknownTokenReason
		case c.GetGeneration() != 0 && t.changed != c.GetGeneration():
			want = mismatchedGen
		default:
			delete(a.tokens, c.GetId())
		}
	default:
		return false, nil
	}
	if got := reasonOf(r); got != want {
		return true, violated("rules", "%v returned %v, want %v", cmd, r.Err, want)
	}
	return true, nil
}

// compareTokens compares a replica's tokens with the audit's.
func (a *audit) compareTokens(s *State) error {
	for _, r := range s.Tokens(0, maxTokens) {
		t := a.tokens[r.ID]
		if t == nil || t.name != r.Name || t.changed != r.Generation || t.expires != r.ExpiresAtMillis ||
			t.rate != r.Rate || t.burst != r.Burst || t.limit != r.Sequences || !slices.Equal(t.scopes, r.Scopes) {
			return violated("token", "%+v, want %+v", r, t)
		}
	}
	if n := len(s.Tokens(0, maxTokens)); n != len(a.tokens) {
		return violated("token", "%d of them, want %d", n, len(a.tokens))
	}
	return nil
}
