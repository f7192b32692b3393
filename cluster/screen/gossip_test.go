package screen_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/snowraft/snowraft/cluster/screen"
)

const label = "snowraft/1"

type fields = map[string]any

// packed returns a value in the encoding of memberlist and raft.
func packed(v any) []byte {
	var b bytes.Buffer
	if err := codec.NewEncoder(&b, &codec.MsgpackHandle{}).Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func said(kind byte, values ...any) []byte {
	b := []byte{kind}
	for _, v := range values {
		b = append(b, packed(v)...)
	}
	return b
}

func labeled(b []byte) []byte { return append(screen.LabelHead(label), b...) }

func checked(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{12}, crc32.ChecksumIEEE(b)), b...)
}

func compound(parts ...[]byte) []byte {
	b := []byte{7, byte(len(parts))}
	for _, p := range parts {
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
	}
	return append(b, bytes.Join(parts, nil)...)
}

type node struct {
	Name        string
	Addr        []byte
	Port        uint16
	Meta        []byte
	Incarnation uint32
	State       int
	Vsn         []byte
}

func someNode() node {
	return node{Name: "a/1", Addr: []byte{127, 0, 0, 1}, Port: 7703, Meta: []byte("{}"), Incarnation: 1 << 31, Vsn: []byte{1, 5, 2, 0, 0, 0}}
}

func exchange(announced int, nodes ...any) []byte {
	return said(6, append([]any{fields{"Nodes": announced, "UserStateLen": 0, "Join": true}}, nodes...)...)
}

func ping() []byte {
	return said(0, fields{"SeqNo": 1, "Node": "a/1", "SourceAddr": []byte{127, 0, 0, 1}, "SourcePort": 7703, "SourceNode": "b/1"})
}

func alive(versions int) []byte {
	return said(4, fields{"Incarnation": 1, "Node": "a/1", "Addr": make([]byte, 16), "Port": 1, "Meta": nil, "Vsn": make([]byte, versions)})
}

// nested returns nested lists.
func nested(depth int) []byte { return bytes.Repeat([]byte{0x91}, depth) }

