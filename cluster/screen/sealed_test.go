package screen_test

import (
	"bytes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/snowraft/snowraft/cluster/screen"
)

func key(b byte) cipher.AEAD {
	k, err := screen.NewKey(bytes.Repeat([]byte{b}, 32))
	if err != nil {
		panic(err)
	}
	return k
}

// TestKeyVectors uses the test vectors of C2SP's XAES-256-GCM.
func TestKeyVectors(t *testing.T) {
	t.Parallel()
	nonce, plain := []byte("ABCDEFGHIJKLMNOPQRSTUVWX"), []byte("XAES-256-GCM")
	for _, c := range []struct {
		key   byte
		about string
		want  string
	}{
		{1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
		{3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
	} {
		k := key(c.key)
		sealed := k.Seal(nil, nonce, plain, []byte(c.about))
		if got := hex.EncodeToString(sealed); got != c.want {
			t.Errorf("Seal() = %s, want %s", got, c.want)
		}
		if got, err := k.Open(nil, nonce, sealed, []byte(c.about)); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("Open() = %q, %v", got, err)
		}
		if k.NonceSize() != len(nonce) || k.Overhead() != len(sealed)-len(plain) {
			t.Errorf("NonceSize() = %d, Overhead() = %d", k.NonceSize(), k.Overhead())
		}
	}
	if _, err := screen.NewKey(nil); err == nil {
		t.Error("a key of no bytes was taken")
	}
}

func TestSealedDatagrams(t *testing.T) {
	t.Parallel()
	plain := labeled(ping())
	sealed := screen.Seal(key(1), label, plain)
	stream, _ := sealedStream(key(1), nil, plain)
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, c := range map[string]struct {
		raw  []byte
		keys []cipher.AEAD
		want error // nil: it opens
	}{
		"same key":     {sealed, []cipher.AEAD{key(1)}, nil},
		"second key":   {sealed, []cipher.AEAD{key(2), key(1)}, nil},
		"open":         {plain, nil, nil},
		"other key":    {sealed, []cipher.AEAD{key(2)}, screen.ErrOtherKey},
		"changed":      {changed, []cipher.AEAD{key(1)}, screen.ErrOtherKey},
		"no key":       {sealed, nil, screen.ErrSealed},
		"not sealed":   {plain, []cipher.AEAD{key(1)}, screen.ErrUnsealed},
		"cut":          {sealed[:50], []cipher.AEAD{key(1)}, screen.ErrRefused},
		"nothing":      {nil, []cipher.AEAD{key(1)}, screen.ErrRefused},
		"foreign":      {[]byte("GET / HTTP/1.1"), []cipher.AEAD{key(1)}, screen.ErrRefused},
		"too large":    {screen.Seal(key(1), label, make([]byte, 2048)), []cipher.AEAD{key(1)}, screen.ErrRefused},
		"of a stream":  {append(bytes.Clone(stream[:14]), stream[16:]...), []cipher.AEAD{key(1)}, screen.ErrOtherKey},
		"its own form": {screen.Seal(key(1), "other/1", plain), []cipher.AEAD{key(1)}, screen.ErrRefused},
	} {
		got, err := screen.Unseal(c.keys, label, c.raw)
		if !errors.Is(err, c.want) || (c.want == nil && !bytes.Equal(got, plain)) {
			t.Errorf("%s: Unseal() = %q, %v, want %v", name, got, err, c.want)
		}
	}
	if bytes.Contains(sealed, ping()[2:]) || bytes.Equal(sealed, screen.Seal(key(1), label, plain)) {
		t.Error("the message is in clear, or sealed twice the same way")
	}
}

// sealedStream is a request or an answer in several parts.
func sealedStream(k cipher.AEAD, request []byte, parts ...[]byte) (raw, first []byte) {
	var b bytes.Buffer
	s := screen.NewSealer(&b, k, label, request)
	for _, p := range parts {
		_, _ = s.Write(p)
	}
	return b.Bytes(), s.First()
}

// asStream returns a sealed datagram in the form of a stream.
func asStream(plain []byte) []byte {
	sealed := screen.Seal(key(1), label, plain)
	framed := binary.BigEndian.AppendUint16(bytes.Clone(sealed[:14]), uint16(len(plain)+16))
	return append(framed, sealed[14:]...)
}

func TestSealedStreams(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("snow"), 50_000)
	request, first := sealedStream(key(1), nil, labeled(nil), long)
	answer, _ := sealedStream(key(1), first, long)
	_, another := sealedStream(key(1), nil, long)
	swapped := bytes.Clone(request)
	const head, nonce, frame = 14, 24, 2 + 24 + 16<<10 + 16 // the first frame has only the label
	begin := head + 2 + nonce + len(labeled(nil)) + 16
	copy(swapped[begin:], request[begin+frame:begin+2*frame])
	for name, c := range map[string]struct {
		raw     []byte
		keys    []cipher.AEAD
		request []byte
		want    error // nil: it opens
	}{
		"request":                  {request, []cipher.AEAD{key(2), key(1)}, nil, nil},
		"answer":                   {answer, []cipher.AEAD{key(1)}, first, nil},
		"other key":                {request, []cipher.AEAD{key(2)}, nil, screen.ErrOtherKey},
		"recorded answer":          {answer, []cipher.AEAD{key(1)}, another, screen.ErrOtherKey},
		"request as answer":        {request, []cipher.AEAD{key(1)}, first, screen.ErrOtherKey},
		"frame at another's place": {swapped, []cipher.AEAD{key(1)}, nil, screen.ErrOtherKey},
		"datagram":                 {asStream(labeled(ping())), []cipher.AEAD{key(1)}, nil, screen.ErrOtherKey},
		"cut":                      {request[:len(request)-1], []cipher.AEAD{key(1)}, nil, io.ErrUnexpectedEOF},
		"open request":             {labeled(ping()), []cipher.AEAD{key(1)}, nil, screen.ErrUnsealed},
		"open answer":              {screen.Unsealed(), []cipher.AEAD{key(1)}, first, screen.ErrUnsealed},
		"another service's answer": {[]byte("HTTP/1.1 400 Bad Request"), []cipher.AEAD{key(1)}, first, screen.ErrRefused},
		"something else":           {[]byte("GET / HTTP/1.1"), []cipher.AEAD{key(1)}, nil, screen.ErrRefused},
		"large frame":              {append(bytes.Clone(request[:head]), bytes.Repeat([]byte{0xff}, 100)...), []cipher.AEAD{key(1)}, nil, screen.ErrRefused},
	} {
		u := screen.NewUnsealer(iotest.HalfReader(bytes.NewReader(c.raw)), c.keys, label, c.request)
		got, err := io.ReadAll(u)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if c.want == nil && !bytes.HasSuffix(got, long) {
			t.Errorf("%s: %d bytes", name, len(got))
		}
		if k, began := u.Key(); c.want == nil && (k == nil || c.request == nil && !bytes.Equal(began, first)) {
			t.Errorf("%s: Key() = %v, %x", name, k, began)
		}
	}
	if _, err := io.ReadAll(screen.NewUnsealer(bytes.NewReader(nil), []cipher.AEAD{key(1)}, label, nil)); err != nil {
		t.Errorf("an empty stream: %v", err)
	}
	if _, err := screen.Answer(bytes.NewReader(screen.Unsealed()), 1); err != nil {
		t.Errorf("the answer of an open member is of no known form: %v", err)
	}
}

