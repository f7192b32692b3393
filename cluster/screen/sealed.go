package screen

import "errors"

// Why a member's message cannot be read.
var (
	ErrSealed   = errors.New("a sealed message, and no key is known here")
	ErrUnsealed = errors.New("a message that is not sealed")
	ErrOtherKey = errors.New("a message sealed with another key")
)
