package screen_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/snowraft/snowraft/cluster/screen"
)

func key(b byte) cipher.AEAD {
	block, err := aes.NewCipher(bytes.Repeat([]byte{b}, 32))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

func TestSealedDatagrams(t *testing.T) {
	t.Parallel()
	plain := labeled(ping())
	sealed := screen.Seal(key(1), label, plain)
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
		"cut":          {sealed[:30], []cipher.AEAD{key(1)}, screen.ErrRefused},
		"nothing":      {nil, []cipher.AEAD{key(1)}, screen.ErrRefused},
		"foreign":      {[]byte("GET / HTTP/1.1"), []cipher.AEAD{key(1)}, screen.ErrRefused},
		"too large":    {screen.Seal(key(1), label, make([]byte, 2048)), []cipher.AEAD{key(1)}, screen.ErrRefused},
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

func TestSealedStreams(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("snow"), 50_000)
	request, first := sealedStream(key(1), nil, labeled(nil), long)
	answer, _ := sealedStream(key(1), first, long)
	_, another := sealedStream(key(1), nil, long)
	swapped := bytes.Clone(request)
	const head, frame = 14, 2 + 12 + 16<<10 + 16 // the first frame has the label only
	begin := head + 2 + 12 + len(labeled(nil)) + 16
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
		"cut":                      {request[:len(request)-1], []cipher.AEAD{key(1)}, nil, io.ErrUnexpectedEOF},
		"open request":             {labeled(ping()), []cipher.AEAD{key(1)}, nil, screen.ErrUnsealed},
		"open answer":              {screen.Unsealed(), []cipher.AEAD{key(1)}, first, screen.ErrUnsealed},
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
		if k, nonce := u.Key(); c.want == nil && (k == nil || c.request == nil && !bytes.Equal(nonce, first)) {
			t.Errorf("%s: Key() = %v, %x", name, k, nonce)
		}
	}
	if _, err := io.ReadAll(screen.NewUnsealer(bytes.NewReader(nil), []cipher.AEAD{key(1)}, label, nil)); err != nil {
		t.Errorf("an empty stream: %v", err)
	}
	if _, err := screen.Answer(bytes.NewReader(screen.Unsealed()), 1); err != nil {
		t.Errorf("the answer of an open member is of no known form: %v", err)
	}
}

// Nothing is opened but what was sealed. Seeds differ in each process, but not what is in them.
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
