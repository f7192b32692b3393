package trust

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"strconv"
	"strings"
)

const tokenPrefix = "snowraft"

// Token is the API token of an application, as parsed from its text. Printing, logging and marshaling show only
// its ID.
type Token struct {
	ID     uint64   // at least 1
	Secret [32]byte // random
	Pin    string   // pin of the cluster's authority; empty if clients do not verify the cluster with it
}

// NewTokenSecret returns a new random secret of a token.
func NewTokenSecret() [32]byte {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // never fails
	return secret
}

// HashTokenSecret returns the hash of a token's secret that the cluster stores. The secret is random, so
// SHA-256 is enough.
func HashTokenSecret(secret [32]byte) [32]byte { return sha256.Sum256(secret[:]) }

// Text returns the text of the token, which the application gets.
func (t Token) Text() string {
	text := tokenPrefix + "_" + strconv.FormatUint(t.ID, 10) + "_" + encoding.EncodeToString(t.Secret[:]) + t.checksum()
	if t.Pin != "" {
		text += "_" + t.Pin
	}
	return text
}

// checksum returns seven characters that detect typing errors.
func (t Token) checksum() string {
	sum := crc32.Checksum(append(binary.BigEndian.AppendUint64(nil, t.ID), t.Secret[:]...), castagnoli)
	return encoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// ParseToken returns the token with a text. Errors do not contain the text.
func ParseToken(text string) (Token, error) {
	parts := strings.Split(text, "_")
	if len(parts) != 3 && len(parts) != 4 || parts[0] != tokenPrefix {
		return Token{}, fmt.Errorf("not a Snowraft token: expected %s_ID_SECRET or %s_ID_SECRET_PIN", tokenPrefix, tokenPrefix)
	}
	var t Token
	var err error
	if t.ID, err = strconv.ParseUint(parts[1], 10, 64); err != nil || t.ID == 0 || strconv.FormatUint(t.ID, 10) != parts[1] {
		return Token{}, errors.New("token: expected a decimal ID of at least 1 after the first _")
	}
	size := encoding.EncodedLen(len(t.Secret))
	if want := size + encoding.EncodedLen(checksumBytes); len(parts[2]) != want {
		return Token{}, fmt.Errorf("token: secret of %d characters: expected %d; copy the whole token again", len(parts[2]), want)
	}
	secret, err := decode(parts[2][:size], len(t.Secret))
	if err != nil {
		return Token{}, fmt.Errorf("token: secret: %w", err)
	}
	t.Secret = [32]byte(secret)
	if t.checksum() != parts[2][size:] {
		return Token{}, errors.New("token: the checksum does not match; copy the whole token again")
	}
	if len(parts) == 4 {
		if _, err := decode(parts[3], sha256.Size); err != nil {
			return Token{}, fmt.Errorf("token: pin: %w", err)
		}
		t.Pin = parts[3]
	}
	return t, nil
}

// String returns the word "token" and the ID.
func (t Token) String() string { return "token " + strconv.FormatUint(t.ID, 10) }

// Format writes String for every verb.
func (t Token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// LogValue returns String.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText returns String, so that no encoder shows the secret.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
