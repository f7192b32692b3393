package web

import (
	"encoding/json"
	"net/http"
)

// caPath is the path of the CA certificate for clients that cannot see the certificates of their connection.
const caPath = "/v1/ca"

// ca answers with the CA certificate of the connection.
func (h *handler) ca(w http.ResponseWriter, r *http.Request) (method string, err error) {
	if r.Method != http.MethodGet {
		err = wrongMethod(w, r, http.MethodGet, "")
		refuseJSON(w, r, err)
		return other, err
	}
	pem, err := h.cfg.CA(r)
	var body []byte
	if err == nil {
		body, err = json.Marshal(struct {
			CA string `json:"ca"`
		}{string(pem)})
	}
	if err != nil {
		refuseJSON(w, r, err)
		return "GET " + caPath, err
	}
	header := w.Header()
	header["Content-Type"], header["Cache-Control"], header["X-Content-Type-Options"] = typeJSON, noStore, noSniff
	_, _ = w.Write(append(body, '\n'))
	return "GET " + caPath, nil
}
