package member

import (
	"context"
	"errors"
	"fmt"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"github.com/snowraft/snowraft/trust"
)

// Actor is the principal whose request a call carries out.
type Actor struct {
	Kind  commandv1.ActorKind
	Token uint64 // ID of the API token; 0 for every other kind
	Name  string // ID of the member; empty for every other kind
	// JudgedAt is a log index that this replica had applied before the actor was judged by the tokens; see
	// [fsm.Machine.Applied]. Required for callers with a token and for anonymous callers.
	JudgedAt uint64
	Claimed  bool // a member that nothing proves; its commands about other things than workers and blocks name an unknown caller
}

type actorKey struct{}

// WithActor returns a context whose calls are made for an actor. Without one, this member acts for itself.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, &a)
}

// Acting returns a context whose proposals have the caller of a call as their actor, if the call was admitted with a right. Besides
// [WithActor], no other function names actors. The state machine judges the actor again, by all changes since the index in the actor,
// so it misses no revocation.
func (m *Member) Acting(ctx context.Context, right string) (context.Context, error) {
	admission := trust.AdmissionOf(ctx)
	p := admission.Principal()
	if p == nil || admission.Right() != right {
		return ctx, fmt.Errorf("nothing has admitted a call with the right %s", right)
	}
	judgedAt := m.fsm.Applied() // before the rights are read
	if err := admission.Still(); err != nil {
		return ctx, err
	}
	actor := Actor{Kind: commandv1.ActorKind_ACTOR_KIND_ADMIN}
	switch {
	case p.IsOpen():
		actor = Actor{Kind: commandv1.ActorKind_ACTOR_KIND_OPEN}
	case p.IsMember():
		actor = Actor{Kind: commandv1.ActorKind_ACTOR_KIND_MEMBER, Name: p.MemberID(), Claimed: !p.IsProven()}
	case p.IsAnonymous():
		actor = Actor{Kind: commandv1.ActorKind_ACTOR_KIND_ANONYMOUS, JudgedAt: judgedAt}
	case p.TokenID() != 0:
		actor = Actor{Kind: commandv1.ActorKind_ACTOR_KIND_TOKEN, Token: p.TokenID(), JudgedAt: judgedAt}
	}
	return WithActor(ctx, actor), nil
}

// errNoActor reports a call that reached the log without the judgment of its caller, which is a bug.
var errNoActor = errors.New("the command has a caller, and no actor")

// actorOf returns the actor of a command; nil for this member itself. Commands of members about workers and blocks have no
// actor: they are many, and a member has no rights to lose. A caller's call without an actor is refused: as the member's
// own, it would have an effect even after a revocation of the caller's token.
func actorOf(ctx context.Context, cmd *commandv1.Command) (*commandv1.Actor, error) {
	a, ok := ctx.Value(actorKey{}).(*Actor)
	if !ok {
		if p := trust.PrincipalOf(ctx); p != nil && !p.IsMember() {
			return nil, errNoActor
		}
		return nil, nil
	}
	if a.Kind == commandv1.ActorKind_ACTOR_KIND_MEMBER {
		switch cmd.GetBody().(type) {
		case *commandv1.Command_AcquireWorker, *commandv1.Command_ExtendWindow, *commandv1.Command_ReleaseWorker,
			*commandv1.Command_AllocateBlock, *commandv1.Command_ReturnBlock:
			return nil, nil
		}
		if a.Claimed {
			return &commandv1.Actor{Kind: commandv1.ActorKind_ACTOR_KIND_OPEN}, nil
		}
	}
	return &commandv1.Actor{Kind: a.Kind, Token: a.Token, Name: a.Name, JudgedAt: a.JudgedAt}, nil
}
