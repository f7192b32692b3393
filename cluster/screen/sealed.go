package screen

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
)

var (
	// ErrSealed reports a sealed message that reached a node without a key.
	ErrSealed = errors.New("sealed message: no key is known here")
	// ErrUnsealed reports a message without a seal that reached a node with a key.
	ErrUnsealed = errors.New("message not sealed")
	// ErrOtherKey reports a message that none of the keys opens.
	ErrOtherKey = errors.New("message sealed with another key")
)

const (
	// sealVersion is the version of the form behind the head: a nonce and a sealed text; in a stream, the length of the text
	// comes first.
	sealVersion = 1
	// frameSize is the greatest number of bytes in one sealed frame of a stream, so that no more is buffered for a stranger.
	frameSize = 16 << 10
)

// A sealed message is bound to its use, so that it cannot be opened anywhere else. A datagram is bound to the head, which has
// the label and the form. A frame of a stream is also bound to its direction and its number, and in an answer to the nonce of
// the request. A member with a key neither sends nor accepts anything that is not sealed.

// sealedHead returns the first bytes of every sealed datagram and stream. Open members recognize sealed messages by it.
func sealedHead(label string) []byte { return append(LabelHead(label), kindEncrypted, sealVersion) }

// Seal returns a sealed datagram with a random nonce. Only holders of the key can read or make it.
func Seal(key cipher.AEAD, label string, plain []byte) []byte {
	head := sealedHead(label)
	sealed := make([]byte, len(head)+nonceSize, len(head)+nonceSize+len(plain)+tagSize)
	copy(sealed, head)
	nonce := sealed[len(head):]
	_, _ = rand.Read(nonce) // never fails
	return key.Seal(sealed, nonce, plain, head)
}

// Unseal returns the content of a datagram, which one of the keys must have sealed. Without keys, the datagram must not be
// sealed, and Unseal returns raw itself.
//
// Errors: ErrSealed; ErrUnsealed; ErrOtherKey; ErrRefused if the datagram has another form.
func Unseal(keys []cipher.AEAD, label string, raw []byte) ([]byte, error) {
	head := sealedHead(label)
	body, sealed := bytes.CutPrefix(raw, head)
	switch {
	case len(raw) > maxPacket:
		return nil, refuse("a datagram of %d bytes", len(raw))
	case sealed && len(keys) == 0:
		return nil, ErrSealed
	case len(keys) == 0:
		return raw, nil
	case !sealed && bytes.HasPrefix(raw, LabelHead(label)):
		return nil, ErrUnsealed
	case !sealed || len(body) < nonceSize+tagSize:
		return nil, refuse("a datagram without seal")
	}
	for _, key := range keys {
		if plain, err := key.Open(nil, body[:nonceSize], body[nonceSize:], head); err == nil {
			return plain, nil
		}
	}
	return nil, ErrOtherKey
}

// Sealer writes one direction of a sealed stream. Only one goroutine at a time may use it.
type Sealer struct {
	to     io.Writer
	key    cipher.AEAD
	head   []byte
	about  []byte // additional data of the frames, without their number
	number uint64 // number of the next frame
	first  []byte // nonce of the first frame
}

// NewSealer returns a writer that seals a request or an answer. For an answer, request is the nonce of the first frame of the
// request; the answer is bound to it, so that a replayed answer fails. For a request, request is nil.
func NewSealer(to io.Writer, key cipher.AEAD, label string, request []byte) *Sealer {
	return &Sealer{to: to, key: key, head: sealedHead(label), about: about(label, request)}
}

// about returns the additional data of a stream's frames, without their number.
func about(label string, request []byte) []byte {
	direction := byte('q')
	if request != nil {
		direction = 'a'
	}
	return append(append(sealedHead(label), direction), request...)
}

// First returns the nonce of the first frame, to which the answer is bound; nil before the first frame.
func (s *Sealer) First() []byte { return s.first }

