package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"github.com/snowraft/snowraft/internal/rpc"
)

// leafException is the error format of Leaf's server.
const leafException = "com.sankuai.inf.leaf.server.exception.LeafServerException"

// The IDs that Leaf has in place of one where it fails.
const (
	leafNoBlock    = -3 // segment: no block is at hand
	leafUnknownKey = -2 // segment: nothing has this key
	leafClockBack  = -3 // snowflake: the clock moved backwards by too much to wait
	leafNoID       = -1 // snowflake: no ID after waiting
)

// segment serves the next number of a sequence.
func (h *handler) segment(w http.ResponseWriter, r *http.Request, key string) error {
	if err := checkLeaf(r, key); err != nil {
		return err
	}
	first, _, err := h.cfg.Backend.Next(r.Context(), key, 1)
	if err == nil {
		writeText(w, springText, strconv.AppendInt(nil, first, 10))
	}
	return err
}

// snowflake serves an ID of the default layout. The key is not looked at, as
// Leaf does not either: would it choose a layout, then one that is created under
// that name later would change which numbers the key stands for, and they could
// meet those that it issued before.
func (h *handler) snowflake(w http.ResponseWriter, r *http.Request, key string) error {
	if err := checkLeaf(r, key); err != nil {
		return err
	}
	text, err := h.cfg.Backend.AppendIDs(r.Context(), nil, w, "", 1)
	if err == nil {
		writeText(w, springText, bytes.TrimSuffix(text, []byte("\n")))
	}
	return err
}

// checkLeaf refuses a request without a key, which matches no path of Leaf's.
func checkLeaf(r *http.Request, key string) error {
	if key == "" {
		return springFailure{Status: http.StatusNotFound, Message: "No message available"}
	}
	return checkMethod(r)
}

// refuseLeaf fails as Leaf does, always with status 500, and with one ID for a reason and
// another for all others. The real error is in headers.
func refuseLeaf(reason string, id, others int) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		_, e := read(err)
		explain(w, e)
		told := others
		if e.Reason == reason {
			told = id
		}
		springFailure{Status: http.StatusInternalServerError, Exception: leafException,
			Message: fmt.Sprintf("Result{id=%d, status=EXCEPTION}", told)}.answer(w, r)
	}
}

var (
	refuseLeafSegment   = refuseLeaf(rpc.UnknownSequence, leafUnknownKey, leafNoBlock)
	refuseLeafSnowflake = refuseLeaf(rpc.ClockBehind, leafClockBack, leafNoID)
)
