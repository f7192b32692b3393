package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/internal/rpc"
)

// The paths of Leaf's server.
const (
	segmentPrefix   = "/api/segment/get/"
	snowflakePrefix = "/api/snowflake/get/"
)

// leafException is what Leaf's server fails with.
const leafException = "com.sankuai.inf.leaf.server.exception.LeafServerException"

// The IDs that Leaf has in place of one where it fails.
const (
	leafNoBlock    = -3 // segment: no block is at hand
	leafUnknownKey = -2 // segment: nothing has this key
	leafClockBack  = -3 // snowflake: the clock went back by too much to wait
	leafNoID       = -1 // snowflake: no ID after waiting
)

// segment serves the next number of a sequence.
func (d *door) segment(w http.ResponseWriter, r *http.Request) (route string, status int) {
	route = segmentPrefix + "{key}"
	key, ok := leafKey(w, r, segmentPrefix)
	if !ok {
		return route, http.StatusNotFound
	}
	if status := numbersOnly(w, r); status != 0 {
		return route, status
	}
	first, _, err := d.cfg.Backend.Next(r.Context(), key, 1)
	if err != nil {
		e := readError(err)
		return route, refuseLeafSegment(w, r, httpStatus(e), e)
	}
	return route, writeText(w, springText, strconv.AppendInt(nil, first, 10))
}

// snowflake serves an ID of the default layout. The key is not looked at, as
// Leaf does not either: would it choose a layout, then one that is created under
// that name later would change which numbers the key stands for, and they could
// meet those that it gave out before.
func (d *door) snowflake(w http.ResponseWriter, r *http.Request) (route string, status int) {
	route = snowflakePrefix + "{key}"
	if _, ok := leafKey(w, r, snowflakePrefix); !ok {
		return route, http.StatusNotFound
	}
	if status := numbersOnly(w, r); status != 0 {
		return route, status
	}
	text, err := d.cfg.Backend.AppendIDs(r.Context(), nil, w, "", 1)
	if err != nil {
		e := readError(err)
		return route, refuseLeafSnowflake(w, r, httpStatus(e), e)
	}
	return route, writeText(w, springText, bytes.TrimSuffix(text, []byte("\n")))
}

// leafKey is the rest of the path. Without one, no path of Leaf's matches.
func leafKey(w http.ResponseWriter, r *http.Request, prefix string) (string, bool) {
	key := strings.TrimPrefix(r.URL.Path, prefix)
	if key == "" {
		springError(w, r, http.StatusNotFound, "", "No message available")
	}
	return key, key != ""
}

// numbersOnly refuses methods that must not take a number, as Spring does. A status
// other than 0 was answered.
func numbersOnly(w http.ResponseWriter, r *http.Request) (status int) {
	if r.Method == http.MethodGet || r.Method == http.MethodPost {
		return 0
	}
	w.Header().Set("Allow", "GET, POST")
	return springError(w, r, http.StatusMethodNotAllowed, "org.springframework.web.HttpRequestMethodNotSupportedException",
		fmt.Sprintf("Request method '%s' not supported", r.Method))
}

func refuseLeafSegment(w http.ResponseWriter, r *http.Request, _ int, e *rpc.Error) int {
	id := leafNoBlock
	if e.Reason == rpc.UnknownSequence {
		id = leafUnknownKey
	}
	return refuseLeaf(w, r, id, e)
}

func refuseLeafSnowflake(w http.ResponseWriter, r *http.Request, _ int, e *rpc.Error) int {
	id := leafNoID
	if e.Reason == rpc.ClockBehind {
		id = leafClockBack
	}
	return refuseLeaf(w, r, id, e)
}

// refuseLeaf fails as Leaf does, always with status 500. What really happened
// is in headers.
func refuseLeaf(w http.ResponseWriter, r *http.Request, id int, e *rpc.Error) int {
	explain(w, e)
	return springError(w, r, http.StatusInternalServerError, leafException, fmt.Sprintf("Result{id=%d, status=EXCEPTION}", id))
}
