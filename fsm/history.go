package fsm

import "slices"

// maxHistory is the greatest number of grants remembered per layout.
const maxHistory = 10_000

// GrantRecord is a window that was granted: the ticks [From, Until) of Worker.
type GrantRecord struct {
	Worker        uint64
	Token         uint64          // log index of the acquisition
	Holder        string          // name as shown: with the token's name in front for an application
	Owner         uint64          // ID of the API token that acquired the worker; 0 without one
	Process       *Process        // nil if the holder did not describe it
	NonceHash     [hashBytes]byte // SHA-256 of the holder's nonce
	From, Until   int64           // ticks; Until includes extensions and a release
	GrantedMillis int64           // Unix ms on the proposer's clock; 0 if the history does not reach back that far
}

// history holds the last grants of one layout in ascending order of their tokens, at
// most maxHistory of them, in a ring that starts at entries[start].
type history struct {
	entries []GrantRecord
	start   int
}

// add appends a grant, whose token must be above all others.
func (h *history) add(g GrantRecord) {
	if len(h.entries) < maxHistory {
		h.entries = append(h.entries, g)
		return
	}
	h.entries[h.start] = g
	h.start = (h.start + 1) % maxHistory
}

// at returns the i-th oldest grant.
func (h *history) at(i int) *GrantRecord { return &h.entries[(h.start+i)%len(h.entries)] }

// setUntil changes the end of the window with that token, if the window is still remembered.
func (h *history) setUntil(token uint64, until int64) {
	low, high := 0, len(h.entries)
	for low < high {
		if middle := (low + high) / 2; h.at(middle).Token < token {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low < len(h.entries) && h.at(low).Token == token {
		h.at(low).Until = until
	}
}

// lastToken returns the newest token; 0 if there was no grant.
func (h *history) lastToken() uint64 {
	if len(h.entries) == 0 {
		return 0
	}
	return h.at(len(h.entries) - 1).Token
}

func (h *history) clone() history {
	return history{entries: slices.Clone(h.entries), start: h.start}
}

// find returns the newest window that covers a worker's tick.
func (h *history) find(number uint64, tick int64) (GrantRecord, bool) {
	for i := range slices.Backward(h.entries) {
		if g := h.at(i); g.Worker == number && g.From <= tick && tick < g.Until {
			return *g, true
		}
	}
	return GrantRecord{}, false
}
