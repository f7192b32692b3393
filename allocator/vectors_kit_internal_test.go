package allocator

import "strconv"

// The limits of all scripts, in ms.
const (
	threshold = 1000
	maxOffset = 500
	maxAhead  = 5
)

// script is one script of windows.json. 64-bit numbers are strings, as in the API.
type script struct {
	Name   string     `json:"name"`
	About  string     `json:"about"`
	Layout layoutSpec `json:"layout"`
	Start  reading    `json:"start"`
	Steps  []step     `json:"steps"`
}

type layoutSpec struct {
	Name   string      `json:"name"`
	Fields []fieldSpec `json:"fields"`
	Unit   int64       `json:"unitMs,string"`
	Epoch  int64       `json:"epochAtMs,string"`
	Spread uint64      `json:"spread,string"`
}

type fieldSpec struct {
	Kind string `json:"kind"`
	Bits uint8  `json:"bits"`
}

type reading struct {
	Wall int64 `json:"wallMs,string"`
	Mono int64 `json:"monotonicMs,string"`
}

// step is an action and, below Answer, what the lane did.
type step struct {
	Clock  *reading      `json:"clock,omitempty"`
	Member *memberAnswer `json:"member,omitempty"`
	Check  bool          `json:"check,omitempty"`
	Renew  bool          `json:"renew,omitempty"`
	Next   int           `json:"next,omitempty"`
	After  uint64        `json:"after,string,omitempty"`
	Close  bool          `json:"close,omitempty"`
	Answer *answer       `json:"answer,omitempty"`

	Request  *request     `json:"request,omitempty"`
	Window   *windowState `json:"window,omitempty"`
	IDs      []id         `json:"ids,omitempty"`
	Refusal  *refused     `json:"refusal,omitempty"`
	Released bool         `json:"released,omitempty"`
}

type memberAnswer struct {
	ID       string `json:"memberId"`
	Clock    int64  `json:"clockAtMs,string"`
	Offset   int64  `json:"clockOffsetMs,string"`
	Observed int64  `json:"observedClockAtMs,string"`
	Took     int64  `json:"tookMs,string"`
}

type answer struct {
	Lost  bool       `json:"lost,omitempty"`
	Error string     `json:"error,omitempty"`
	Grant *grantJSON `json:"grant,omitempty"`
}

type grantJSON struct {
	Worker    uint64 `json:"worker,string"`
	Token     uint64 `json:"token,string"`
	From      int64  `json:"fromTick,string"`
	Until     int64  `json:"untilTick,string"`
	Observed  int64  `json:"observedClockAtMs,string"`
	Threshold int64  `json:"waitThresholdMs,string"`
	MaxWindow int64  `json:"maxWindowMs,string"`
	Swap      bool   `json:"swap"`
}

type request struct {
	Kind    string `json:"kind"`
	Clock   int64  `json:"clockAtMs,string,omitempty"`
	Window  int64  `json:"windowMs,string,omitempty"`
	Worker  uint64 `json:"worker,string,omitempty"`
	Token   uint64 `json:"token,string,omitempty"`
	Until   int64  `json:"untilTick,string,omitempty"`
	Repeats *bool  `json:"repeats,omitempty"`
	Next    *int64 `json:"nextTick,string,omitempty"`
}

type windowState struct {
	Worker uint64 `json:"worker,string"`
	Token  uint64 `json:"token,string"`
	From   int64  `json:"fromTick,string"`
	Until  int64  `json:"untilTick,string"`
}

type refused struct {
	Reason string `json:"reason"`
	Wait   int64  `json:"waitMs,string,omitempty"`
	Behind int64  `json:"behindMs,string,omitempty"`
	Ahead  int64  `json:"aheadMs,string,omitempty"`
}

// id is an ID, a string in JSON.
type id uint64

// MarshalText implements encoding.TextMarshaler.
func (i id) MarshalText() ([]byte, error) { return strconv.AppendUint(nil, uint64(i), 10), nil }