func TestPackets(t *testing.T) {
	t.Parallel()
	question := append([]byte{8}, "q12345678"...)
	for name, c := range map[string]struct {
		raw    []byte
		passes bool
	}{
		"ping":                    {ping(), true},
		"ping with CRC":           {checked(ping()), true},
		"ping of a newer version": {said(0, fields{"SeqNo": 1, "Node": "a/1", "Hops": 3}), true},
		"indirect ping":           {said(1, fields{"SeqNo": 1, "Target": []byte{127, 0, 0, 1}, "Port": 7, "Node": "a/1", "Nack": true}), true},
		"ack":                     {said(2, fields{"SeqNo": 1, "Payload": make([]byte, 28)}), true},
		"nack":                    {said(11, fields{"SeqNo": 1}), true},
		"suspect":                 {said(3, fields{"Incarnation": 1, "Node": "a/1", "From": "b/1"}), true},
		"alive":                   {alive(6), true},
		"dead":                    {said(5, fields{"Incarnation": 1, "Node": "a/1", "From": "b/1"}), true},
		"user message":            {question, true},
		"compound":                {compound(ping(), alive(6), alive(6)), true},
		"compound with CRC":       {checked(compound(ping(), alive(6))), true},

		"two pings":                 {compound(ping(), alive(6), ping()), false},
		"a ping and a question":     {compound(ping(), question), false},
		"two questions":             {checked(compound(question, question)), false},
		"nothing":                   {nil, false},
		"wrong CRC":                 {append([]byte{12, 1, 2, 3, 4}, ping()...), false},
		"CRC in CRC":                {checked(checked(ping())), false},
		"compressed":                {said(9, fields{"Algo": 0, "Buf": []byte("x")}), false},
		"compressed in compound":    {compound(ping(), said(9, fields{"Algo": 0, "Buf": []byte("x")})), false},
		"compressed with CRC":       {checked(said(9, fields{"Algo": 0, "Buf": []byte("x")})), false},
		"compound in compound":      {compound(compound(ping())), false},
		"compound of nothing":       {[]byte{7}, false},
		"cut compound":              {compound(ping(), ping())[:40], false},
		"encrypted":                 {[]byte{10, 0, 0, 0, 1, 0}, false},
		"exchange of states":        {exchange(0), false},
		"alive with short versions": {alive(5), false},
		"alive without versions":    {said(4, fields{"Incarnation": 1, "Node": "a/1"}), false},
		"address to look up":        {said(0, fields{"SeqNo": 1, "SourceAddr": make([]byte, 5), "SourcePort": 1}), false},
		"number out of range":       {said(0, fields{"SeqNo": uint64(1) << 32}), false},
		"negative number":           {said(0, fields{"SeqNo": -1}), false},
		"struct as list":            {said(0, []any{1, "a/1"}), false},
		"nested lists":              {append([]byte{0, 0x81, 0xa1, 'x'}, nested(1000)...), false},
		"nested value":              {append([]byte{0}, nested(1000)...), false},
		"long text without end":     {append([]byte{0, 0x81, 0xa4}, "Node\xdb\x7f\xff\xff\xff"...), false},
		"too large":                 {append([]byte{8}, make([]byte, 2048)...), false},
	} {
		raw := labeled(c.raw)
		got, err := screen.Packet(raw, label)
		if (err == nil) != c.passes {
			t.Errorf("%s: Packet() = %v", name, err)
		}
		want := raw
		if len(c.raw) > 5 && c.raw[0] == 12 {
			want = labeled(c.raw[5:])
		}
		want = bytes.ReplaceAll(want, []byte("SourceAddr"), []byte("hiddenAddr"))
		if err == nil && (!bytes.Equal(got, want) || cap(got) > 2*len(raw)+16) {
			t.Errorf("%s: Packet() = %q in %d bytes, want %q", name, got, cap(got), want)
		}
	}
	for _, raw := range [][]byte{ping(), {}, {244}, {244, 3}, append([]byte{244, 3}, "foo"...)} {
		if _, err := screen.Packet(raw, label); !errors.Is(err, screen.ErrRefused) {
			t.Errorf("Packet(%q) = %v without the label", raw, err)
		}
	}
}

