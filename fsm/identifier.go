package fsm

import (
	"crypto/sha256"
	"strings"

	"github.com/snowraft/snowraft/internal/names"
)

// hashBytes is the length of the hash of a secret. The state machine never sees the secrets themselves: nonces of
// holders, return keys of blocks, secrets of tokens.
const hashBytes = sha256.Size

// checkHolder returns an error if AcquireWorker would refuse the name of a holder.
func checkHolder(name string) error { return names.Check("holder name", name) }

// checkHolding checks the name of a holder as it is shown, with the name of the token that owns it.
func checkHolding(owner uint64, shown string) error {
	if owner == 0 {
		return checkHolder(shown)
	}
	token, holder, _ := strings.Cut(shown, "/")
	if err := checkTokenName(token); err != nil {
		return err
	}
	return checkHolder(holder)
}

// CheckSequenceName returns an error if CreateSequence would refuse the name of a sequence.
func CheckSequenceName(name string) error { return names.Check("sequence name", name) }

// checkMemberID returns an error if RemoveMember would refuse the ID of a member.
func checkMemberID(id string) error { return names.Check("member ID", id) }

// hashOf returns b as a hash; ok is false unless b has 32 bytes.
func hashOf(b []byte) (hash [hashBytes]byte, ok bool) {
	if len(b) != hashBytes {
		return hash, false
	}
	return [hashBytes]byte(b), true
}