// Write implements io.Writer.
func (s *Sealer) Write(b []byte) (int, error) {
	var out []byte
	if s.number == 0 {
		out = s.head
	}
	written := len(b)
	for first := true; first || len(b) > 0; first = false {
		part := b[:min(len(b), frameSize)]
		b = b[len(part):]
		nonce := make([]byte, nonceSize)
		_, _ = rand.Read(nonce) // never fails
		if s.first == nil {
			s.first = nonce
		}
		out = binary.BigEndian.AppendUint16(out, uint16(len(part)+tagSize)) //nolint:gosec // at most 16 KiB
		out = append(out, nonce...)
		out = s.key.Seal(out, nonce, part, binary.BigEndian.AppendUint64(bytes.Clone(s.about), s.number))
		s.number++
	}
	if _, err := s.to.Write(out); err != nil {
		return 0, err
	}
	return written, nil
}

// Unsealer reads one direction of a sealed stream. Only one goroutine at a time may use it.
type Unsealer struct {
	from   io.Reader
	keys   []cipher.AEAD
	label  string
	about  []byte
	answer bool
	number uint64
	first  []byte
	plain  []byte // bytes of the present frame that were not read yet
}

// NewUnsealer returns a reader of a stream that was sealed with one of the keys; request is the same as for NewSealer.
func NewUnsealer(from io.Reader, keys []cipher.AEAD, label string, request []byte) *Unsealer {
	return &Unsealer{from: from, keys: keys, label: label, about: about(label, request), answer: request != nil}
}

// Key returns the key of the stream, and the nonce of its first frame; both are nil before the first frame.
func (u *Unsealer) Key() (key cipher.AEAD, first []byte) {
	if u.first == nil {
		return nil, nil
	}
	return u.keys[0], u.first
}

// Read implements io.Reader.
func (u *Unsealer) Read(b []byte) (int, error) {
	for len(u.plain) == 0 {
		if err := u.frame(); err != nil {
			return 0, err
		}
	}
	n := copy(b, u.plain)
	u.plain = u.plain[n:]
	return n, nil
}

// frame reads the next frame.
func (u *Unsealer) frame() error {
	if u.number == 0 {
		if err := u.begin(); err != nil {
			return err
		}
	}
	var head [2 + nonceSize]byte
	if _, err := io.ReadFull(u.from, head[:]); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint16(head[:]))
	if size < tagSize || size > frameSize+tagSize {
		return refuse("a frame of %d bytes", size)
	}
	sealed := make([]byte, size)
	if _, err := io.ReadFull(u.from, sealed); err != nil {
		return cutOff(err, 1)
	}
	nonce, data := head[2:], binary.BigEndian.AppendUint64(bytes.Clone(u.about), u.number)
	for i, key := range u.keys {
		plain, err := key.Open(nil, nonce, sealed, data)
		if err != nil {
			continue
		}
		if u.number == 0 {
			u.keys, u.first = u.keys[i:i+1], nonce
		}
		u.number++
		u.plain = plain
		return nil
	}
	return ErrOtherKey
}

// begin reads the head of a stream.
func (u *Unsealer) begin() error {
	want := sealedHead(u.label)
	for i := range want {
		var got [1]byte
		if _, err := io.ReadFull(u.from, got[:]); err != nil {
			return cutOff(err, i)
		}
		if got[0] == want[i] {
			continue
		}
		if i >= len(want)-2 || i == 0 && u.answer && got[0] == kindError { // an open member answers with [Unsealed]
			return ErrUnsealed
		}
		return refuse("a stream without the label")
	}
	return nil
}

// Unsealed returns the answer of a member without a key to a member with one.
func Unsealed() []byte { return append([]byte{kindError}, "\x81\xa5Error\xa6sealed"...) }

// BeginsSealed reports whether a stream begins with the head of a sealed stream. It waits for as many bytes.
func BeginsSealed(from interface{ Peek(n int) ([]byte, error) }, label string) bool {
	want := sealedHead(label)
	got, _ := from.Peek(len(want))
	return bytes.Equal(got, want)
}
