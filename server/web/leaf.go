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

// The error codes that Leaf returns in place of an ID.
const (
	leafNoBlock    = -3 // segment: no block is at hand
	leafUnknownKey = -2 // segment: no sequence has this key
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

// snowflake serves an ID of the default layout. Like Leaf, it ignores the key. If the key selected a layout, the creation of a
// layout with that name would change the IDs of the key, and new IDs could repeat IDs that were issued before.
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

// checkLeaf returns an error for a wrong method, and for a request without a key, which matches no path of Leaf.
func checkLeaf(r *http.Request, key string) error {
	if key == "" {
		return springFailure{Status: http.StatusNotFound, Message: "No message available"}
	}
	return checkMethod(r)
}

// refuseLeaf returns a refuser with the answers of Leaf. The status is always 500, and the error code is id for reason and
// others for all other reasons. The real error is in headers.
func refuseLeaf(reason string, id, others int) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		_, e := read(err)
		explain(w, e)
		shown := others
		if e.Reason == reason {
			shown = id
		}
		springFailure{Status: http.StatusInternalServerError, Exception: leafException,
			Message: fmt.Sprintf("Result{id=%d, status=EXCEPTION}", shown)}.answer(w, r)
	}
}

var (
	refuseLeafSegment   = refuseLeaf(rpc.UnknownSequence, leafUnknownKey, leafNoBlock)
	refuseLeafSnowflake = refuseLeaf(rpc.ClockBehind, leafClockBack, leafNoID)
)
