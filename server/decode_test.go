package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	granted    = snowraftv1.GrantState_GRANT_STATE_GRANTED
	notGranted = snowraftv1.GrantState_GRANT_STATE_NOT_GRANTED
	ungranted  = snowraftv1.GrantState_GRANT_STATE_UNKNOWN
)

func vouchers(name string) *snowraftv1.Sequence {
	return &snowraftv1.Sequence{Name: name, Format: "V-{code:base32:8}{check:crockford}"}
}

func (n *node) decode(name, text string) (*snowraftv1.DecodeTextResponse, error) {
	return n.sequences.DecodeText(n.t.Context(), &snowraftv1.DecodeTextRequest{Sequence: name, Text: text})
}

// nextText issues a number as text.
func (n *node) nextText(name string) string {
	n.t.Helper()
	resp, err := n.sequences.NextNumbers(n.t.Context(), &snowraftv1.NextNumbersRequest{Sequence: name, Count: 1})
	if err != nil {
		n.t.Fatal(err)
	}
	if resp.GetFormat() == "" {
		return fmt.Sprint(resp.GetFirst())
	}
	return resp.GetTexts()[0]
}

// Every member decodes the texts that any of them issued, by the leader.
func TestTextsDecodeAtAnyMember(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		nodes := startCluster(t, 3)
		nodes[0].untilNewest()
		for _, s := range []*snowraftv1.Sequence{
			vouchers("strict"), {Name: "plain", Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED}, lateInvoices("inv", snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT),
		} {
			nodes[0].createSequence(s)
			for i, n := range nodes {
				text := nodes[(i+1)%len(nodes)].nextText(s.GetName())
				got, err := n.decode(s.GetName(), text)
				want := &snowraftv1.DecodeTextResponse{
					Sequence: s.GetName(), Text: text, Number: got.GetNumber(), Format: s.GetFormat(), State: granted,
				}
				if s.GetName() == "inv" {
					want.Period = "2026-07-01"
				}
				if err != nil || !proto.Equal(got, want) || got.GetNumber() < 1 || got.GetNumber() > 1000 {
					t.Errorf("%s: %q decodes to %v, %v", s.GetName(), text, got, err)
				}
			}
		}
		text := nodes[0].nextText("strict")
		if status, body := nodes[2].ask("POST", "/v1/sequences:decode", `{"sequence":"strict","text":"`+text+`"}`); status != 200 || !strings.Contains(body, `"state":"granted"`) {
			t.Errorf("over HTTP %d %s", status, body)
		}
		if _, err := nodes[0].sequences.DeleteSequence(t.Context(), &snowraftv1.DeleteSequenceRequest{Name: "strict"}); err != nil {
			t.Fatal(err)
		}
		if got, err := nodes[1].decode("strict", text); err != nil || !got.GetDeleted() || got.GetState() != granted {
			t.Errorf("of the deleted sequence: %v, %v", got, err)
		}
		for want, err := range map[string]error{
			"found \"W-\", expected \"V-\"":             failureOf(nodes[1].decode("strict", "W-00000000*")),
			"the check digit":                           failureOf(nodes[1].decode("strict", text[:len(text)-1]+"%")),
			"is not a character of the code":            failureOf(nodes[1].decode("strict", "V-0000000!0")),
			"text of 0 bytes: expected 1 to 512":        failureOf(nodes[1].decode("strict", "")),
			"text of 513 bytes":                         failureOf(nodes[1].decode("strict", strings.Repeat("0", 513))),
			"its date is not from 1970 to today":        failureOf(nodes[1].decode("inv", "20260799-001")),
			"too short, expected one of the format \"V": failureOf(nodes[1].decode("strict", "V-")),
		} {
			if reason(err) != rpc.InvalidArgument || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		if _, err := nodes[1].decode("strikt", text); reason(err) != rpc.UnknownSequence {
			t.Errorf("of an unknown sequence: %v", err)
		}
	})
}

// The answer says whether the cluster granted the number, in the present period and in earlier ones.
func TestDecodedNumbersHaveTheirState(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		n := startCluster(t, 1)[0]
		untilObserved(t, []*node{n})
		n.untilNewest()
		state := func(name, text string, want snowraftv1.GrantState) {
			t.Helper()
			if got, err := n.decode(name, text); err != nil || got.GetState() != want {
				t.Errorf("%s: %q decodes to %v, %v, want %v", name, text, got, err, want)
			}
		}
		n.createSequence(vouchers("v"))
		n.createSequence(&snowraftv1.Sequence{Name: "undated", Reset_: snowraftv1.SequenceReset_SEQUENCE_RESET_DAILY})
		inv := lateInvoices("inv", snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT)
		inv.MinBlock, inv.MaxBlock = 1, 1
		n.createSequence(inv)
		state("inv", "20260701-001", notGranted)
		n.next("inv", 3)
		state("inv", "20260701-003", granted)
		state("inv", "20260701-900", notGranted)
		n.enterNextDay("inv")
		n.next("inv", 1)
		state("inv", "20260701-003", granted)
		state("inv", "20260701-900", notGranted)
		state("inv", "20260702-900", notGranted)
		state("inv", "20260630-001", ungranted)
		n.next("undated", 1)
		state("undated", "1", ungranted)
		n.createSequence(gapless("g"))
		n.reserve("g", "key")
		state("g", "INV-2026-001", granted)
		state("g", "INV-2026-002", notGranted)
		state("g", "INV-2025-001", ungranted)
	})
}

// No other right of a sequence includes seq:decode. Each call counts one number against the rate of its token, and has an audit
// line, which does not have the text.
func TestDecodingNeedsItsRight(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		s := startSecured(t, 1)
		n := s.nodes[0]
		admin := s.admin(n)
		n.untilNewest()
		if _, err := snowraftv1.NewSequenceServiceClient(admin).CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: vouchers("v")}); err != nil {
			t.Fatal(err)
		}
		token := func(name string, scopes ...string) context.Context {
			made, err := snowraftv1.NewTokenServiceClient(admin).CreateToken(t.Context(), &snowraftv1.CreateTokenRequest{Token: &snowraftv1.Token{Name: name, Scopes: scopes, Rate: 1, Burst: 3}})
			if err != nil {
				t.Fatal(err)
			}
			return as(t.Context(), made.GetText())
		}
		shop := token("shop", "seq:next:*", "seq:read:*", "seq:admin:*", "seq:decode:w*", "cluster:admin")
		issued, err := n.sequences.NextNumbers(shop, &snowraftv1.NextNumbersRequest{Sequence: "v", Count: 1})
		if err != nil {
			t.Fatal(err)
		}
		req := &snowraftv1.DecodeTextRequest{Sequence: "v", Text: issued.GetTexts()[0]}
		_, err = n.sequences.DecodeText(shop, req)
		wantReason(t, "DecodeText without the scope", err, rpc.PermissionDenied)
		_, err = n.sequences.DecodeText(t.Context(), req)
		wantReason(t, "DecodeText without a token", err, rpc.Unauthenticated)
		support := token("support", "seq:decode:v")
		for range 3 {
			if got, err := n.sequences.DecodeText(support, req); err != nil || got.GetNumber() != issued.GetFirst() {
				t.Errorf("DecodeText() = %v, %v", got, err)
			}
		}
		_, err = n.sequences.DecodeText(support, req)
		wantReason(t, "DecodeText beyond the rate", err, rpc.RateLimited)
		audit := s.log.String()
		if lines := strings.Count(audit, "SequenceService/DecodeText"); lines < 5 || strings.Contains(audit, req.GetText()) {
			t.Errorf("%d audit lines: %s", lines, audit)
		}
	})
}
