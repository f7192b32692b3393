package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/snowraft/snowraft/internal/rpc"
)

// Leaf and tinyid are built with Spring Boot 1.5, and answer in its forms.
var (
	springText = []string{"text/plain;charset=UTF-8"}
	springJSON = []string{"application/json;charset=UTF-8"}
)

// springFailure is what Spring Boot 1.5 says of an error.
type springFailure struct {
	Timestamp int64  `json:"timestamp"` // Unix milliseconds
	Status    int    `json:"status"`
	Error     string `json:"error"`
	Exception string `json:"exception,omitempty"`
	Message   string `json:"message"`
	Path      string `json:"path"`
}

func springError(w http.ResponseWriter, r *http.Request, status int, exception, message string) int {
	writeSpring(w, status, springFailure{
		Timestamp: time.Now().UnixMilli(), Status: status, Error: http.StatusText(status),
		Exception: exception, Message: message, Path: r.URL.Path,
	})
	return status
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