// Only sealed content is opened. Seeds differ in each process, but their content does not.
func FuzzUnsealer(f *testing.F) {
	request, first := sealedStream(key(1), nil, []byte("snow"))
	f.Add(request, []byte(nil))
	answer, _ := sealedStream(key(1), first, []byte("snow"))
	f.Add(answer, first)
	f.Add(screen.Unsealed(), first)
	f.Fuzz(func(t *testing.T, raw, of []byte) {
		if len(of) == 0 {
			of = nil
		}
		u := screen.NewUnsealer(bytes.NewReader(raw), []cipher.AEAD{key(2), key(1)}, label, of)
		if got, err := io.ReadAll(u); len(got) > 0 && string(got) != "snow" {
			t.Errorf("%q was taken from %q, %v", got, raw, err)
		}
	})
}

func FuzzUnseal(f *testing.F) {
	f.Add(screen.Seal(key(1), label, []byte("snow")))
	f.Add(labeled(ping()))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, err := screen.Unseal([]cipher.AEAD{key(2), key(1)}, label, raw); err == nil && string(got) != "snow" {
			t.Errorf("%q was opened", raw)
		}
		if got, err := screen.Unseal(nil, label, raw); err == nil && !bytes.Equal(got, raw) {
			t.Errorf("%q became %q without keys", raw, got)
		}
	})
}
