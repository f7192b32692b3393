package redis

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/snowraft/snowraft/internal/limits"
)

const maxKeys = 64

// keys makes strings of keys, and the same string of the same key most times, so
// that a command in steady state allocates nothing.
type keys struct {
	last string
	all  map[string]string
}

// get is a key as a string, or why it can't be the name of a sequence.
func (k *keys) get(key []byte) (string, error) {
	if len(key) > 0 && string(key) == k.last {
		return k.last, nil
	}
	s, ok := k.all[string(key)]
	if !ok {
		if err := checkKey(key); err != nil {
			return "", err
		}
		s = string(key)
		if k.all == nil || len(k.all) == maxKeys {
			k.all = make(map[string]string)
		}
		k.all[s] = s
	}
	k.last = s
	return s, nil
}

// checkKey refuses what is not the name of any sequence.
func checkKey(key []byte) error {
	if len(key) == 0 || len(key) > limits.NameBytes {
		return fmt.Errorf("a key is the name of a sequence, of 1 to %d bytes: this one has %d", limits.NameBytes, len(key))
	}
	if !utf8.Valid(key) {
		return fmt.Errorf("a key is the name of a sequence, in UTF-8: this one is not UTF-8")
	}
	for _, r := range string(key) {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return fmt.Errorf("a key is the name of a sequence, of printable characters without spaces: this one has %U", r)
		}
	}
	return nil
}
