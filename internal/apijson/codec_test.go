package apijson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/internal/apijson"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func TestMarshal(t *testing.T) {
	refusal, err := status.New(codes.Unavailable, "no\nleader").WithDetails(
		&errdetails.ErrorInfo{Reason: "SEQUENCE_MODE_STRICT", Domain: "snowraft"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(5e8)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    proto.Message
		want string
	}{
		{&snowraftv1.GetConfigRequest{}, `{}`},
		{&snowraftv1.GetLastResponse{Last: proto.Int64(-1 << 63)}, `{"last":"-9223372036854775808"}`},
		{
			&snowraftv1.Layout{Name: "a<b", Fields: []*snowraftv1.Field{
				{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 41}, {Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 22}, {Kind: 99},
			}},
			`{"name":"a<b","fields":[{"kind":"time","bits":41},{"kind":"sequence","bits":22},{"kind":99,"bits":0}],"unitMs":"0","epochAtMs":"0","datacenter":"0","spread":"0","exhaustsAtMs":"0","leaseOnly":false,"past":false}`,
		},
		{
			&snowraftv1.ListMembersResponse{Members: []*snowraftv1.Member{{Name: "MEMBER_ROLE_VOTER", Role: snowraftv1.MemberRole_MEMBER_ROLE_NONVOTER}, {}}},
			`{"members":[{"id":"","name":"MEMBER_ROLE_VOTER","raftAddress":"","gossipAddress":"","apiAddress":"","role":"nonvoter","leader":false,"alive":false,"clockOffsetMs":"0","version":"","secretFingerprints":[],"notAliveSinceAtMs":"0","fsmVersionSupported":0,"halted":false,"stalled":false,"httpAddress":""},` +
				`{"id":"","name":"","raftAddress":"","gossipAddress":"","apiAddress":"","role":"unspecified","leader":false,"alive":false,"clockOffsetMs":"0","version":"","secretFingerprints":[],"notAliveSinceAtMs":"0","fsmVersionSupported":0,"halted":false,"stalled":false,"httpAddress":""}]}`,
		},
		{
			refusal.Proto(),
			`{"code":14,"message":"no\nleader","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SEQUENCE_MODE_STRICT","domain":"snowraft","metadata":{}},` +
				`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.500s"}]}`,
		},
	} {
		for range 3 {
			if got, err := apijson.Marshal(c.m); err != nil || string(got) != c.want {
				t.Errorf("Marshal(%v) = %s, %v, want %s", c.m, got, err, c.want)
			}
		}
	}
	if got, err := apijson.Marshal(&snowraftv1.Layout{Name: "\xff"}); err == nil {
		t.Errorf("Marshal of a name that is not UTF-8 = %s, want an error", got)
	}
}

func TestUnmarshal(t *testing.T) {
	strict := &snowraftv1.UpdateSequenceRequest{
		Sequence:   &snowraftv1.Sequence{Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT, Max: proto.Int64(9)},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"time_zone"}},
	}
	for _, text := range []string{
		`{"sequence":{"mode":"strict","max":"9"},"updateMask":"timeZone"}`,
		" {\n\t\"sequence\" : {\"max\": 9 , \"mode\" : \"strict\"} , \"update_mask\" : \"timeZone\"}\r\n",
		`{"sequence":{"mode":"SEQUENCE_MODE_STRICT","max":"9"},"updateMask":"timeZone"}`,
		`{"sequence":{"mode":2,"max":"9"},"updateMask":"timeZone"}`,
		`{"sequence":{"mod\u0065":"\u0073trict","max":"9","reset":null},"updateMask":"timeZone"}`,
	} {
		var got snowraftv1.UpdateSequenceRequest
		if err := apijson.Unmarshal([]byte(text), &got); err != nil || !proto.Equal(&got, strict) {
			t.Errorf("Unmarshal(%s) = %v, %v, want %v", text, &got, err, strict)
		}
	}
	for _, c := range []struct{ text, want string }{
		{`{"sequence":{"mode":"fast"}}`, `mode "fast": expected one of relaxed, strict`},
		{`{"sequence":{"mode":"Strict"}}`, `mode "Strict": expected one of relaxed, strict`},
		{`{"sequence":{"mode":""}}`, `mode "": expected one of relaxed, strict`},
		{`{"sequence":{"reset":"strict"}}`, `reset "strict": expected one of none, daily, weekly, monthly, quarterly, yearly`},
		{`{"sequence":{"reset":"SEQUENCE_MODE_STRICT"}}`, `reset "SEQUENCE_MODE_STRICT": expected`},
		{`{"sequence":{"mode":true}}`, `mode`},
		{`{"sequence":{"mode":["strict"]}}`, `mode`},
		{`{"sequence":{"mode":"strict","mode":"strict"}}`, `duplicate field "mode"`},
		{`{"sequence":[{"mode":"strict"}]}`, `unexpected token`},
		{`{"sequence":{"mode":"strict","mood":"strict"}}`, `unknown field "mood"`},
		{`{"sequence":{"mode":"strict"}`, `unexpected end`},
		{`{"sequence":{"mode":"strict"}} {}`, `after top-level value`},
		{`{"sequence":"strict"}`, `unexpected token`},
		{`"strict"`, `unexpected token`},
		{`null`, `unexpected token`},
		{``, `unexpected end`},
	} {
		var got snowraftv1.UpdateSequenceRequest
		if err := apijson.Unmarshal([]byte(c.text), &got); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Unmarshal(%s) = %v, %v, want an error with %q", c.text, &got, err, c.want)
		}
	}
}

