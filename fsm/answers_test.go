package fsm

import (
	"fmt"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// TestAnswersBelongToTokens: a caller that guesses the request ID of another application does not get the numbers of that
// request, and does not take the ID away. A request that names no caller is refused.
func TestAnswersBelongToTokens(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	billing, shop := l.token("billing"), l.token("shop")
	generation := l.seq("s").Generation
	ask := func(id uint64) BlockGrant {
		cmd := withID(allocate("s", generation, 1, 0), "order-1")
		if id != 0 {
			cmd = by(id, l.index, cmd)
		}
		return l.must(cmd).Block
	}
	for i, id := range []uint64{billing, shop, 0} {
		if b := ask(id); b.Repeated || b.First != int64(i)+1 {
			t.Errorf("token %d got %+v, want a number of its own", id, b)
		}
	}
	l.survives()
	for i, id := range []uint64{billing, shop, 0} {
		if b := ask(id); !b.Repeated || b.First != int64(i)+1 {
			t.Errorf("token %d got %+v, want %d again", id, b, i+1)
		}
	}
	for i, kind := range []commandv1.ActorKind{commandv1.ActorKind_ACTOR_KIND_ADMIN, commandv1.ActorKind_ACTOR_KIND_OPEN} {
		if b := l.must(asKind(kind, withID(allocate("s", generation, 1, 0), "order-1"))).Block; !b.Repeated || b.First != 3 {
			t.Errorf("caller %d without a token got %+v, want 3 again", i, b)
		}
	}
	for _, kind := range []commandv1.ActorKind{commandv1.ActorKind_ACTOR_KIND_UNSPECIFIED, commandv1.ActorKind_ACTOR_KIND_MEMBER} {
		l.refused(invalidArgument, asKind(kind, withID(allocate("s", generation, 1, 0), "order-1")))
	}
	l.refused(unauthenticatedReason, by(0, l.index, withID(allocate("s", generation, 1, 0), "order-1")))
	l.must(by(0, l.index, allocate("s", generation, 1, 0)))
	// A token that replaces another does not get the answers of the old one.
	l.must(deleteToken(shop))
	if b := ask(l.token("shop")); b.Repeated {
		t.Errorf("the new token got %+v of the deleted one", b)
	}
	l.survives()
}

// TestTokensLeaveRoomForAnswers: a token that keeps sending new request IDs is refused, and other tokens are not.
func TestTokensLeaveRoomForAnswers(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	l.must(at(epoch, observe(false)))
	const part = 3
	survives := func() {
		l.survives()
		l.answers.limit = part * tokenPart
	}
	survives()
	greedy, other := l.token("greedy"), l.token("other")
	generation, requests := l.seq("s").Generation, 0
	ask := func(id uint64) *commandv1.Command {
		requests++
		cmd := withID(allocate("s", generation, 1, 0), fmt.Sprint(requests))
		if id != 0 {
			cmd = by(id, l.index, cmd)
		}
		return cmd
	}
	first := ask(greedy)
	l.must(first)
	for i := range int64(part - 1) {
		l.must(at(epoch+(i+1)*1000, observe(false)))
		l.must(ask(greedy))
	}
	survives()
	refused := l.refused(overloaded, ask(greedy))
	if refused.RetryAtMillis != epoch+answerMillis+1 {
		t.Errorf("retry at %d", refused.RetryAtMillis-epoch)
	}
	if !l.must(first).Block.Repeated {
		t.Error("a token without room does not get its answers again")
	}
	l.must(by(greedy, l.index, allocate("s", generation, 1, 0)))
	for range part {
		l.must(ask(other))
	}
	for range part*tokenPart - 2*part {
		l.must(ask(0)) // without a token there is no part
	}
	l.refused(overloaded, ask(0))
	l.must(at(refused.RetryAtMillis-1, observe(false)))
	l.refused(overloaded, ask(greedy))
	l.must(at(refused.RetryAtMillis, observe(false)))
	l.must(ask(greedy))
	survives()
	l.refused(overloaded, ask(greedy))
	// The clock was incorrect. Answers from that time must not fill the table until the clock reaches their time.
	l.must(at(epoch+3*answerMillis, observe(false)))
	for range part {
		l.must(at(epoch+3*answerMillis, ask(greedy)))
	}
	l.refused(overloaded, ask(greedy))
	l.must(at(epoch, observe(true)))
	survives()
	for range part {
		l.must(ask(greedy))
	}
	survives()
	l.refused(overloaded, ask(greedy))
	l.must(at(l.observed+answerMillis, observe(false)))
	for range 100 {
		l.must(at(l.observed+answerMillis/part+1, observe(false)))
		l.must(ask(greedy))
		if own, kept := len(l.answers.own[greedy]), len(l.answers.kept()); own > kept || kept > part*tokenPart {
			t.Fatalf("%d answers, %d of them the token's", kept, own)
		}
	}
	l.must(at(l.observed+3*answerMillis, observe(false)))
	l.must(ask(0))
	if own, kept := len(l.answers.own), len(l.answers.kept()); own != 0 || kept != 1 {
		t.Errorf("%d answers, %d tokens with some", kept, own)
	}
}

// A request ID that was used again is remembered with its later answer, also when the earlier one is dropped after it, because an
// operator had moved the clock.
func TestReusedIDsKeepTheirLastAnswer(t *testing.T) {
	l := newSequenceLog(t, plain("s"))
	generation := l.index
	ask := func(level int64, id string) BlockGrant {
		t.Helper()
		now := epoch + level*(answerMillis/2+1)
		l.must(at(now, observe(true)))
		return l.must(at(now, withID(allocate("s", generation, 1, 0), id))).Block
	}
	ask(1, "first in the queue")
	ask(0, "again")
	last := ask(2, "again")
	ask(3, "another")
	if b := ask(3, "again"); last.Repeated || !b.Repeated || b.First != last.First {
		t.Errorf("%+v, want the answer %+v", b, last)
	}
	l.survives()
	if b := ask(3, "again"); !b.Repeated || b.First != last.First {
		t.Errorf("%+v after a restore, want the answer %+v", b, last)
	}
}
