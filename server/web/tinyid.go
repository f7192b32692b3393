package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
)

// The paths of tinyid's server.
const (
	nextIDPath       = "/tinyid/id/nextId"
	nextIDSimplePath = "/tinyid/id/nextIdSimple"
)

// The codes of tinyid, which are not the status: that is always 200.
const (
	tinyidOK    = 200
	tinyidToken = 5
	tinyidError = 6
)

// tinyidAnswer is tinyid's only form of JSON. Its order is that of tinyid.
type tinyidAnswer struct {
	Data    []int64 `json:"data"`
	Code    int     `json:"code"`
	Message string  `json:"message"`
}

// nextID serves numbers of a sequence, which tinyid calls a bizType, as JSON.
func (d *door) nextID(w http.ResponseWriter, r *http.Request) (route string, status int) {
	route = nextIDPath
	bizType, count, status := tinyidRequest(w, r)
	switch {
	case status != 0:
		return route, status
	case bizType == "":
		writeSpring(w, http.StatusOK, tinyidAnswer{Code: tinyidToken, Message: "token is error"})
		return route, http.StatusOK
	}
	numbers, err := d.batch(r, bizType, count)
	if err != nil {
		return route, refuseTinyid(w, r, 0, readError(err))
	}
	writeSpring(w, http.StatusOK, tinyidAnswer{Data: numbers, Code: tinyidOK})
	return route, http.StatusOK
}

// nextIDSimple serves the same as text, separated by commas; where there is
// nothing to say, nothing is said.
func (d *door) nextIDSimple(w http.ResponseWriter, r *http.Request) (route string, status int) {
	route = nextIDSimplePath
	bizType, count, status := tinyidRequest(w, r)
	switch {
	case status != 0:
		return route, status
	case bizType == "":
		return route, writeText(w, springText, nil)
	}
	numbers, err := d.batch(r, bizType, count)
	if err != nil {
		return route, refuseTinyidSimple(w, r, 0, readError(err))
	}
	var text []byte
	for i, n := range numbers {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	return route, writeText(w, springText, text)
}

// batch takes numbers; of none or less, none, as tinyid does.
func (d *door) batch(r *http.Request, sequence string, count int64) ([]int64, error) {
	numbers := make([]int64, 0, max(count, 0))
	if count <= 0 {
		return numbers, nil
	}
	first, increment, err := d.cfg.Backend.Next(r.Context(), sequence, uint64(count))
	if err != nil {
		return nil, err
	}
	for i := range count {
		numbers = append(numbers, first+i*increment)
	}
	return numbers, nil
}

// tinyidRequest reads the parameters. The token is not looked at: there are
// none here. A status other than 0 was answered.
func tinyidRequest(w http.ResponseWriter, r *http.Request) (bizType string, count int64, status int) {
	if status := numbersOnly(w, r); status != 0 {
		return "", 0, status
	}
	if err := r.ParseForm(); err != nil {
		code, e := unreadable(err)
		return "", 0, springError(w, r, code, "", e.Message)
	}
	count = 1
	if size := strings.TrimSpace(r.Form.Get("batchSize")); size != "" {
		var err error
		if count, err = strconv.ParseInt(size, 10, 32); err != nil {
			return "", 0, springError(w, r, http.StatusBadRequest, "org.springframework.web.method.annotation.MethodArgumentTypeMismatchException",
				fmt.Sprintf("Failed to convert value of type 'java.lang.String' to required type 'java.lang.Integer'; nested exception is java.lang.NumberFormatException: For input string: %q", size))
		}
	}
	return r.Form.Get("bizType"), min(count, limits.Texts), 0
}

func refuseTinyid(w http.ResponseWriter, r *http.Request, _ int, e *rpc.Error) int {
	message := e.Message
	if e.Reason == rpc.UnknownSequence {
		message = "can not find biztype:" + r.Form.Get("bizType")
	}
	explain(w, e)
	writeSpring(w, http.StatusOK, tinyidAnswer{Code: tinyidError, Message: "error query segmentId: " + message})
	return http.StatusOK
}

func refuseTinyidSimple(w http.ResponseWriter, _ *http.Request, _ int, e *rpc.Error) int {
	explain(w, e)
	return writeText(w, springText, nil)
}
