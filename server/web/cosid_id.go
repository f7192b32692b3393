package web

import (
	"bytes"
	"net/http"
	"strconv"

	"github.com/snowraft/snowraft/internal/rpc"
)

// radix62 has the digits of CosId's texts of IDs.
const radix62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// cosidID serves an ID of the layout that the path names, which stands for CosId's generator of that name.
func (h *handler) cosidID(w http.ResponseWriter, r *http.Request, layout string) error {
	id, err := h.oneID(w, r, layout)
	if err == nil {
		writeText(w, typeJSON, id)
	}
	return err
}

// cosidText serves an ID as CosId's Radix62IdConverter writes it: 11 digits, with zeros in front.
func (h *handler) cosidText(w http.ResponseWriter, r *http.Request, layout string) error {
	id, err := h.oneID(w, r, layout)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		return rpc.NewError(rpc.Internal, err.Error())
	}
	var text [11]byte
	for i := range text {
		text[len(text)-1-i] = radix62[n%uint64(len(radix62))]
		n /= uint64(len(radix62))
	}
	writeText(w, springText, text[:])
	return nil
}

func (h *handler) oneID(w http.ResponseWriter, r *http.Request, layout string) ([]byte, error) {
	if r.Method != http.MethodGet {
		return nil, wrongMethod(w, r, http.MethodGet, "")
	}
	if layout == "" {
		return nil, rpc.NewError(rpc.UnknownEndpoint, "the path has no name; use /ids/LAYOUT")
	}
	text, err := h.cfg.Backend.AppendIDs(r.Context(), nil, w, layout, 1)
	return bytes.TrimSuffix(text, []byte("\n")), err
}
