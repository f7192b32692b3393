package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/internal/rpc"
)

// leafException is the error format of Leaf's server.
const leafException = "com.sankuai.inf.leaf.server.exception.LeafServerException"

// The error codes that Leaf returns in place of an ID.
const (
	leafNoBlock    = -3 // segment: no block is at hand
	leafUnknownKey = -2 // no sequence or layout has this key
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

// snowflake serves an ID of the layout that the key names. A key without a layout gets no ID: an ID of another layout could repeat
// one that the client already has, and the creation of the layout would then change the IDs of the key.
func (h *handler) snowflake(w http.ResponseWriter, r *http.Request, key string) error {
	if err := checkLeaf(r, key); err != nil {
		return err
	}
	text, err := h.cfg.Backend.AppendIDs(r.Context(), nil, w, key, 1)
	if err == nil {
		writeText(w, springText, bytes.TrimSuffix(text, []byte("\n")))
	}
	return err
}

// The paths below a layout are for clients whose keys all mean this layout. They differ only in the URL to which a client adds the path.
// Names of layouts have no slash.

func (h *handler) segmentBelow(w http.ResponseWriter, r *http.Request, name string) error {
	_, rest, _ := strings.Cut(name, "/")
	return h.segment(w, r, strings.TrimPrefix(rest, "api/segment/get/"))
}

func (h *handler) snowflakeBelow(w http.ResponseWriter, r *http.Request, name string) error {
	layout, rest, _ := strings.Cut(name, "/")
	if err := checkLeaf(r, strings.TrimPrefix(rest, "api/snowflake/get/")); err != nil {
		return err
	}
	return h.snowflake(w, r, layout)
}

// checkLeaf returns an error for a wrong method, and for a request without a key, which matches no path of Leaf.
func checkLeaf(r *http.Request, key string) error {
	if key == "" {
		return springFailure{Status: http.StatusNotFound, Message: "No message available"}
	}
	return checkMethod(r)
}

// refuseLeaf returns a refuser with the answers of Leaf. The status is always 500, and the error code is that of the reason in ids,
// or others. The real error is in headers.
func refuseLeaf(ids map[string]int, others int) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		_, e := read(err)
		explain(w, e)
		shown, listed := ids[e.Reason]
		if !listed {
			shown = others
		}
		springFailure{Status: http.StatusInternalServerError, Exception: leafException,
			Message: fmt.Sprintf("Result{id=%d, status=EXCEPTION}", shown)}.answer(w, r)
	}
}

var (
	refuseLeafSegment   = refuseLeaf(map[string]int{rpc.UnknownSequence: leafUnknownKey}, leafNoBlock)
	refuseLeafSnowflake = refuseLeaf(map[string]int{rpc.UnknownLayout: leafUnknownKey, rpc.ClockBehind: leafClockBack}, leafNoID)
)
