package trust

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
)

const (
	secretPrefix   = "snowraft-secret-1:"
	secretBytes    = 32
	checksumBytes  = 4
	maxSecrets     = 4 // their pins must fit into one server name of 253 bytes
	secretFileSize = 64 << 10
)

var (
	encoding   = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// Secret is the secret of a cluster: 32 random bytes that all its members share. A process that has the secret
// can act as any member. Printing, logging and marshaling a Secret show only its fingerprint. The zero Secret holds no
// bytes: it can be printed, logged and marshaled, and its other methods panic.
type Secret struct {
	raw func() *[secretBytes]byte // a function, because fmt shows the bytes of an unexported field
}

// secretOf returns the secret with these bytes. It keeps raw.
func secretOf(raw *[secretBytes]byte) Secret {
	return Secret{raw: func() *[secretBytes]byte { return raw }}
}

// NewSecret returns a new random secret.
func NewSecret() Secret {
	var raw [secretBytes]byte
	_, _ = rand.Read(raw[:]) // never fails
	return secretOf(&raw)
}

// ParseSecret returns the secret of a line in the form of [Secret.Line]. Errors do not contain the line.
func ParseSecret(line string) (Secret, error) {
	text, found := strings.CutPrefix(line, secretPrefix)
	if !found {
		return Secret{}, fmt.Errorf("not a cluster secret: expected a line that begins with %q", secretPrefix)
	}
	data, err := decode(text, secretBytes+checksumBytes)
	if err != nil {
		return Secret{}, fmt.Errorf("cluster secret: %w", err)
	}
	if binary.BigEndian.Uint32(data[secretBytes:]) != crc32.Checksum(data[:secretBytes], castagnoli) {
		return Secret{}, errors.New("cluster secret: the checksum does not match; copy the whole line again")
	}
	return secretOf((*[secretBytes]byte)(data)), nil
}

// decode returns the size bytes that text encodes. Each value has exactly one text.
func decode(text string, size int) ([]byte, error) {
	want := encoding.EncodedLen(size)
	if len(text) != want {
		return nil, fmt.Errorf("%d characters: expected %d", len(text), want)
	}
	data, err := encoding.DecodeString(text)
	if err != nil || encoding.EncodeToString(data) != text {
		return nil, fmt.Errorf("expected %d characters of a to z and 2 to 7", want)
	}
	return data, nil
}

// Line returns the secret as the line of a secret file, without a line end. It contains the secret.
func (s Secret) Line() string {
	data := binary.BigEndian.AppendUint32(bytes.Clone(s.raw()[:]), crc32.Checksum(s.raw()[:], castagnoli))
	return secretPrefix + encoding.EncodeToString(data)
}

// Fingerprint returns 16 hexadecimal digits, by HKDF-SHA256, that identify the secret and reveal nothing of it.
func (s Secret) Fingerprint() string { return hex.EncodeToString(s.derive(labelFingerprint, 8)) }

// Equal reports whether two secrets are equal, in constant time.
func (s Secret) Equal(other Secret) bool {
	return subtle.ConstantTimeCompare(s.raw()[:], other.raw()[:]) == 1
}

// String returns the word "secret" and the fingerprint.
func (s Secret) String() string {
	if s.raw == nil {
		return "no secret"
	}
	return "secret " + s.Fingerprint()
}

// Format writes String for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue returns String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns String, so that no encoder shows the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// ReadSecrets returns the secrets of a file, in its order: 1 to 4 lines. It ignores blank lines and lines that
// begin with #. Errors name the file and the line number, never content.
func ReadSecrets(path string) ([]Secret, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("secret file %q: cannot be read: %w", path, err)
	}
	secrets, err := parseSecrets(data)
	if err != nil {
		return nil, fmt.Errorf("secret file %q: %w", path, err)
	}
	return secrets, nil
}

// ReadableByOthers reports whether users other than the owner and the group of a file can read it; false on Windows.
func ReadableByOthers(path string) bool {
	info, err := os.Stat(path)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o004 != 0
}

// readFile returns the content of a file of at most secretFileSize bytes.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, unwrap(err)
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, secretFileSize+1))
	if err != nil {
		return nil, unwrap(err)
	}
	if len(data) > secretFileSize {
		return nil, fmt.Errorf("larger than %d bytes", secretFileSize)
	}
	return data, nil
}

// unwrap removes the path from an error of os, because the caller names the file.
func unwrap(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

func parseSecrets(data []byte) ([]Secret, error) {
	var secrets []Secret
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s, err := ParseSecret(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		for _, earlier := range secrets {
			if earlier.Equal(s) {
				return nil, fmt.Errorf("line %d: repeats an earlier secret; remove the line", number)
			}
		}
		secrets = append(secrets, s)
	}
	return secrets, checkCount(len(secrets))
}

func checkCount(n int) error {
	if n == 0 || n > maxSecrets {
		return fmt.Errorf("%d secrets: expected 1 to %d, one per line", n, maxSecrets)
	}
	return nil
}
