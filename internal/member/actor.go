package member

import (
	"context"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// Actor is the principal whose request a call carries out.
type Actor struct {
	Kind  commandv1.ActorKind
	Token uint64 // ID of the API token; 0 for every other kind
	Name  string // ID of the member; empty for every other kind
	// JudgedAt is a log index that this replica had applied before the actor was judged by the tokens; see
	// [fsm.Machine.Applied]. Required for callers with a token and for anonymous callers.
	JudgedAt uint64
}

type actorKey struct{}

// WithActor returns a context whose calls are made for an actor. Without one, this member acts for itself.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, &a)
}

// actorOf returns the actor of a command; nil for this member itself. Commands of members about workers and blocks have no
// actor: they are many, and a member has no rights to lose.
func actorOf(ctx context.Context, cmd *commandv1.Command) *commandv1.Actor {
	a, ok := ctx.Value(actorKey{}).(*Actor)
	if !ok {
		return nil
	}
	if a.Kind == commandv1.ActorKind_ACTOR_KIND_MEMBER {
		switch cmd.GetBody().(type) {
		case *commandv1.Command_AcquireWorker, *commandv1.Command_ExtendWindow, *commandv1.Command_ReleaseWorker,
			*commandv1.Command_AllocateBlock, *commandv1.Command_ReturnBlock:
			return nil
		}
	}
	return &commandv1.Actor{Kind: a.Kind, Token: a.Token, Name: a.Name, JudgedAt: a.JudgedAt}
}
