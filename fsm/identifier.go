package fsm

import "github.com/snowraft/snowraft/internal/names"

const nonceBytes = 16

// CheckHolder returns why AcquireWorker would refuse the name of a holder, or nil.
func CheckHolder(name string) error { return names.Check("holder name", name) }

// CheckSequenceName returns why CreateSequence would refuse the name of a sequence, or nil.
func CheckSequenceName(name string) error { return names.Check("sequence name", name) }

// checkMemberID returns why RemoveMember would refuse the ID of a member, or nil.
func checkMemberID(id string) error { return names.Check("member ID", id) }

// copyNonce returns a nonce and whether it has its 16 bytes.
func copyNonce(b []byte) (nonce [nonceBytes]byte, ok bool) {
	if len(b) != nonceBytes {
		return nonce, false
	}
	return [nonceBytes]byte(b), true
}
