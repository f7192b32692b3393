package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
)

// Leaf and tinyid are built with Spring Boot 1.5, and answer in its forms.
var (
	springText = []string{"text/plain;charset=UTF-8"}
	springJSON = []string{"application/json;charset=UTF-8"}
)

// springFailure is an error that Spring Boot 1.5 finds by itself, and how it says so.
type springFailure struct {
	Timestamp int64  `json:"timestamp"` // Unix milliseconds
	Status    int    `json:"status"`
	Phrase    string `json:"error"`
	Exception string `json:"exception,omitempty"`
	Message   string `json:"message"`
	Path      string `json:"path"`
}

func (f springFailure) Error() string { return f.Message }

// As lets [read] see the failure as the other endpoints word it.
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

// answer sends the failure, whose Status, Exception and Message are set.
func (f springFailure) answer(w http.ResponseWriter, r *http.Request) {
	f.Timestamp, f.Phrase, f.Path = time.Now().UnixMilli(), http.StatusText(f.Status), r.URL.Path
	if f.Status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", "GET, POST")
	}
	writeSpring(w, f.Status, f)
}

// refuseSpring fails as a filter of Spring Boot does, before Leaf or tinyid see the request.
func refuseSpring(w http.ResponseWriter, r *http.Request, err error) {
	status, e := read(err)
	explain(w, e)
	springFailure{Status: status, Message: e.Message}.answer(w, r)
}

// checkMethod refuses methods that must not take a number.
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
	_ = enc.Encode(v) // of strings and numbers, into memory
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = springJSON, noStore, noSniff
	w.WriteHeader(status)
	_, _ = w.Write(bytes.TrimSuffix(body.Bytes(), []byte("\n")))
}

// explain says in headers what a foreign form has no place for.
func explain(w http.ResponseWriter, e *rpc.Error) {
	head(w, springText, e)
	if e.Reason != "" {
		w.Header().Set("Snowraft-Reason", e.Reason)
	}
	w.Header().Set("Snowraft-Message", oneLine(e.Message))
}