func TestIndirectPingsAreCounted(t *testing.T) {
	t.Parallel()
	indirect := said(1, fields{"SeqNo": 1, "Target": []byte{127, 0, 0, 1}, "Port": 7, "Node": "a/1"})
	for name, c := range map[string]struct {
		raw  []byte
		want int
	}{
		"one":          {indirect, 1},
		"with CRC":     {checked(indirect), 1},
		"compound":     {compound(alive(6), indirect), 1},
		"compound CRC": {checked(compound(indirect, alive(6))), 1},
		"other":        {ping(), 0},
		"others":       {checked(compound(ping(), alive(6))), 0},
	} {
		raw, err := screen.Packet(labeled(c.raw), label)
		if err != nil {
			t.Fatal(err)
		}
		if got := screen.IndirectPings(raw, label); got != c.want {
			t.Errorf("%s: IndirectPings() = %d, want %d", name, got, c.want)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	short := someNode()
	short.Vsn = short.Vsn[:1]
	for name, c := range map[string]struct {
		raw    []byte
		passes bool
	}{
		"ping":                   {ping(), true},
		"exchange":               {exchange(2, someNode(), someNode()), true},
		"exchange without nodes": {exchange(0), true},

		"more nodes than allowed": {exchange(3, someNode(), someNode(), someNode()), false},
		"million nodes":           {exchange(1 << 20), false},
		"fewer nodes than said":   {exchange(2, someNode()), false},
		"short versions":          {exchange(1, short), false},
		"no versions":             {exchange(1, fields{"Name": "a/1"}), false},
		"nil for a node":          {exchange(1, nil), false},
		"field twice":             {append(exchange(1), "\x82\xa3Vsn\xa6123456\xa3Vsn\xa6123456"...), false},
		"state of its own":        {said(6, fields{"Nodes": 0, "UserStateLen": 1 << 20, "Join": true}), false},
		"user message":            {said(8, fields{"UserMsgLen": 1 << 30}), false},
		"compressed":              {said(9, fields{"Algo": 0, "Buf": []byte("x")}), false},
		"encrypted":               {[]byte{10, 0, 0, 0, 1, 0}, false},
		"ack":                     {said(2, fields{"SeqNo": 1}), false},
	} {
		raw := labeled(c.raw)
		got, err := screen.Request(iotest.OneByteReader(bytes.NewReader(append(raw, "more"...))), label, 2)
		if (err == nil) != c.passes {
			t.Errorf("%s: Request() = %v", name, err)
		}
		if err == nil && !bytes.Equal(got, raw) {
			t.Errorf("%s: Request() = %q, want %q", name, got, raw)
		}
	}
	if _, err := screen.Request(bytes.NewReader(ping()), label, 2); !errors.Is(err, screen.ErrRefused) {
		t.Errorf("Request() = %v without the label", err)
	}
	if _, err := screen.Request(strings.NewReader(""), label, 2); !errors.Is(err, io.EOF) {
		t.Errorf("Request() = %v of an empty stream", err)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw    []byte
		passes bool
	}{
		"exchange": {exchange(1, someNode()), true},
		"ack":      {said(2, fields{"SeqNo": 1, "Payload": nil}), true},
		"error":    {said(13, fields{"Error": "no"}), true},

		"million nodes": {exchange(1 << 20), false},
		"compressed":    {said(9, fields{"Algo": 0, "Buf": []byte("x")}), false},
		"encrypted":     {[]byte{10, 0, 0, 0, 1, 0}, false},
		"long error":    {said(13, fields{"Error": strings.Repeat("x", 2000)}), false},
		"ping":          {ping(), false},
	} {
		got, err := screen.Answer(bytes.NewReader(c.raw), 2)
		if (err == nil) != c.passes {
			t.Errorf("%s: Answer() = %v", name, err)
		}
		if err == nil && !bytes.Equal(got, c.raw) {
			t.Errorf("%s: Answer() = %q, want %q", name, got, c.raw)
		}
	}
}

// memberlist's decoder must read from a request that passes only nodes with six versions, and no more nodes than allowed.
func FuzzRequest(f *testing.F) {
	f.Add(labeled(exchange(2, someNode(), someNode())))
	f.Add(labeled(ping()))
	f.Add(labeled(exchange(1 << 20)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := screen.Request(bytes.NewReader(raw), label, 3)
		head := screen.LabelHead(label)
		if err != nil || got[len(head)] != 6 {
			return
		}
		dec := codec.NewDecoder(bytes.NewReader(got[len(head)+1:]), &codec.MsgpackHandle{})
		var header struct {
			Nodes, UserStateLen int
			Join                bool
		}
		if err := dec.Decode(&header); err != nil || header.Nodes < 0 || header.Nodes > 3 || header.UserStateLen != 0 {
			t.Fatalf("header %+v, %v of %q", header, err, got)
		}
		for range header.Nodes {
			var n node
			if err := dec.Decode(&n); err != nil || len(n.Vsn) != 6 || len(n.Name) > 64 || len(n.Meta) > 512 {
				t.Fatalf("node %+v, %v of %q", n, err, got)
			}
		}
	})
}

func FuzzPacket(f *testing.F) {
	f.Add(labeled(ping()))
	f.Add(labeled(checked(compound(ping(), alive(6)))))
	f.Add(labeled(said(9, fields{"Algo": 0, "Buf": []byte("x")})))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := screen.Packet(raw, label)
		if err != nil {
			return
		}
		_ = screen.IndirectPings(got, label) // must not panic over a packet that passed
		body := got[len(screen.LabelHead(label)):]
		if body[0] != 4 {
			return
		}
		var a struct{ Vsn, Addr, Meta []byte }
		if err := codec.NewDecoder(bytes.NewReader(body[1:]), &codec.MsgpackHandle{}).Decode(&a); err != nil || len(a.Vsn) != 6 || len(a.Meta) > 512 {
			t.Fatalf("alive %+v, %v of %q", a, err, got)
		}
	})
}
