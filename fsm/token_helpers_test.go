package fsm

import (
	"bytes"
	"crypto/sha256"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

const (
	unauthenticatedReason = commandv1.Refusal_REFUSAL_UNAUTHENTICATED
	unknownTokenReason    = commandv1.Refusal_REFUSAL_UNKNOWN_TOKEN
	tokenExistsReason     = commandv1.Refusal_REFUSAL_TOKEN_EXISTS
)

// createToken makes a token; its hash is made of the name's first byte.
func createToken(name string, scopes ...string) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_CreateToken{CreateToken: &commandv1.CreateToken{
		Name: name, Hash: bytes.Repeat([]byte(name[:1]), sha256.Size), Scopes: scopes,
	}}}
}

func updateToken(id, generation uint64, scopes ...string) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_UpdateToken{UpdateToken: &commandv1.UpdateToken{
		Id: id, Generation: generation, Scopes: scopes,
	}}}
}

func deleteToken(id uint64) *commandv1.Command {
	return &commandv1.Command{Body: &commandv1.Command_DeleteToken{DeleteToken: &commandv1.DeleteToken{Id: id}}}
}

// by makes a command one of the caller with a token, judged when the log was at an index; for the token 0, of an
// anonymous caller.
func by(token, judged uint64, cmd *commandv1.Command) *commandv1.Command {
	cmd.Actor = &commandv1.Actor{Kind: commandv1.ActorKind_ACTOR_KIND_TOKEN, Token: token, JudgedAt: judged}
	if token == 0 {
		cmd.Actor.Kind = commandv1.ActorKind_ACTOR_KIND_ANONYMOUS
	}
	return cmd
}

// token creates a token and returns its ID.
func (l *log) token(name string, scopes ...string) uint64 {
	l.t.Helper()
	return l.must(createToken(name, scopes...)).Token.ID
}

// sampleTokens returns a state with something of everything that tokens have.
func sampleTokens(t testing.TB) *State {
	t.Helper()
	l := newSequenceLog(t, plain("orders"))
	l.must(at(epoch, observe(false)))
	l.must(removeMember("node-1"))
	l.must(updateToken(0, 0, "metrics:read", "seq:read:*"))
	billing := at(epoch+5, createToken("billing", "seq:next:orders/*", "ids:issue:*"))
	billing.GetCreateToken().ExpiresAtMs, billing.GetCreateToken().Rate, billing.GetCreateToken().Burst = epoch+1_000_000, 100, 1000
	id := l.must(billing).Token.ID
	l.token("gone")
	l.must(deleteToken(l.index))
	l.token("console")
	less := updateToken(id, id, "seq:next:orders/*")
	less.GetUpdateToken().ExpiresAtMs, less.GetUpdateToken().Rate, less.GetUpdateToken().Burst = epoch+1_000_000, 100, 1000
	l.must(less)
	return l.State
}
