package web

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
)

// The codes in tinyid's answers. The HTTP status is always 200.
const (
	tinyidOK    = 200
	tinyidToken = 5
	tinyidError = 6
)

// tinyidAnswer is the only JSON form of tinyid. Its fields have tinyid's order.
type tinyidAnswer struct {
	Data    any    `json:"data"`
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// nextID serves numbers of a sequence, which tinyid calls a bizType, as JSON.
func (h *handler) nextID(w http.ResponseWriter, r *http.Request, _ string) error {
	numbers, err := h.batch(r)
	if err != nil {
		return err
	}
	writeSpring(w, http.StatusOK, tinyidAnswer{Data: numbers, Code: tinyidOK})
	return nil
}

// nextIDSimple serves numbers of a sequence as text, separated by commas. The text is empty if there are no numbers.
func (h *handler) nextIDSimple(w http.ResponseWriter, r *http.Request, _ string) error {
	numbers, err := h.batch(r)
	if err != nil {
		return err
	}
	var text []byte
	for i, n := range numbers {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	writeText(w, springText, text)
	return nil
}

// errNoBizType is the error of a request without bizType. tinyid reports a wrong token, because its tokens belong to a bizType.
var errNoBizType = invalid("bizType: missing")

// batch takes the requested numbers. Like tinyid, it takes none if the batch size is 0 or negative.
func (h *handler) batch(r *http.Request) ([]int64, error) {
	if err := parseTinyid(r); err != nil {
		return nil, err
	}
	count := int64(1)
	if size := strings.TrimSpace(r.Form.Get("batchSize")); size != "" {
		var err error
		if count, err = strconv.ParseInt(size, 10, 32); err != nil {
			return nil, springFailure{Status: http.StatusBadRequest, Exception: "org.springframework.web.method.annotation.MethodArgumentTypeMismatchException",
				Message: fmt.Sprintf("Failed to convert value of type 'java.lang.String' to required type 'java.lang.Integer'; nested exception is java.lang.NumberFormatException: For input string: %q", size)}
		}
	}
	r, bizType, err := h.tinyidCaller(r)
	if err != nil {
		return nil, err
	}
	count = min(max(count, 0), limits.Texts)
	numbers := make([]int64, count)
	first, increment, err := h.cfg.Backend.Next(r.Context(), bizType, uint64(count))
	for i := range numbers {
		numbers[i] = first + int64(i)*increment
	}
	return numbers, err
}

// parseTinyid reads the parameters of a request, which may be in its body.
func parseTinyid(r *http.Request) error {
	if err := checkMethod(r); err != nil {
		return err
	}
	err := error(&http.MaxBytesError{Limit: maxUnauthenticated})
	if len(r.URL.RawQuery) <= maxUnauthenticated {
		err = r.ParseForm()
	}
	if err != nil {
		status, e := read(unreadable(err))
		return springFailure{Status: status, Message: e.Message}
	}
	return nil
}

// tinyidCaller returns the sequence of a parsed request, and the request with its caller. The token may be a parameter, as in
// tinyid, and is never logged.
func (h *handler) tinyidCaller(r *http.Request) (authenticated *http.Request, bizType string, err error) {
	if bizType = r.Form.Get("bizType"); bizType == "" {
		return nil, "", errNoBizType
	}
	authenticated, err = h.authenticate(r, r.Form.Get("token"))
	return authenticated, bizType, err
}

func refuseTinyid(w http.ResponseWriter, r *http.Request, err error) {
	_, e := read(err)
	answer := tinyidAnswer{Code: tinyidError, Message: "error query segmentId: " + e.Message}
	switch {
	case e == errNoBizType, denied(e):
		answer = tinyidAnswer{Code: tinyidToken, Message: "token is error"}
	case e.Reason == rpc.UnknownSequence:
		answer.Message = "error query segmentId: can not find biztype:" + r.Form.Get("bizType")
	}
	explain(w, e)
	writeSpring(w, http.StatusOK, answer)
}

func refuseTinyidSimple(w http.ResponseWriter, _ *http.Request, err error) {
	_, e := read(err)
	explain(w, e)
	writeText(w, springText, nil)
}
