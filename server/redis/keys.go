package redis

import "github.com/snowraft/snowraft/internal/names"

const maxKeys = 64

// keys converts keys to strings. It usually returns the same string for the same key, so that a command in steady state
// allocates nothing.
type keys struct {
	last string
	all  map[string]string
}

// get returns a key as a string, or an error if the key cannot be the name of a sequence.
func (k *keys) get(key []byte) (string, error) {
	if len(key) > 0 && string(key) == k.last {
		return k.last, nil
	}
	s, ok := k.all[string(key)]
	if !ok {
		s = string(key)
		if err := names.Check("key", s); err != nil {
			return "", err
		}
		if k.all == nil || len(k.all) == maxKeys {
			k.all = make(map[string]string)
		}
		k.all[s] = s
	}
	k.last = s
	return s, nil
}