// Errors quote no long part of the input, in any field or form.
func TestErrorsQuoteNothingLong(t *testing.T) {
	long := strings.Repeat("se cr\\\"et", 9)
	for _, text := range []string{
		`{"sequence":{"mode":"` + long + `"}}`,
		`{"sequence":{"max":"` + long + `"}}`,
		`{"sequence":{"` + long + `":1}}`,
		`{"sequence":"` + long + `"}`,
		`{"updateMask":"` + long + `"}`,
		`{"force":"` + long + `"}`,
		`{"sequence":{"mode":"strict","mode":"` + long + `"}}`,
		`{"sequence":{"max":` + strings.Repeat("7", 100) + `}}`,
		`{"force":` + strings.Repeat("7", 100) + `}`,
		`"` + long + `"`,
		`{"a":"` + long + `"} {}`,
		`{"a":"` + long,
	} {
		err := apijson.Unmarshal([]byte(text), &snowraftv1.UpdateSequenceRequest{})
		if err == nil || len(err.Error()) > 160 || strings.Contains(err.Error(), "cr") || strings.Contains(err.Error(), "777") {
			t.Errorf("Unmarshal(%s) = %v", text, err)
		}
	}
}

// FuzzUnmarshal checks that JSON of the API is proto JSON except for the words. Unmarshal reads every input that protojson
// reads as the same message, and every message that Marshal writes.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{
		`{"sequence":{"name":"a","mode":"strict","reset":"daily","max":"9","next":null},"force":true}`,
		`{"sequence":{"mode":"SEQUENCE_MODE_STRICT","reset":4,"createdAtMs":1e3}}`,
		`{"layout":{"fields":[{"kind":"time","bits":41},{"kind":"x"},null,[],{"kind":{"kind":"time"}}]}}`,
		`{"config":{"rollback":"swap"},"lanes":[{"problem":"\"kind\":\"time\""}],"role":"voter"}`,
		`{"workers":[{"state":"held"}],"capacity":"18446744073709551615"}`,
		`[{"kind":"time"}]`, `{"fields":{"kind":"time"}}`, `{"sequence"`, "\xff", `{"a":1} {"b":2}`, "{\"mode\":\"stri\xffct\"}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range []proto.Message{
			&snowraftv1.CreateSequenceRequest{}, &snowraftv1.CreateLayoutRequest{}, &snowraftv1.GetStatusResponse{}, &snowraftv1.ListWorkersResponse{}, &snowraftv1.Sequence{},
		} {
			err := apijson.Unmarshal([]byte(text), m)
			standard := m.ProtoReflect().New().Interface()
			if protojson.Unmarshal([]byte(text), standard) == nil && (err != nil || !proto.Equal(m, standard)) {
				t.Fatalf("Unmarshal(%s) = %v, %v, but protojson reads %v", text, m, err, standard)
			}
			if err != nil {
				continue
			}
			line, err := apijson.Marshal(m)
			if err != nil || !json.Valid(line) || strings.Contains(string(line), "\n") {
				t.Fatalf("Marshal(%v) = %q, %v", m, line, err)
			}
			again := m.ProtoReflect().New().Interface()
			if err := apijson.Unmarshal(line, again); err != nil || !proto.Equal(m, again) {
				t.Fatalf("Unmarshal(%s) = %v, %v, want %v", line, again, err, m)
			}
		}
	})
}
