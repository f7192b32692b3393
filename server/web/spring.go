package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
)

// Leaf and tinyid use Spring Boot 1.5 and answer with its content types.
var (
	springText = []string{"text/plain;charset=UTF-8"}
	springJSON = []string{"application/json;charset=UTF-8"}
)

// springFailure is an error that Spring Boot 1.5 detects itself, in its JSON form.
type springFailure struct {
	Timestamp int64  `json:"timestamp"` // Unix ms
	Status    int    `json:"status"`
	Phrase    string `json:"error"`
	Exception string `json:"exception,omitempty"`
	Message   string `json:"message"`
	Path      string `json:"path"`
}

func (f springFailure) Error() string { return f.Message }

// As converts the failure to a refusal for [read], with the reason that other endpoints have.
func (f springFailure) As(target any) bool {
	to, ok := target.(**refusal)
	if !ok {
		return false
	}
	*to = &refusal{f.Status, invalid(f.Message)}
	switch f.Status {
	case http.StatusNotFound:
		(*to).why = rpc.NewError(rpc.UnknownEndpoint, f.Message)
	case http.StatusMethodNotAllowed:
		(*to).why = rpc.NewError(rpc.MethodNotAllowed, f.Message)
	}
	return true
}

// answer sends the failure. Requires Status and Message; Exception is optional.
func (f springFailure) answer(w http.ResponseWriter, r *http.Request) {
	f.Timestamp, f.Phrase, f.Path = time.Now().UnixMilli(), http.StatusText(f.Status), r.URL.Path
	if f.Status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", "GET, POST")
	}
	writeSpring(w, f.Status, f)
}

// refuseSpring answers with an error in the form of a Spring Boot filter that rejects a request before Leaf or tinyid get it.
func refuseSpring(w http.ResponseWriter, r *http.Request, err error) {
	status, e := read(err)
	explain(w, e)
	springFailure{Status: status, Message: e.Message}.answer(w, r)
}

// checkMethod returns an error for methods other than GET and POST, which must not take a number.
func checkMethod(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodPost {
		return nil
	}
	return springFailure{Status: http.StatusMethodNotAllowed, Exception: "org.springframework.web.HttpRequestMethodNotSupportedException",
		Message: fmt.Sprintf("Request method '%s' not supported", r.Method)}
}

func writeSpring(w http.ResponseWriter, status int, v any) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // cannot fail: strings and numbers, into memory
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = springJSON, noStore, noSniff
	w.WriteHeader(status)
	_, _ = w.Write(bytes.TrimSuffix(body.Bytes(), []byte("\n")))
}

// explain sets headers with the reason and message of an error, for which a foreign form has no field.
func explain(w http.ResponseWriter, e *rpc.Error) {
	head(w, springText, e)
	if e.Reason != "" {
		w.Header().Set("Snowraft-Reason", e.Reason)
	}
	w.Header().Set("Snowraft-Message", oneLine(e.Message))
}
